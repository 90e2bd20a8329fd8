import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Usage } from '../../../src/execution/agent-runtime.js';
import type { ClaimedRun } from '../../../src/runs/claim.js';
import { aPerson } from '../../support/front-desk.js';
import { evidenceOf, OVERLOADED } from '../../support/failing-runs.js';
import { RecoveryOffice } from '../../support/recovery-office.js';

let office: RecoveryOffice;
beforeAll(async () => {
  office = await RecoveryOffice.open();
});
afterAll(() => office.close());

const used = (inputTokens: number | null, outputTokens: number | null, cost?: Usage['cost']): Usage => ({
  inputTokens,
  outputTokens,
  totalTokens: inputTokens === null && outputTokens === null ? null : (inputTokens ?? 0) + (outputTokens ?? 0),
  ...(cost === undefined ? {} : { cost }),
});
const complete = (run: ClaimedRun, usage: Usage | null) =>
  office.settle(run, { kind: 'turn_ended', stopReason: 'end_turn', usage, lastMessage: null });
const usageAt = async (route: string): Promise<unknown> => (await office.must<{ usage: unknown }>(`GET ${route}`)).usage;
const USD = (amount: number) => ({ amount, currency: 'USD' });

describe('usage', () => {
  it('is kept for every attempt, however it ended, and summed by run, session, task, agent and workspace', async () => {
    const workspaceId = await office.workspace();
    const agentId = await office.agent(workspaceId);
    const taskId = await office.task(workspaceId, { assignee_agent_instance_id: agentId });
    const first = await office.startPair(workspaceId, agentId, taskId);
    // A passing failure before any output: the same run is tried again.
    const failed = {
      kind: 'error',
      payload: OVERLOADED,
      evidence: evidenceOf(first, { acpSessionId: `acp-${first.runId}` }),
      usage: used(100, null, USD(0.5)),
    } as const;
    expect(await office.settle(first, failed)).toBe('scheduled_retry');
    await office.rows(`update runs set due_at = now() where id = $1`, first.runId);
    const again = await office.startPair(workspaceId, agentId, taskId);
    expect(again.runId).toBe(first.runId);
    await complete(again, used(10, 5, USD(0.25)));
    await office.must(`POST /agents/${agentId}/runs`, { task_id: taskId });
    await complete(await office.startPair(workspaceId, agentId, taskId), used(1, 1, { amount: 2, currency: 'EUR' }));
    await office.must(`POST /agents/${agentId}/runs`, { task_id: taskId });
    await complete(await office.startPair(workspaceId, agentId, taskId), null);

    const ofRun = { input_tokens: 110, output_tokens: 5, total_tokens: 115, attempts: 2, cost: [USD(0.75)] };
    const all = { input_tokens: 111, output_tokens: 6, total_tokens: 117, attempts: 3, cost: [{ amount: 2, currency: 'EUR' }, USD(0.75)] };
    expect(await usageAt(`/runs/${first.runId}`)).toEqual(ofRun);
    const { attempts } = await office.must<{ attempts: { usage: unknown }[] }>(`GET /runs/${first.runId}`);
    expect(attempts.map(({ usage }) => usage)).toEqual([
      { input_tokens: 100, output_tokens: null, total_tokens: 100, cost: USD(0.5) },
      { input_tokens: 10, output_tokens: 5, total_tokens: 15, cost: USD(0.25) },
    ]);
    expect(await usageAt(`/sessions/${first.sessionId}`)).toEqual(all);
    expect(await usageAt(`/tasks/${taskId}`)).toEqual(all);
    expect(await usageAt(`/agents/${agentId}`)).toEqual(all);
    expect(await office.must(`GET /workspaces/${workspaceId}/usage`)).toEqual(all);
    expect(await office.must(`GET /workspaces/${workspaceId}/usage?since=2020-01-01T00:00:00Z`)).toEqual(all);
    expect(await office.must(`GET /workspaces/${workspaceId}/usage?since=2120-01-01T00:00:00Z`)).toMatchObject({ attempts: 0, cost: [] });
    expect((await office.ask(`GET /workspaces/${workspaceId}/usage?since=yesterday`)).status).toBe(400);
  });

  it.each<[string, (run: ClaimedRun) => Parameters<RecoveryOffice['settle']>[1], string]>([
    [
      'timed out',
      (run) => ({ kind: 'timed_out', payload: '{"kind":"run_timeout"}', evidence: evidenceOf(run), usage: used(7, 3) }),
      'timed_out',
    ],
    ['failed for good', (run) => ({ kind: 'error', payload: 'x', evidence: evidenceOf(run), usage: used(7, 3) }), 'failed'],
    ['was stopped', () => ({ kind: 'stopped', reason: 'x', usage: used(7, 3) }), 'cancelled'],
  ])('of an attempt that %s counts too', async (_, result, status) => {
    const workspaceId = await office.workspace();
    const agentId = await office.agent(workspaceId);
    const taskId = await office.task(workspaceId, { assignee_agent_instance_id: agentId });
    const run = await office.startPair(workspaceId, agentId, taskId);
    if (status === 'cancelled') await office.must(`POST /runs/${run.runId}/cancel`);
    expect(await office.settle(run, result(run))).toBe(status);
    expect(await usageAt(`/runs/${run.runId}`)).toMatchObject({ total_tokens: 10, attempts: 1 });
  });

  it('is null where nobody told, and of nobody else', async () => {
    const workspaceId = await office.workspace();
    const agentId = await office.agent(workspaceId);
    const taskId = await office.task(workspaceId, { assignee_agent_instance_id: agentId });
    const run = await office.startPair(workspaceId, agentId, taskId);
    for (const route of [`/runs/${run.runId}`, `/tasks/${taskId}`, `/agents/${agentId}`, `/sessions/${run.sessionId}`]) {
      expect(await usageAt(route), route).toBeNull();
    }
    expect(await office.must(`GET /workspaces/${workspaceId}/usage`)).toEqual({
      input_tokens: 0,
      output_tokens: 0,
      total_tokens: 0,
      attempts: 0,
      cost: [],
    });
    const stranger = await aPerson(office.app);
    expect((await office.ask(`GET /workspaces/${workspaceId}/usage`, undefined, stranger.token)).status).toBe(404);
  });

  it('of absurd size is kept as the most that can be said, and fails nothing', async () => {
    const workspaceId = await office.workspace();
    const agentId = await office.agent(workspaceId);
    const taskId = await office.task(workspaceId, { assignee_agent_instance_id: agentId });
    const run = await office.startPair(workspaceId, agentId, taskId);
    expect(await complete(run, { inputTokens: 1e300, outputTokens: 0.5, totalTokens: null })).toBe('completed');
    expect(await usageAt(`/runs/${run.runId}`)).toMatchObject({ input_tokens: Number.MAX_SAFE_INTEGER, total_tokens: 0 });
  });
});
