import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { OfficeSettings } from '../../../src/platform/config/office-settings.js';
import type { Leadership } from '../../../src/platform/leadership/leadership.service.js';
import { newId, SYSTEM_USER_ID } from '../../../src/platform/ids.js';
import { HistoryRetention } from '../../../src/retention/history-retention.service.js';
import type { ClaimedRun } from '../../../src/runs/claim.js';
import { TranscriptAging } from '../../../src/transcript/transcript-aging.service.js';
import { failureOf } from '../../support/failing-runs.js';
import { calls, ended, says, thinks, told, TranscriptOffice } from '../../support/transcript-office.js';

let it_: TranscriptOffice;
let retention: HistoryRetention;
let aging: TranscriptAging;
let workspace: string;
const signal = new AbortController().signal;
beforeAll(async () => {
  it_ = await TranscriptOffice.open();
  workspace = await it_.office.workspace({ threshold: 100 });
  aging = new TranscriptAging(it_.office.db.unitOfWork);
  retention = new HistoryRetention(it_.office.db.unitOfWork, aging, {} as Leadership, new OfficeSettings());
});
afterAll(() => it_.close());

type Pair = { agentId: string; taskId: string };

/** A run that said something of everything, and has ended. */
async function anEndedRun(pair: Pair, end: 'well' | 'badly' | 'interrupted' = 'well', tools = 3): Promise<ClaimedRun> {
  const { office } = it_;
  const run = await office.started(workspace, pair);
  await it_.write(run, [
    told('Go.'),
    thinks('hm'),
    ...Array.from({ length: tools }, (_, n) => calls(`t${n}`, { rawOutput: `output ${n}` })),
    says('done'),
    ended,
  ]);
  if (end === 'well') await office.settlement.settle(run, { kind: 'turn_ended', stopReason: 'end_turn', usage: null, lastMessage: 'done' });
  if (end === 'badly')
    await office.settlement.settle(run, failureOf(run, '{"message":"no such model"}', { acpSessionId: `acp-${run.sessionId}` }));
  if (end === 'interrupted') await office.settlement.settle(run, { kind: 'interrupted', cause: 'host_restart' });
  return run;
}

const ended_ = (run: ClaimedRun, days: number) =>
  it_.office.change(`update runs set finished_at = now() - make_interval(days => $2) where id = $1`, run.runId, days);
const rested = (run: ClaimedRun) => it_.office.change(`update task_sessions set state = 'IDLE' where id = $1`, run.sessionId);
const bodies = async (run: ClaimedRun) =>
  (
    await it_.office.rows<{ kind: string; body: string; truncated: boolean }>(
      `select kind, body, truncated from session_entries where run_id = $1 order by seq`,
      run.runId,
    )
  ).map(({ kind, body, truncated }) => `${kind}:${body}${truncated ? '!' : ''}`);
const exists = async (run: ClaimedRun) => (await it_.office.rows(`select from runs where id = $1`, run.runId)).length === 1;

const WHOLE = ['prompt:Go.', 'thought:hm', 'tool:[output]\noutput 0', 'tool:[output]\noutput 1', 'tool:[output]\noutput 2', 'message:done'];
const EMPTIED = ['prompt:Go.', 'thought:!', 'tool:!', 'tool:!', 'tool:!', 'message:done'];

