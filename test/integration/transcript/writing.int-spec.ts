import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { calls, ended, plans, reports, says, shows, thinks, told, TranscriptOffice } from '../../support/transcript-office.js';
import { waitFor } from '../../support/real-server.js';
import type { ClaimedRun } from '../../../src/runs/claim.js';

let it_: TranscriptOffice;
let workspace: string;
beforeAll(async () => {
  it_ = await TranscriptOffice.open();
  workspace = await it_.office.workspace();
});
afterAll(() => it_.close());

const isWaiting = async (): Promise<boolean> =>
  (await it_.office.rows(`select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`)).length > 0;

const short = async (run: ClaimedRun) =>
  (await it_.read(run)).map(({ seq, kind, title, status, body }) => [seq, kind, title, status, body]);

describe('a transcript', () => {
  it('has what the agent was told, said and did, in the order in which it began', async () => {
    const run = await it_.aRun(workspace);
    await it_.write(run, [
      told('Mend the door.', 'no such session'),
      thinks('Which '),
      thinks('door?'),
      says('I '),
      says('look.'),
      plans(['look', 'in_progress'], ['mend', 'pending']),
      calls('t1', { title: 'ls', kind: 'execute', status: 'pending', rawInput: { command: 'ls' } }),
      says('Nearly '),
      reports('t1', { status: 'completed', ...shows('door.txt') }),
      says('there.'),
      plans(['look', 'completed'], ['mend', 'completed']),
      {
        type: 'permission_requested',
        requestId: 'p1',
        request: { toolCall: { toolCallId: 't2', title: 'rm' }, options: [{ kind: 'allow_once', name: 'Go' }] },
        about: { title: 'rm', kind: null, input: null, subject: 'rm' },
        waits: true,
      },
      { type: 'permission_answered', requestId: 'p1', decision: 'deny' },
      { type: 'update', content: false, update: { sessionUpdate: 'usage_update', used: 5 } },
      says('Done.'),
      ended,
    ]);
    expect(await short(run)).toEqual([
      [1, 'notice', 'The agent did not know its session any more; a new one was begun.', null, 'no such session'],
      [2, 'prompt', null, null, 'Mend the door.'],
      [3, 'thought', null, null, 'Which door?'],
      [4, 'message', null, null, 'I look.'],
      [5, 'plan', null, null, '[x] look\n[x] mend'],
      [6, 'tool', 'ls', 'completed', '[input]\n{"command":"ls"}\n\n[output]\ndoor.txt'],
      [7, 'message', null, null, 'Nearly there.'],
      [8, 'permission', 'rm', 'deny', '- Go (allow_once)'],
      [9, 'message', null, null, 'Done.'],
    ]);
    expect(await it_.office.row(`select first_seq, last_seq, tools from run_attempts where run_id = $1`, run.runId)).toEqual({
      first_seq: 1,
      last_seq: 9,
      tools: 1,
    });
  });

  it('changes a row that is written already: its revision, and what was said of it', async () => {
    const run = await it_.aRun(workspace);
    const transcript = it_.open(run);
    for (const event of [told('Go.'), calls('t', { status: 'pending', rawInput: { a: 1 } }), says('one ')]) await transcript.take(event);
    await waitFor(async () => (await it_.read(run)).length === 3, 5_000, 'the first batch');
    expect(await short(run)).toEqual([
      [1, 'prompt', null, null, 'Go.'],
      [2, 'tool', 't', 'pending', '[input]\n{"a":1}'],
      [3, 'message', null, null, 'one '],
    ]);
    const { last_rev: before } = await it_.reads.ofSession(workspace, run.sessionId, { limit: 50 });
    for (const event of [reports('t', { status: 'completed', rawOutput: 'ok' }), says('two')]) await transcript.take(event);
    await transcript.close();
    const changed = await it_.reads.ofSession(workspace, run.sessionId, { after_rev: before, limit: 50 });
    expect(changed.items.map(({ seq, rev, body }) => [seq, rev, body])).toEqual([
      [2, before + 1, '[input]\n{"a":1}\n\n[output]\nok'],
      [3, before + 2, 'one two'],
    ]);
    expect(changed).toMatchObject({ last_rev: before + 2, next_cursor: null });
    expect(await it_.reads.ofSession(workspace, run.sessionId, { after_rev: before + 2, limit: 50 })).toMatchObject({
      items: [],
      last_rev: before + 2,
    });
  });

  it('goes on where the attempt before ended, and where the run before ended', async () => {
    const pair = await it_.office.pair(workspace);
    const first = await it_.office.started(workspace, pair);
    await it_.write(first, [told('One.'), says('one')]);
    await it_.office.change(`update runs set generation = 2 where id = $1`, first.runId);
    const second = { ...first, generation: 2 };
    await it_.write(second, [told('Two.'), says('two')]);
    expect((await it_.read(first)).map(({ seq, generation, body }) => [seq, generation, body])).toEqual([
      [1, 1, 'One.'],
      [2, 1, 'one'],
      [3, 2, 'Two.'],
      [4, 2, 'two'],
    ]);
  });

  it('is written once by a batch that is said twice, whichever answer was lost', async () => {
    const run = await it_.aRun(workspace);
    const lossy = it_.transcripts.open(run, async (work) => {
      await work();
      return work();
    });
    for (const event of [told('Go.'), says('hello'), calls('t')]) await lossy.take(event);
    await lossy.close();
    expect((await it_.read(run)).map(({ seq, body }) => [seq, body])).toEqual([
      [1, 'Go.'],
      [2, 'hello'],
      [3, ''],
    ]);
  });

  it('is not overtaken by an older batch that arrives late', async () => {
    const run = await it_.aRun(workspace);
    const write = (number: number, body: string) =>
      it_.writer.write({
        run,
        number,
        entries: 1,
        tools: 0,
        writes: [
          { place: 0, isNew: number === 1, kind: 'message', acpId: null, title: null, status: null, body, bytes: 1, truncated: false },
        ],
      });
    expect(await write(1, 'a')).toBe('written');
    expect(await write(2, 'ab')).toBe('written');
    expect(await write(1, 'a')).toBe('stale');
    expect((await it_.read(run)).map(({ body }) => body)).toEqual(['ab']);
  });

  it.each([
    [
      'was settled by somebody else',
      `update runs set status = 'cancelled', cancel_reason = 'x', finished_at = now(), lease_host_id = null, lease_boot_id = null, lease_expires_at = null where id = $1`,
    ],
    ['was claimed again', `update runs set generation = generation + 1 where id = $1`],
  ])('of a run that %s is left as it was, and counted', async (_what, change) => {
    const run = await it_.aRun(workspace);
    const transcript = it_.open(run);
    await transcript.take(told('Go.'));
    await waitFor(async () => (await it_.read(run)).length === 1, 5_000, 'the first batch');
    await it_.office.change(change, run.runId);
    await transcript.take(says('too late'));
    await transcript.close();
    expect((await it_.read(run)).map(({ body }) => body)).toEqual(['Go.']);
    expect(await it_.metrics.expose()).toMatch(/office_transcript_refused_total\{why="stale"\} [1-9]/);
  });

  it('cannot be written into while its run is being settled: one waits for the other', async () => {
    const run = await it_.aRun(workspace);
    let release!: () => void;
    const held = new Promise<void>((resolve) => (release = resolve));
    let locked!: () => void;
    const isLocked = new Promise<void>((resolve) => (locked = resolve));
    const settling = it_.office.db.unitOfWork.run(workspace, async (tx) => {
      await tx.query(`select id from runs where id = $1 for no key update`, [run.runId]);
      locked();
      await held;
      await tx.query(
        `update runs set status = 'cancelled', cancel_reason = 'x', finished_at = now(), lease_host_id = null, lease_boot_id = null,
                lease_expires_at = null where id = $1`,
        [run.runId],
      );
    });
    await isLocked;
    const writing = it_.write(run, [says('late')]);
    await waitFor(isWaiting, 5_000, 'the write to wait for the lock');
    release();
    await Promise.all([settling, writing]);
    expect(await it_.read(run)).toEqual([]);
  });
});

