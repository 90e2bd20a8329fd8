import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ExecutionEvent } from '../../../src/execution/agent-runtime.js';
import { RUN_CAPS } from '../../../src/transcript/domain/entry.js';
import { seeded, waitFor } from '../../support/real-server.js';
import { calls, reports, says, shows, thinks, told, TranscriptOffice } from '../../support/transcript-office.js';

const KIB = 1024;
const MIB = 1024 * KIB;

let it_: TranscriptOffice;
let workspace: string;
let statements = 0;
beforeAll(async () => {
  it_ = await TranscriptOffice.open();
  workspace = await it_.office.workspace();
  const { unitOfWork } = it_.office.db;
  const statement = unitOfWork.statement.bind(unitOfWork);
  unitOfWork.statement = (sql, parameters) => {
    statements++;
    return statement(sql, parameters);
  };
});
afterAll(() => it_.close());

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;
const heap = (): number => {
  collect();
  return process.memoryUsage().heapUsed + process.memoryUsage().external;
};

/** What a busy agent sends: talk in words, thoughts, tools with progress. */
function* busyTurn(updates: number): Generator<ExecutionEvent> {
  yield told('Do it.');
  for (let n = 0; n < updates; n++) {
    const tool = `call_${Math.floor(n / 20)}`;
    if (n % 20 === 0) yield calls(tool, { status: 'pending', rawInput: { command: `step ${n}`, why: 'because '.repeat(10) } });
    else if (n % 20 === 19) yield reports(tool, { status: 'completed', ...shows(`line of output ${n}\n`.repeat(40)) });
    else if (n % 20 > 14) yield reports(tool, { status: 'in_progress', ...shows(`progress ${n}\n`.repeat(n % 20)) });
    else yield n % 20 < 5 ? thinks(`thinking about ${n} `) : says(`word ${n} and more of it, `);
  }
}

describe('20,000 updates in one turn', () => {
  it('cost at most 400 statements, 2 s of ours, and bounded memory', async () => {
    const run = await it_.aRun(workspace);
    const before = heap();
    statements = 0;
    const cpu = process.cpuUsage();
    let most = 0;
    const transcript = it_.open(run);
    let n = 0;
    for (const event of busyTurn(20_000)) {
      await transcript.take(event);
      if (++n % 5_000 === 0) most = Math.max(most, heap() - before);
    }
    await transcript.close();
    const { user, system } = process.cpuUsage(cpu);
    expect(statements).toBeLessThanOrEqual(400);
    expect((user + system) / 1_000).toBeLessThan(2_000);
    expect(most).toBeLessThan(24 * MIB);
    const [{ count }] = (await it_.office.rows<{ count: number }>(
      `select count(*)::int as count from session_entries where run_id = $1`,
      run.runId,
    )) as [{ count: number }];
    // The prompt, and of each 20 updates a tool, a thought and a message.
    expect(count).toBe(1 + 3 * 1_000);
  });
});

