import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { OfficeSettings } from '../../../src/platform/config/office-settings.js';
import { newId } from '../../../src/platform/ids.js';
import { RunReads } from '../../../src/runs/run-reads.service.js';
import { AnOffice } from '../../support/an-office.js';

let office: AnOffice;
let workspaceId: string;
beforeAll(async () => {
  office = await AnOffice.open();
});
afterAll(() => office.close());
beforeEach(async () => {
  workspaceId = await office.workspace();
});

type Pair = { agentId: string; taskId: string };
const failures = async ({ agentId, taskId }: Pair, count: number, ago = '5 minutes', kind = 'error'): Promise<void> => {
  for (let failure = 0; failure < count; failure++) {
    await office.change(
      `insert into runs (id, workspace_id, agent_id, task_id, reason, wake_class, entitlement, status, finished_at, error_message, failure_kind)
       values ($1, $2, $3, $4, 'task_assigned', 1, 'none', 'failed', now() - $5::interval, 'x', $6)`,
      newId(),
      workspaceId,
      agentId,
      taskId,
      ago,
      kind,
    );
  }
};
const wake = ({ agentId, taskId }: Pair, reason: 'task_assigned' | 'user_comment' = 'task_assigned') =>
  office.wake(workspaceId, { agentId, on: { taskId }, reason });
const open = { outcome: 'refused', refusedReason: 'breaker_open' };

describe('the breaker of a pair', () => {
  it('lets six failures in an hour pass and refuses after the seventh', async () => {
    const pair = await office.pair(workspaceId);
    await failures(pair, 6);
    expect((await wake(pair)).outcome).toBe('queued');
    const other = await office.pair(workspaceId);
    await failures(other, 7);
    expect(await wake(other)).toEqual(open);
  });

  it('counts neither what is older than an hour, nor interruptions, nor other pairs', async () => {
    const pair = await office.pair(workspaceId);
    await failures(pair, 7, '61 minutes');
    await failures(pair, 7, '1 minute', 'interrupted');
    await failures({ ...pair, taskId: await office.task(workspaceId) }, 7);
    expect((await wake(pair)).outcome).toBe('queued');
  });

  it('gives way to a person, and begins to count anew', async () => {
    const pair = await office.pair(workspaceId);
    await failures(pair, 7);
    expect((await wake(pair, 'user_comment')).outcome).toBe('queued');
    expect((await wake(pair)).outcome).toBe('coalesced');
    expect((await office.claim(workspaceId)).claimed).toHaveLength(1);
  });

  it('holds a run that waits already, and says so', async () => {
    const pair = await office.pair(workspaceId);
    expect((await wake(pair)).outcome).toBe('queued');
    await failures(pair, 7);
    expect((await office.claim(workspaceId)).claimed).toEqual([]);
    const reads = new RunReads(office.db.unitOfWork, new OfficeSettings(), { busyTaskIds: () => [] });
    const { items } = await reads.ofAgent(workspaceId, pair.agentId, { limit: 1, status: 'queued' });
    expect(items).toMatchObject([{ waiting_on: 'breaker_open' }]);
    const [late] = await office.rows<{ seconds: number }>(
      `select round(extract(epoch from $1::timestamptz - now()))::int as seconds`,
      items[0]!.waiting_until,
    );
    expect(late!.seconds).toBeGreaterThan(54 * 60);
    expect(late!.seconds).toBeLessThanOrEqual(55 * 60);
  });

  it('keeps what it refused, for the list and the next prompt', async () => {
    const pair = await office.pair(workspaceId);
    await failures(pair, 7);
    await wake(pair);
    await wake(pair, 'user_comment');
    const [run] = (await office.claim(workspaceId)).claimed;
    expect(run!.prompt.turn).toContain('task_assigned (breaker_open)');
    expect(await office.rows(`select refused_reason from wake_requests where agent_id = $1 and outcome = 'refused'`, pair.agentId)).toEqual(
      [{ refused_reason: 'breaker_open' }],
    );
  });

  it('works without a task, by scope', async () => {
    const agentId = await office.agent(workspaceId);
    for (let failure = 0; failure < 7; failure++) {
      await office.change(
        `insert into runs (id, workspace_id, agent_id, scope, reason, wake_class, entitlement, status, finished_at, error_message, failure_kind)
         values ($1, $2, $3, 'routine:1', 'routine', 3, 'none', 'failed', now(), 'x', 'error')`,
        newId(),
        workspaceId,
        agentId,
      );
    }
    const routine = (scope: string) =>
      office.wake(workspaceId, { agentId, on: { scope }, reason: 'routine', actor: { kind: 'system', id: null } });
    expect(await routine('routine:1')).toEqual(open);
    expect((await routine('routine:2')).outcome).toBe('queued');
  });
});
