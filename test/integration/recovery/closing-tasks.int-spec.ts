import { DataSource, type QueryRunner } from 'typeorm';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { lockWaits } from '../../support/gate.js';
import { failureOf } from '../../support/failing-runs.js';
import { RecoveryOffice } from '../../support/recovery-office.js';

let office: RecoveryOffice;
let workspaceId: string;
let agentId: string;
beforeAll(async () => {
  office = await RecoveryOffice.open();
  workspaceId = await office.workspace();
  agentId = await office.agent(workspaceId);
});
afterAll(() => office.close());

/** A transaction of somebody else's that holds what `sql` locks until it is let go. */
async function holding(sql: string, ...parameters: unknown[]): Promise<{ runner: QueryRunner; letGo(): Promise<void> }> {
  const runner = office.app.app.get(DataSource).createQueryRunner();
  await runner.startTransaction();
  await runner.query(sql, parameters);
  return {
    runner,
    letGo: async () => {
      await runner.commitTransaction();
      await runner.release();
    },
  };
}

const reasonsOf = async (taskId: string): Promise<string[]> =>
  (await office.rows<{ reason: string }>(`select reason from wake_requests where task_id = $1 order by id`, taskId)).map(
    ({ reason }) => reason,
  );

describe('a task that is given a blocker while that blocker is closed', () => {
  it('is woken when it came first, whatever the closing had looked at by then', async () => {
    const blocker = await office.task(workspaceId);
    const task = await office.task(workspaceId, { assignee_agent_instance_id: agentId });
    // Both get as far as they can before either commits: the last thing they ask for is the counter of events.
    const counter = await holding(`select from office_event_counters where workspace_id = $1 for update`, workspaceId);
    const blocked = office.ask(`PATCH /tasks/${task}`, { blocked_by: [blocker] });
    await lockWaits(office, 1);
    const closed = office.ask(`PATCH /tasks/${blocker}`, { state: 'done' });
    await lockWaits(office, 2);
    await counter.letGo();
    expect([(await blocked).status, (await closed).status]).toEqual([200, 200]);
    expect(await reasonsOf(task)).toEqual(['task_assigned', 'task_blockers_resolved']);
  });

  it('waits for nothing when the closing came first', async () => {
    const blocker = await office.task(workspaceId);
    const task = await office.task(workspaceId, { assignee_agent_instance_id: agentId });
    const counter = await holding(`select from office_event_counters where workspace_id = $1 for update`, workspaceId);
    const closed = office.ask(`PATCH /tasks/${blocker}`, { state: 'done' });
    await lockWaits(office, 1);
    const blocked = office.ask(`PATCH /tasks/${task}`, { blocked_by: [blocker] });
    await lockWaits(office, 2);
    await counter.letGo();
    expect([(await blocked).status, (await closed).status]).toEqual([200, 200]);
    expect(await reasonsOf(task)).toEqual(['task_assigned']);
  });

  it('is woken, too, when it is new', async () => {
    const blocker = await office.task(workspaceId);
    const counter = await holding(`select from office_event_counters where workspace_id = $1 for update`, workspaceId);
    const made = office.ask(`POST /workspaces/${workspaceId}/tasks`, {
      title: 'New',
      assignee_agent_instance_id: agentId,
      blocked_by: [blocker],
    });
    await lockWaits(office, 1);
    const closed = office.ask(`PATCH /tasks/${blocker}`, { state: 'done' });
    await lockWaits(office, 2);
    await counter.letGo();
    expect((await closed).status).toBe(200);
    expect(await reasonsOf(String((await made).body['id']))).toEqual(['task_assigned', 'task_blockers_resolved']);
  });
});

describe('the locks of a task that is closed', () => {
  it.each([
    ['waits for it', (blocker: string) => ({ blocked_by: [blocker] }), {}],
    ['is its parent', () => ({}), { asParent: true }],
  ])('are taken in order: the task that %s before any agent', async (_, about, { asParent = false }: { asParent?: boolean }) => {
    const other = asParent ? await office.task(workspaceId) : null;
    const task = await office.task(workspaceId, { assignee_agent_instance_id: agentId, ...(other === null ? {} : { parent_id: other }) });
    const neighbour = other ?? (await office.task(workspaceId, about(task)));
    const run = await office.startPair(workspaceId, agentId, task);
    await office.settle(run, failureOf(run, '{"message":"model gone"}'));
    const held = await holding(`select from tasks where id = $1 for no key update`, neighbour);
    const closed = office.ask(`PATCH /tasks/${task}`, { state: 'cancelled' });
    await lockWaits(office, 1);
    // Whoever closes dismisses the agent's failure, too, and must not have its lock yet.
    await held.runner.query(`select from agent_instances where id = $1 for no key update nowait`, [agentId]);
    await held.letGo();
    expect((await closed).status).toBe(200);
  });

  it('never meet in a ring: a parent that holds up its child, both closed at once, 30 times', async () => {
    const deadlocks = async (): Promise<number> => {
      await office.rows(`select pg_stat_force_next_flush()`);
      const [row] = await office.rows<{ n: string }>(`select deadlocks as n from pg_stat_database where datname = current_database()`);
      return Number(row!.n);
    };
    const before = await deadlocks();
    for (let n = 0; n < 30; n++) {
      const parent = await office.task(workspaceId, { assignee_agent_instance_id: agentId });
      const child = await office.task(workspaceId, { assignee_agent_instance_id: agentId, parent_id: parent, blocked_by: [parent] });
      const [first, second] = n % 2 === 0 ? [parent, child] : [child, parent];
      const both = [office.ask(`PATCH /tasks/${first}`, { state: 'done' }), office.ask(`PATCH /tasks/${second}`, { state: 'done' })];
      expect((await Promise.all(both)).map(({ status }) => status)).toEqual([200, 200]);
    }
    expect((await deadlocks()) - before).toBe(0);
  });
});
