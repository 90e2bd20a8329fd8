import { Module } from '@nestjs/common';
import { AccessModule } from '../access/access.module.js';
import { RunSecrets } from './run-secrets.service.js';
import { TranscriptAging } from './transcript-aging.service.js';
import { TranscriptController } from './transcript.controller.js';
import { TranscriptReads } from './transcript-reads.service.js';
import { TranscriptWriter } from './transcript-writer.js';
import { Transcripts } from './transcripts.service.js';

/** What agents were told, said and did, live and later. */
@Module({
  imports: [AccessModule],
  controllers: [TranscriptController],
  providers: [RunSecrets, TranscriptAging, TranscriptReads, TranscriptWriter, Transcripts],
  exports: [RunSecrets, TranscriptAging, TranscriptReads, Transcripts],
})
export class TranscriptModule {}