describe('in time', () => {
  it('bodies of tools and thoughts go 14 days after the end of their run, as a change that readers hear of', async () => {
    const pair = await it_.office.pair(workspace);
    const [old, young] = [await anEndedRun(pair), await anEndedRun(pair)];
    await ended_(old, 15);
    await ended_(young, 13);
    const { last_rev: before } = await it_.reads.ofSession(workspace, old.sessionId, { limit: 5 });
    await retention.work(signal);
    expect(await bodies(old)).toEqual(EMPTIED);
    expect(await bodies(young)).toEqual(WHOLE);
    const changed = await it_.reads.ofSession(workspace, old.sessionId, { after_rev: before, limit: 50 });
    expect(changed.items.map(({ kind, body, truncated }) => [kind, body, truncated])).toEqual([
      ['thought', '', true],
      ['tool', '', true],
      ['tool', '', true],
      ['tool', '', true],
    ]);
    expect(changed.last_rev).toBe(before + 4);
    await retention.work(signal);
    expect((await it_.reads.ofSession(workspace, old.sessionId, { limit: 5 })).last_rev).toBe(before + 4);
  });

  it('a run goes with everything about it after 180 days, but the last of its pair stays', async () => {
    const { office } = it_;
    const pair = await office.pair(workspace);
    const runs = [await anEndedRun(pair), await anEndedRun(pair), await anEndedRun(pair)];
    for (const run of runs) await ended_(run, 200);
    await office.db.unitOfWork.run(workspace, async (tx) => {
      await tx.query(`insert into office_run_events (run_id, seq, workspace_id, event_type, payload) values ($1, 1, $2, 'note', '{}')`, [
        runs[0]!.runId,
        workspace,
      ]);
    });
    // One that was merged into the oldest.
    const merged = newId();
    await office.change(
      `insert into runs (id, workspace_id, agent_id, task_id, status, reason, wake_class, entitlement, finished_at, cancel_reason, merged_into)
       select $2, workspace_id, agent_id, task_id, 'cancelled', reason, wake_class, entitlement, now(), 'merged', id from runs where id = $1`,
      runs[0]!.runId,
      merged,
    );
    await retention.work(signal);
    expect(await Promise.all(runs.map(exists))).toEqual([false, false, false]);
    await office.change(`delete from runs where id = $1`, merged);
    for (const table of ['session_entries', 'run_attempts', 'wake_requests', 'office_run_events']) {
      expect(
        await office.rows(
          `select from ${table} where run_id = any($1::uuid[])`,
          runs.map(({ runId }) => runId),
        ),
        table,
      ).toEqual([]);
    }
    const [again, last] = [await anEndedRun(pair), await anEndedRun(pair)];
    await ended_(again, 200);
    await ended_(last, 200);
    await retention.work(signal);
    expect([await exists(again), await exists(last)]).toEqual([false, true]);
    expect(await bodies(last)).toEqual(EMPTIED);
  });

  it('a run stays while what it was refused for is open, and goes with that item when it is not', async () => {
    const { office } = it_;
    const pair = await office.pair(workspace);
    const [run, last] = [await anEndedRun(pair), await anEndedRun(pair)];
    for (const one of [run, last]) await ended_(one, 200);
    const id = newId();
    await office.change(
      `insert into missing_capabilities (id, workspace_id, agent_id, capability, action, run_id)
       select $2, workspace_id, agent_id, 'decide', 'decide', id from runs where id = $1`,
      run.runId,
      id,
    );
    await retention.work(signal);
    expect([await exists(run), await bodies(run)]).toEqual([true, WHOLE]);
    await office.change(`update missing_capabilities set closed_at = now(), granted = false where id = $1`, id);
    await office.change(
      `insert into inbox_dismissals (user_id, item_kind, item_id, workspace_id) values ($1, 'capability_missing', $2, $3)`,
      SYSTEM_USER_ID,
      id,
      workspace,
    );
    await retention.work(signal);
    expect(await exists(run)).toBe(false);
    expect(await office.rows(`select from missing_capabilities where id = $1`, id)).toEqual([]);
    expect(await office.rows(`select from inbox_dismissals where item_id = $1`, id)).toEqual([]);
  });

  it('the last run of an agent without a task stays, too', async () => {
    const agentId = await it_.office.agent(workspace);
    const ids = [newId(), newId()];
    for (const id of ids) {
      await it_.office.change(
        `insert into runs (id, workspace_id, agent_id, scope, status, reason, wake_class, entitlement, finished_at)
         values ($1, $2, $3, 'manual', 'completed', 'manual_run', 0, 'none', now() - interval '300 days')`,
        id,
        workspace,
        agentId,
      );
    }
    await retention.work(signal);
    expect(await it_.office.rows(`select id from runs where agent_id = $1`, agentId)).toEqual([{ id: ids[1] }]);
  });

  it('goes on while somebody works elsewhere, and leaves the foreign keys whole', async () => {
    const rows = await it_.office.rows<{ name: string }>(
      `select conname as name from pg_constraint where contype = 'f' and not convalidated`,
    );
    expect(rows).toEqual([]);
    const orphans = await it_.office.rows(
      `select 1 from session_entries e left join runs r on r.id = e.run_id where r.id is null
       union all select 1 from run_attempts a left join runs r on r.id = a.run_id where r.id is null
       union all select 1 from wake_requests w left join runs r on r.id = w.run_id where w.run_id is not null and r.id is null
       union all select 1 from task_comments c left join runs r on r.id = c.run_id where c.run_id is not null and r.id is null`,
    );
    expect(orphans).toEqual([]);
  });
});