describe('an agent without measure', () => {
  it('that says 5 MB at once is kept by head and tail, with the full length', async () => {
    const run = await it_.aRun(workspace);
    await it_.write(run, [told('Go.'), says(`begin ${'x'.repeat(5_000_000)} end`)]);
    const entry = await it_.whole(run, 2);
    expect(entry).toMatchObject({ kind: 'message', bytes: 5_000_010, truncated: true });
    expect(Buffer.byteLength(entry.body)).toBeLessThanOrEqual(256 * KIB);
    expect(entry.body).toMatch(/^begin x+\n\[… cut, 5000010 bytes in all …\]\nx+ end$/);
  });

  it('that says 100 MB in a turn is kept within 64 MiB: messages by their ends, later tools and thoughts marked and empty', async () => {
    const run = await it_.aRun(workspace);
    const before = heap();
    const transcript = it_.open(run);
    await transcript.take(told('Go.'));
    let most = 0;
    for (let n = 0; n < 1_000; n++) {
      await transcript.take(calls(`t${n}`, { rawInput: { n } }));
      await transcript.take(reports(`t${n}`, { status: 'completed', rawOutput: `${n} ${'y'.repeat(100_000)}` }));
      await transcript.take(n % 2 === 0 ? thinks(`thought ${n}`) : says(`said ${n}`));
      if (n % 100 === 0) most = Math.max(most, heap() - before);
    }
    await transcript.close();
    expect(most).toBeLessThan(48 * MIB);
    const [sums] = await it_.office.rows<{ kept: number; bytes: string; empty: number; messages: number; unmarked: number }>(
      `select sum(octet_length(body))::int as kept, sum(bytes) as bytes,
              count(*) filter (where kind in ('tool', 'thought') and body = '' and truncated)::int as empty,
              count(*) filter (where kind = 'message' and body <> '')::int as messages,
              count(*) filter (where body = '' and not truncated)::int as unmarked
         from session_entries where run_id = $1`,
      run.runId,
    );
    expect(sums!.kept).toBeLessThanOrEqual(RUN_CAPS.bytes + MIB);
    expect(sums!.kept).toBeGreaterThan(RUN_CAPS.bytes - MIB);
    expect(Number(sums!.bytes)).toBeGreaterThan(100_000_000);
    expect(sums!.empty).toBeGreaterThan(400);
    expect(sums).toMatchObject({ messages: 500, unmarked: 0 });
  });

  it('that sends 60,000 tool calls has a row for each, from the 50,000th on without a body', async () => {
    const run = await it_.aRun(workspace);
    statements = 0;
    await it_.write(
      run,
      (function* () {
        yield told('Go.');
        for (let n = 0; n < 60_000; n++) yield calls(`t${n}`, { status: 'completed', rawOutput: `output ${n}` });
        yield says('done');
      })(),
    );
    const rows = await it_.office.rows<{ body: string; truncated: boolean; n: number }>(
      `select body = '' as empty, truncated, count(*)::int as n, min(seq) as first from session_entries where run_id = $1 and kind = 'tool'
        group by 1, 2 order by first`,
      run.runId,
    );
    expect(rows).toEqual([
      { empty: false, truncated: false, n: RUN_CAPS.entries - 1, first: 2 },
      { empty: true, truncated: true, n: 60_001 - RUN_CAPS.entries, first: RUN_CAPS.entries + 1 },
    ]);
    expect((await it_.read({ ...run })).at(-1)).toMatchObject({ kind: 'message', body: 'done' });
    expect(await it_.office.row(`select tools from run_attempts where run_id = $1`, run.runId)).toEqual({ tools: 60_000 });
    expect(statements).toBeLessThanOrEqual(400);
  }, 120_000);

  it('that updates a few tools 60,000 times has a few rows, as they were in the end', async () => {
    const run = await it_.aRun(workspace);
    const random = seeded(7);
    await it_.write(
      run,
      (function* () {
        for (let n = 0; n < 5; n++) yield calls(`t${n}`, { rawInput: { n } });
        for (let n = 0; n < 60_000; n++) yield reports(`t${Math.floor(random() * 5)}`, shows(`progress ${n}`));
        for (let n = 0; n < 5; n++) yield reports(`t${n}`, { status: 'completed', ...shows(`end ${n}`) });
      })(),
    );
    expect((await it_.read(run)).map(({ status, body }) => [status, body])).toEqual(
      Array.from({ length: 5 }, (_, n) => ['completed', `[input]\n{"n":${n}}\n\n[output]\nend ${n}`]),
    );
  });

  it('is held back while nothing can be written, and loses nothing', async () => {
    const run = await it_.aRun(workspace);
    await it_.write(run, [told('Go.')]);
    const { dataSource } = it_.office.db;
    const blocker = dataSource.createQueryRunner();
    await blocker.startTransaction();
    await blocker.query(`select from session_transcripts where session_id = $1 for update`, [run.sessionId]);
    const again = { ...run, generation: run.generation + 1 };
    await it_.office.change(`update runs set generation = $2 where id = $1`, run.runId, again.generation);
    let taken = 0;
    const writing = it_.write(
      again,
      (function* () {
        for (; taken < 400; taken++) yield says(`${'z'.repeat(64 * KIB)}`, `m${taken}`);
      })(),
    );
    await waitFor(() => taken >= 15, 5_000, 'the transcript to be full');
    let before = -1;
    await waitFor(() => before === (before = taken), 5_000, 'nothing more to be taken');
    // The batch that is being written, and about a MiB more.
    expect(taken).toBeLessThan(40);
    await blocker.rollbackTransaction();
    await blocker.release();
    await writing;
    expect((await it_.read(run)).filter(({ kind, bytes }) => kind === 'message' && bytes === 64 * KIB)).toHaveLength(400);
  });
});