describe('a batch that cannot be written', () => {
  it('by a mistake of ours costs what is in it, never the run, and is counted', async () => {
    const run = await it_.aRun(workspace);
    let asked = 0;
    const transcript = it_.transcripts.open(run, (work) => (++asked === 1 ? Promise.reject(new Error('a mistake')) : work()));
    await transcript.take(told('Go.'));
    await waitFor(() => asked === 1, 5_000, 'the first batch');
    await transcript.take(says('hello'));
    await transcript.close();
    expect((await it_.read(run)).map(({ seq, body }) => [seq, body])).toEqual([[2, 'hello']]);
    expect(await it_.metrics.expose()).toMatch(/office_transcript_refused_total\{why="failed"\} 1/);
  });

  it('because the database is gone for good keeps the run from being settled', async () => {
    const run = await it_.aRun(workspace);
    const gone = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' });
    const transcript = it_.transcripts.open(run, () => Promise.reject(gone));
    await transcript.take(told('Go.'));
    await expect(transcript.close()).rejects.toBe(gone);
    await transcript.take(says('nobody hears it'));
    await expect(transcript.close()).rejects.toBe(gone);
  });
});

describe('who reads', () => {
  it('pages through all of it, neither skipping nor repeating, and gets one whole', async () => {
    const run = await it_.aRun(workspace);
    const long = 'é'.repeat(5_000);
    await it_.write(run, [told(long), ...Array.from({ length: 450 }, (_, n) => calls(`t${n}`))]);
    const entries = await it_.read(run);
    expect(entries.map(({ seq }) => seq)).toEqual(Array.from({ length: 451 }, (_, n) => n + 1));
    expect(entries[0]).toMatchObject({ body: 'é'.repeat(2_048), body_cut: true, bytes: 10_000, truncated: false });
    expect(await it_.whole(run, 1)).toMatchObject({ body: long, body_cut: false });
    const seen = new Map<number, number>();
    for (let after = 0; ;) {
      const page = await it_.reads.ofRun(workspace, run.runId, { after_rev: after, limit: 100 });
      for (const { seq, rev } of page.items) seen.set(seq, rev);
      after = page.last_rev;
      if (page.next_cursor === null) break;
      expect(page.next_cursor).toBe(String(after));
    }
    expect(seen.size).toBe(451);
    let file = '';
    for await (const piece of it_.reads.exportOf(workspace, run.runId)) file += piece;
    const lines = file
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { seq: number; body: string });
    expect(lines.map(({ seq }) => seq)).toEqual(entries.map(({ seq }) => seq));
    expect(lines[0]!.body).toBe(long);
  });

  it('is refused another workspace’s, and two places at once', async () => {
    const run = await it_.aRun(workspace);
    const elsewhere = await it_.office.workspace();
    await expect(it_.reads.ofSession(elsewhere, run.sessionId, { limit: 5 })).rejects.toMatchObject({ code: 'not_found' });
    await expect(it_.reads.one(elsewhere, run.sessionId, 1)).rejects.toMatchObject({ code: 'not_found' });
    await expect(it_.reads.ofSession(workspace, run.sessionId, { limit: 5, after_rev: 0, before_seq: 4 })).rejects.toMatchObject({
      code: 'validation_failed',
    });
  });
});
