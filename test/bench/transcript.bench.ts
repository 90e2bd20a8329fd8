import { DataSource } from 'typeorm';
import { databaseOptions } from '../../src/database-options.js';
import type { ExecutionEvent } from '../../src/execution/agent-runtime.js';
import { SystemClock } from '../../src/platform/clock/system-clock.js';
import { Nudges } from '../../src/platform/database/nudges.js';
import { UnitOfWork } from '../../src/platform/database/unit-of-work.js';
import { newId } from '../../src/platform/ids.js';
import { Metrics } from '../../src/platform/metrics/metrics.js';
import { TranscriptReads } from '../../src/transcript/transcript-reads.service.js';
import { TranscriptWriter, type TranscribedRun } from '../../src/transcript/transcript-writer.js';
import { Transcripts } from '../../src/transcript/transcripts.service.js';
import { furnish } from './furnish.js';
import { percentile, type Bench, type Figure } from './figures.js';

const ENTRIES = 1_000_000;
const IN_SESSION = 50_000;
const READS = 200;
const UPDATES = 20_000;
const ROUNDS = 7;
const BATCH_BYTES = 64 * 1024;

/** A turn as busy agents have them: talk in words, thoughts, tools with what they gave back. */
function* turn(updates: number): Generator<ExecutionEvent> {
  const update = (sessionUpdate: string, fields: object): ExecutionEvent => ({
    type: 'update',
    content: true,
    update: { sessionUpdate, ...fields },
  });
  const text = (value: string) => ({ content: { type: 'text', text: value } });
  for (let n = 0; n < updates; n++) {
    const step = n % 20;
    const toolCallId = `call_${Math.floor(n / 20)}`;
    if (step === 0)
      yield update('tool_call', { toolCallId, title: `step ${n}`, status: 'pending', rawInput: { command: `make step-${n}` } });
    else if (step === 1) {
      const lines = Array.from({ length: 60 }, (_, line) => `${n}:${line} some line of output ${(n * line) % 977}`).join('\n');
      yield update('tool_call_update', { toolCallId, status: 'completed', content: [{ type: 'content', ...text(lines) }] });
    } else if (step < 6) yield update('agent_thought_chunk', text(`so ${n} needs ${n % 131} more, I think, `));
    else yield update('agent_message_chunk', text(`and ${n} is done ${(n * 7919) % 104729} times `));
  }
}

const saidBy = (event: ExecutionEvent): string => (event.type === 'update' ? JSON.stringify(event.update) : '');
const textsOf = (events: readonly ExecutionEvent[]): string[] =>
  events.map((event) => /"text":"((?:[^"\\]|\\.)*)"/.exec(saidBy(event))?.[1] ?? saidBy(event));

class Desk {
  readonly unitOfWork: UnitOfWork;
  readonly reads: TranscriptReads;
  private readonly transcripts: Transcripts;

  constructor(
    readonly db: DataSource,
    private readonly pair: { workspaceId: string; agentId: string; taskId: string },
  ) {
    const nudges = new Nudges(db, new SystemClock());
    nudges.alone = true;
    this.unitOfWork = new UnitOfWork(db, nudges, new SystemClock());
    this.reads = new TranscriptReads(this.unitOfWork);
    this.transcripts = new Transcripts(new TranscriptWriter(this.unitOfWork, nudges), new SystemClock(), new Metrics());
  }

  async aRun(status = 'running'): Promise<TranscribedRun> {
    const { workspaceId, agentId } = this.pair;
    const [runId, sessionId, host] = [newId(), newId(), newId()];
    await this.db.query(`insert into task_sessions (id, workspace_id, agent_id, adapter) values ($1, $2, $3, 'mock')`, [
      sessionId,
      workspaceId,
      agentId,
    ]);
    await this.db.query(
      `insert into runs (id, workspace_id, agent_id, scope, status, reason, wake_class, entitlement, generation, session_id, lease_host_id, lease_boot_id, lease_expires_at, finished_at)
       values ($1, $2, $3, $7::text, $5::text, 'manual_run', 0, 'none', 1, $4, case when $5::text = 'running' then $6::uuid end, case when $5::text = 'running' then $6::uuid end,
               case when $5::text = 'running' then now() + interval '1 day' end, case when $5::text <> 'running' then now() end)`,
      [runId, workspaceId, agentId, sessionId, status, host, sessionId],
    );
    return { runId, generation: 1, workspaceId, sessionId, turn: 1 };
  }

