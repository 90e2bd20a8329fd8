import { setTimeout as pause } from 'node:timers/promises';
import type pg from 'pg';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { furnish, type Pair } from '../bench/furnish.js';
import { JumpingClock, openClockedOffice, type ClockedOffice } from '../support/faults/clocked-office.js';
import { FakeClock } from '../support/fake-clock.js';
import { cloneDatabase, openPool } from '../support/office-db.js';
import { waitFor } from '../support/real-server.js';

const HOUR_MS = 3_600_000;
const LEASE = { OFFICE_LEASE_SEC: '5' };

let database: Awaited<ReturnType<typeof cloneDatabase>>;
let db: pg.Pool;
let pairs: Pair[];
const offices: ClockedOffice[] = [];
beforeEach(async () => {
  database = await cloneDatabase();
  db = openPool(database.url);
  pairs = await furnish(database.url, { workspaces: 1, agents: 4, tasks: 4, concurrent: 8 });
});
afterEach(async () => {
  await Promise.all(offices.splice(0).map((office) => office.close()));
  await db.end();
  await database.drop();
});

const wake = (office: ClockedOffice, { workspaceId, agentId, taskId }: Pair): Promise<unknown> =>
  office.unitOfWork.run(workspaceId, (tx) =>
    office.wakes.wake(tx, { agentId, on: { taskId }, reason: 'manual_run', actor: { kind: 'system', id: null } }),
  );

interface Row {
  status: string;
  generation: number;
  host: string | null;
  leased: number | null;
}
const runOf = async ({ taskId }: Pair): Promise<Row> =>
  (
    await db.query<Row>(
      `select status, generation, lease_host_id as host, extract(epoch from lease_expires_at - now())::float8 as leased
         from runs where task_id = $1 order by id desc limit 1`,
      [taskId],
    )
  ).rows[0]!;

/** One at work, one whose retry is due in two hours, one whose agent cools down for two, one that is free. */
async function furnished(office: ClockedOffice): Promise<readonly [Pair, Pair, Pair, Pair]> {
  const [working, retrying, cooling, free] = pairs as [Pair, Pair, Pair, Pair];
  await db.query(`update agent_instances set cooldown_sec = 7200, last_run_finished_at = now() where id = $1`, [cooling.agentId]);
  await wake(office, working);
  await waitFor(async () => (await runOf(working)).status === 'running', 10_000, 'the turn to begin');
  await db.query(`update agent_instances set pause_reason = 'test', pause_source = 'person' where id = $1`, [retrying.agentId]);
  await wake(office, retrying);
  await db.query(`update runs set status = 'scheduled_retry', retry_count = 1, due_at = now() + interval '2 hours' where task_id = $1`, [
    retrying.taskId,
  ]);
  await db.query(`update agent_instances set pause_reason = null, pause_source = null where id = $1`, [retrying.agentId]);
  await wake(office, cooling);
  return [working, retrying, cooling, free];
}

