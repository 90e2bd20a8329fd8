import { Metrics } from '../../src/platform/metrics/metrics.js';
import { SystemClock } from '../../src/platform/clock/system-clock.js';
import type { ExecutionEvent } from '../../src/execution/agent-runtime.js';
import type { ClaimedRun } from '../../src/runs/claim.js';
import type { RunTranscript } from '../../src/transcript/run-transcript.js';
import { TranscriptReads } from '../../src/transcript/transcript-reads.service.js';
import { TranscriptWriter } from '../../src/transcript/transcript-writer.js';
import type { SessionEntryView } from '../../src/transcript/transcript.view.js';
import { Transcripts } from '../../src/transcript/transcripts.service.js';
import { AnOffice } from './an-office.js';

type Fields = Readonly<Record<string, unknown>>;

const update = (sessionUpdate: string, fields: Fields): ExecutionEvent => ({
  type: 'update',
  content: true,
  update: { sessionUpdate, ...fields },
});

export const says = (text: string, messageId?: string): ExecutionEvent =>
  update('agent_message_chunk', { content: { type: 'text', text }, ...(messageId !== undefined && { messageId }) });
export const thinks = (text: string): ExecutionEvent => update('agent_thought_chunk', { content: { type: 'text', text } });
export const calls = (toolCallId: string, fields: Fields = {}): ExecutionEvent =>
  update('tool_call', { toolCallId, title: toolCallId, ...fields });
export const reports = (toolCallId: string, fields: Fields): ExecutionEvent => update('tool_call_update', { toolCallId, ...fields });
export const shows = (text: string) => ({ content: [{ type: 'content', content: { type: 'text', text } }] });
export const plans = (...entries: [content: string, status: string][]): ExecutionEvent =>
  update('plan', { entries: entries.map(([content, status]) => ({ content, status, priority: 'medium' })) });
export const told = (promptSent: string, loadFailure: string | null = null): ExecutionEvent => ({
  type: 'session_ready',
  acpSessionId: 'acp',
  loaded: false,
  loadFailure,
  promptSent,
});
export const ended: ExecutionEvent = {
  type: 'outcome',
  outcome: { kind: 'turn_ended', stopReason: 'end_turn', usage: null, lastMessage: null },
};

/** The office of rows, with what writes and reads its transcripts. */
export class TranscriptOffice {
  readonly writer: TranscriptWriter;
  readonly reads: TranscriptReads;
  readonly metrics = new Metrics();
  readonly transcripts: Transcripts;

  private constructor(readonly office: AnOffice) {
    this.writer = new TranscriptWriter(office.db.unitOfWork, office.db.nudges);
    this.reads = new TranscriptReads(office.db.unitOfWork);
    this.transcripts = new Transcripts(this.writer, new SystemClock(), this.metrics);
  }

  static async open(): Promise<TranscriptOffice> {
    return new TranscriptOffice(await AnOffice.open());
  }

  close(): Promise<void> {
    return this.office.close();
  }

  /** A run of a pair of its own, running. */
  async aRun(workspaceId: string): Promise<ClaimedRun> {
    return this.office.started(workspaceId, await this.office.pair(workspaceId));
  }

  open(run: ClaimedRun): RunTranscript {
    return this.transcripts.open(run, (work) => work());
  }

  /** All of it, written. */
  async write(run: ClaimedRun, events: Iterable<ExecutionEvent>): Promise<void> {
    const transcript = this.open(run);
    for (const event of events) await transcript.take(event);
    await transcript.close();
  }

  /** Everything a session has, oldest first, with bodies of at most 4 KiB. */
  async read(run: ClaimedRun): Promise<SessionEntryView[]> {
    const entries: SessionEntryView[] = [];
    for (let before: number | undefined; ;) {
      const page = await this.reads.ofSession(run.workspaceId, run.sessionId, {
        limit: 200,
        ...(before !== undefined && { before_seq: before }),
      });
      entries.unshift(...page.items);
      if (page.next_cursor === null) return entries;
      before = Number(page.next_cursor);
    }
  }

  whole(run: ClaimedRun, seq: number): Promise<SessionEntryView> {
    return this.reads.one(run.workspaceId, run.sessionId, seq);
  }
}