  async write(events: readonly ExecutionEvent[]): Promise<number> {
    const run = await this.aRun();
    const since = performance.now();
    const transcript = this.transcripts.open(run, (work) => work());
    for (const event of events) await transcript.take(event);
    await transcript.close();
    return performance.now() - since;
  }

  /** Rows as they come, in batches of the same size: what writing the same bytes costs without any of it. */
  async insert(texts: readonly string[]): Promise<number> {
    const sessionId = newId();
    const since = performance.now();
    let batch: { seq: number; body: string }[] = [];
    let bytes = 0;
    const flush = async (): Promise<void> => {
      await this.unitOfWork.statement(`insert into bare (session_id, seq, body) select $1, * from unnest($2::int[], $3::text[])`, [
        sessionId,
        batch.map(({ seq }) => seq),
        batch.map(({ body }) => body),
      ]);
      batch = [];
      bytes = 0;
    };
    for (const [seq, body] of texts.entries()) {
      batch.push({ seq, body });
      bytes += body.length;
      if (bytes >= BATCH_BYTES) await flush();
    }
    if (batch.length > 0) await flush();
    return performance.now() - since;
  }

  async fill(run: TranscribedRun, entries: number): Promise<void> {
    await this.db.query(
      `insert into session_entries (session_id, seq, workspace_id, run_id, generation, turn, kind, title, body, bytes, truncated, rev)
       select $1, n, $2, $3, 1, 1, (array['message', 'tool', 'thought'])[1 + n % 3], 'step ' || n, repeat('word ' || n || ' ', 5 + n % 80), 500, false, n
         from generate_series(1, $4::int) n`,
      [run.sessionId, run.workspaceId, run.runId, entries],
    );
    await this.db.query(
      `insert into session_transcripts (session_id, workspace_id, run_id, generation, last_seq, last_rev) values ($1, $2, $3, 1, $4::int, $4::int)`,
      [run.sessionId, run.workspaceId, run.runId, entries],
    );
  }
}

async function p95(what: string, work: () => Promise<unknown>): Promise<Figure> {
  for (let n = 0; n < 20; n++) await work();
  const took: number[] = [];
  for (let n = 0; n < READS; n++) {
    const since = performance.now();
    await work();
    took.push(performance.now() - since);
  }
  return { what: `${what}, p95`, ours: percentile(took, 0.95), unit: 'ms', target: 'under 20' };
}

export const transcriptBench: Bench = {
  name: 'transcript',
  async run(place): Promise<Figure[]> {
    const url = await place.database();
    const [pair] = await furnish(url, { workspaces: 1, agents: 1, tasks: 1, concurrent: 1 });
    const db = await new DataSource(databaseOptions(url, { statementTimeoutMs: 0 })).initialize();
    try {
      const desk = new Desk(db, pair!);
      await db.query(`create table bare (session_id uuid, seq integer, body text not null, primary key (session_id, seq))`);
      const events = [...turn(Math.ceil(UPDATES * place.size))];
      const texts = textsOf(events);
      const [ours, bare]: [number[], number[]] = [[], []];
      for (let round = 0; round < ROUNDS; round++) {
        bare.push(await desk.insert(texts));
        ours.push(await desk.write(events));
      }
      const writing: Figure = {
        what: `writing a turn of ${events.length} updates, median`,
        ours: percentile(ours, 0.5),
        baseline: { of: 'bare batched INSERT of the same bytes', value: percentile(bare, 0.5) },
        unit: 'ms',
        target: 'at most 2x',
      };

      const session = await desk.aRun('completed');
      await desk.fill(session, Math.ceil(IN_SESSION * place.size));
      for (let n = IN_SESSION; n < ENTRIES; n += IN_SESSION)
        await desk.fill(await desk.aRun('completed'), Math.ceil(IN_SESSION * place.size));
      await db.query('vacuum analyze');
      const { workspaceId, sessionId, runId } = session;
      const middle = Math.ceil((IN_SESSION * place.size) / 2);
      return [
        writing,
        await p95(`first page of a session of ${IN_SESSION} entries among ${ENTRIES}`, () =>
          desk.reads.ofSession(workspaceId, sessionId, { limit: 50 }),
        ),
        await p95('an older page', () => desk.reads.ofSession(workspaceId, sessionId, { limit: 50, before_seq: middle })),
        await p95('what has changed since a revision', () =>
          desk.reads.ofSession(workspaceId, sessionId, { limit: 50, after_rev: middle }),
        ),
        await p95('first page of a run', () => desk.reads.ofRun(workspaceId, runId, { limit: 50 })),
      ];
    } finally {
      await db.destroy();
    }
  },
};