describe.each([
  ['forward', HOUR_MS],
  ['back', -HOUR_MS],
])('the clock of one server of two jumps an hour %s', (_, offMs) => {
  it('and changes neither leases, nor retries, nor cooldowns, nor what is written', async () => {
    const clock = new JumpingClock();
    const first = await openClockedOffice(database.url, clock, LEASE);
    offices.push(first);
    const [working, retrying, cooling, free] = await furnished(first);
    offices.push(await openClockedOffice(database.url, new JumpingClock(), LEASE));
    clock.offMs = offMs;
    // Longer than a lease: a server that took its clock for the database's would have lost its run, or taken another's.
    await pause(7_000);
    expect(await runOf(working)).toMatchObject({ status: 'running', generation: 1, host: first.hostId });
    expect((await runOf(working)).leased).toBeGreaterThan(3);
    expect((await runOf(working)).leased).toBeLessThan(5.1);
    expect(await runOf(retrying)).toMatchObject({ status: 'scheduled_retry' });
    expect(await runOf(cooling)).toMatchObject({ status: 'queued' });
    await wake(first, free);
    await waitFor(async () => (await runOf(free)).status === 'running', 10_000, 'new work to begin');
    for (const { turns } of offices) turns.endAll();
    await waitFor(async () => (await runOf(working)).status === 'completed', 10_000, 'the turn to end');
    const { rows: odd } = await db.query(
      `select id from runs where greatest(requested_at, claimed_at, launched_at, started_at, finished_at) > now() + interval '1 minute'
           or least(requested_at, claimed_at, launched_at, started_at, finished_at) < now() - interval '1 minute'
       union all select run_id from run_attempts where greatest(claimed_at, finished_at) > now() + interval '1 minute'
           or claimed_at < now() - interval '1 minute'
       union all select workspace_id from office_events where created_at not between now() - interval '1 minute' and now() + interval '1 minute'`,
    );
    expect(odd).toEqual([]);
  });
});

describe('24 hours of a server alone', () => {
  /** The process's hours pass; what it has asked the database in them is answered in between. */
  async function pass(clock: FakeClock, ms: number, stepMs: number): Promise<void> {
    for (let passed = 0; passed < ms; passed += stepMs) {
      clock.advance(stepMs);
      await pause(10);
    }
  }
  /** A turn that has said nothing for 24 hours of its owner's clock has gone quiet, and that is told. */
  const eventsOf = async (): Promise<number> =>
    Number((await db.query<{ n: string }>(`select count(*) as n from office_events where action <> 'office.stall'`)).rows[0]!.n);

  it('are no hours of the database: nothing falls due; and hours of the database are, whatever the server thinks', async () => {
    const clock = new FakeClock();
    const opening = openClockedOffice(database.url, clock, { ...LEASE, OFFICE_EVENTS_KEEP_DAYS: '1' });
    let open = false;
    void opening.then(() => (open = true)).catch(() => undefined);
    while (!open) await pass(clock, 1_000, 1_000);
    const office = await opening;
    offices.push(office);
    const stepping = setInterval(() => clock.advance(100), 10);
    const [working, retrying, cooling] = await furnished(office);
    await waitFor(
      async () => (await db.query(`select from task_sessions where state = 'RUNNING'`)).rowCount === 1,
      20_000,
      'the turn that runs to be written down',
    );
    clearInterval(stepping);
    const before = await eventsOf();

    await pass(clock, 24 * HOUR_MS, 5 * 60_000);
    expect(await runOf(working)).toMatchObject({ status: 'running', generation: 1, host: office.hostId });
    expect(await runOf(retrying)).toMatchObject({ status: 'scheduled_retry' });
    expect(await runOf(cooling)).toMatchObject({ status: 'queued' });
    expect(await eventsOf()).toBe(before);

    // The same 24 hours for everything that is written down.
    await db.query(
      `update runs set due_at = due_at - interval '24 hours', requested_at = requested_at - interval '1 hour' where status <> 'running'`,
    );
    await db.query(`update agent_instances set last_run_finished_at = last_run_finished_at - interval '24 hours'`);
    await db.query(`update office_events set created_at = created_at - interval '25 hours'`);
    const on = setInterval(() => clock.advance(1_000), 10);
    try {
      await waitFor(async () => (await runOf(retrying)).status === 'running', 20_000, 'the retry to be claimed');
      await waitFor(async () => (await runOf(cooling)).status === 'running', 20_000, 'the cooldown to be over');
      await waitFor(
        async () => (await db.query(`select from office_events where created_at < now() - interval '1 day'`)).rowCount! <= 1,
        20_000,
        'old events to be forgotten',
      );
    } finally {
      clearInterval(on);
    }
    // It closes by the clock as well.
    const closing = setInterval(() => clock.advance(1_000), 10);
    await offices.pop()!.close();
    clearInterval(closing);
  });
});
