import { Controller, Get, Param, Query, StreamableFile } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiProduces, ApiTags } from '@nestjs/swagger';
import { Readable } from 'node:stream';
import { Allow } from '../access/allow.decorator.js';
import { WorkspaceId } from '../access/current-call.decorator.js';
import { SeqInPath } from './seq-in-path.pipe.js';
import { EntriesQuery } from './transcript.dto.js';
import { TranscriptReads } from './transcript-reads.service.js';
import { SessionEntriesView, SessionEntryView } from './transcript.view.js';

/** What agents were told, said and did, for people. */
@ApiTags('transcripts')
@Controller()
export class TranscriptController {
  constructor(private readonly reads: TranscriptReads) {}

  @Get('sessions/:id/entries')
  @Allow('member', { of: 'sessions', param: 'id' })
  @ApiOperation({ summary: 'The transcript of a conversation: its newest entries, older ones, or what has changed' })
  @ApiOkResponse({ type: SessionEntriesView })
  ofSession(@WorkspaceId() workspaceId: string, @Param('id') id: string, @Query() query: EntriesQuery): Promise<SessionEntriesView> {
    return this.reads.ofSession(workspaceId, id, query);
  }

  @Get('sessions/:id/entries/:seq')
  @Allow('member', { of: 'sessions', param: 'id' })
  @ApiOperation({ summary: 'One entry, whole' })
  @ApiOkResponse({ type: SessionEntryView })
  one(@WorkspaceId() workspaceId: string, @Param('id') id: string, @Param('seq', SeqInPath) seq: number): Promise<SessionEntryView> {
    return this.reads.one(workspaceId, id, seq);
  }

  @Get('runs/:id/entries')
  @Allow('member', { of: 'runs', param: 'id' })
  @ApiOperation({ summary: 'What a run added to its conversation' })
  @ApiOkResponse({ type: SessionEntriesView })
  ofRun(@WorkspaceId() workspaceId: string, @Param('id') id: string, @Query() query: EntriesQuery): Promise<SessionEntriesView> {
    return this.reads.ofRun(workspaceId, id, query);
  }

  @Get('runs/:id/transcript.ndjson')
  @Allow('member', { of: 'runs', param: 'id' })
  @ApiOperation({ summary: 'The same as a file: every entry whole, oldest first, one JSON object a line' })
  @ApiProduces('application/x-ndjson')
  @ApiOkResponse({ schema: { type: 'string' } })
  export(@WorkspaceId() workspaceId: string, @Param('id') id: string): StreamableFile {
    return new StreamableFile(Readable.from(this.reads.exportOf(workspaceId, id)), { type: 'application/x-ndjson; charset=utf-8' });
  }
}