describe('whatever its age', () => {
  const kept = async (runs: readonly ClaimedRun[], days = 400): Promise<void> => {
    for (const run of runs) await ended_(run, days);
    await retention.work(signal);
    expect(await Promise.all(runs.map(exists))).toEqual(runs.map(() => true));
    for (const run of runs) expect(await bodies(run)).toEqual(WHOLE);
  };
  /** Old enough to go, and not the last of its pair. */
  const followed = async (pair: Pair, end: 'badly' | 'interrupted' | 'well'): Promise<ClaimedRun> => {
    const run = await anEndedRun(pair, end);
    await it_.office.change(
      `insert into runs (id, workspace_id, agent_id, task_id, status, reason, wake_class, entitlement, finished_at, cancel_reason)
       values ($1, $2, $3, $4, 'cancelled', 'user_comment', 0, 'assignee', now(), 'x')`,
      newId(),
      workspace,
      pair.agentId,
      pair.taskId,
    );
    return run;
  };

  it('nothing goes of a session in flight', async () => {
    const pair = await it_.office.pair(workspace);
    const first = await anEndedRun(pair);
    const running = await it_.office.started(workspace, pair);
    await kept([first]);
    await it_.office.settlement.settle(running, { kind: 'turn_ended', stopReason: 'end_turn', usage: null, lastMessage: null });
    await it_.office.wake(workspace, { agentId: pair.agentId, on: { taskId: pair.taskId } });
    await kept([first]);
  });

  it('nothing of a run whose failure is open', async () => {
    const run = await followed(await it_.office.pair(workspace), 'badly');
    await kept([run]);
    await it_.office.change(
      `insert into inbox_dismissals (user_id, item_kind, item_id, workspace_id) values ($1, 'agent_run_failed', $2, $3)`,
      it_.office.personId,
      run.runId,
      workspace,
    );
    await retention.work(signal);
    expect(await exists(run)).toBe(false);
    expect(await it_.office.rows(`select from inbox_dismissals where item_id = $1`, run.runId)).toEqual([]);
  });

  it('nothing of a run in an open pause', async () => {
    const strict = await it_.office.pair(workspace, { failure_threshold: 1 });
    const run = await followed(strict, 'badly');
    expect(await it_.office.rows(`select from agent_pauses where agent_id = $1 and closed_at is null`, strict.agentId)).toHaveLength(1);
    await kept([run]);
    await it_.office.change(`update agent_pauses set closed_at = now(), closed_by = 'mark_fixed' where agent_id = $1`, strict.agentId);
    await retention.work(signal);
    expect(await exists(run)).toBe(false);
  });

  it('nothing of an interrupted run that still waits', async () => {
    const run = await followed(await it_.office.pair(workspace), 'interrupted');
    await kept([run]);
    await it_.office.change(`update interruptions set resolved_at = now() where workspace_id = $1`, workspace);
    await retention.work(signal);
    expect(await exists(run)).toBe(false);
  });
});

describe('in small batches', () => {
  it('bodies go, then rows, at most a thousand a transaction', async () => {
    const pair = await it_.office.pair(workspace);
    const run = await anEndedRun(pair, 'well', 2_500);
    await anEndedRun(pair);
    const sizes: number[] = [];
    const { unitOfWork } = it_.office.db;
    const original = unitOfWork.run.bind(unitOfWork);
    unitOfWork.run = async (workspaceId, work) => {
      const answer = await original(workspaceId, work);
      if (typeof answer === 'number') sizes.push(answer);
      return answer;
    };
    await ended_(run, 20);
    await retention.work(signal);
    expect(sizes.filter((size) => size > 1)).toEqual([1_000, 1_000, 501]);
    sizes.length = 0;
    await ended_(run, 200);
    await retention.work(signal);
    unitOfWork.run = original;
    expect(sizes.filter((size) => size > 1)).toEqual([1_000, 1_000, 503]);
    expect(await exists(run)).toBe(false);
    expect(Math.max(...sizes)).toBeLessThanOrEqual(1_000);
  });

  it('stops when the leader has to, and goes on another time', async () => {
    const pair = await it_.office.pair(workspace);
    const run = await anEndedRun(pair, 'well', 2_500);
    await ended_(run, 20);
    const stopping = new AbortController();
    const { unitOfWork } = it_.office.db;
    const original = unitOfWork.run.bind(unitOfWork);
    unitOfWork.run = async (workspaceId, work) => {
      stopping.abort();
      return original(workspaceId, work);
    };
    await retention.work(stopping.signal);
    unitOfWork.run = original;
    const left = () =>
      it_.office.row<{ n: number }>(
        `select count(*)::int as n from session_entries where run_id = $1 and kind = 'tool' and body <> ''`,
        run.runId,
      );
    expect((await left()).n).toBe(1_501);
    await rested(run);
    await retention.work(signal);
    expect((await left()).n).toBe(0);
  });
});

describe('a deleted task', () => {
  it('takes its transcript with it, whoever still talks; nobody reads or writes it any more', async () => {
    const pair = await it_.office.pair(workspace);
    const old = await anEndedRun(pair, 'well', 10);
    const talking = await it_.office.started(workspace, pair);
    const transcript = it_.open(talking);
    await transcript.take(told('Go on.'));
    await it_.office.db.unitOfWork.run(workspace, async (tx) => {
      await tx.query(`update tasks set title = '', deleted_at = now() where id = $1`, [pair.taskId]);
      await it_.office.stops.askToStop(tx, { taskId: pair.taskId }, 'task_deleted');
      await it_.transcripts.removeOfTask(tx, pair.taskId);
    });
    await transcript.take(says('secret thoughts'));
    await transcript.close();
    expect(await it_.office.rows(`select from session_entries where session_id = $1`, old.sessionId)).toEqual([]);
    await expect(it_.reads.ofSession(workspace, old.sessionId, { limit: 5 })).rejects.toMatchObject({ code: 'not_found' });
    await expect(it_.reads.one(workspace, old.sessionId, 1)).rejects.toMatchObject({ code: 'not_found' });
    expect(await it_.reads.changedSince(workspace, old.sessionId, 0, 10)).toEqual({ entries: [], newest: 0 });
    expect(await exists(old)).toBe(true);
  });

  it('leaves what is too much for one transaction to the leader', async () => {
    const pair = await it_.office.pair(workspace);
    const run = await anEndedRun(pair);
    await it_.office.change(`update session_transcripts set removed_at = now() where session_id = $1`, run.sessionId);
    expect(await aging.removeRemoved(signal)).toBe(6);
    expect(await it_.office.rows(`select from session_entries where session_id = $1`, run.sessionId)).toEqual([]);
  });
});
