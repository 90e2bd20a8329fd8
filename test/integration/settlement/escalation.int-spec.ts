import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { ClaimedRun } from '../../../src/runs/claim.js';
import { AnOffice } from '../../support/an-office.js';
import { BAD_KEY, failureOf } from '../../support/failing-runs.js';

let office: AnOffice;
let workspaceId: string;
beforeAll(async () => {
  office = await AnOffice.open();
});
afterAll(() => office.close());
beforeEach(async () => {
  workspaceId = await office.workspace();
});

const requests = (agentId: string) =>
  office.rows<{ outcome: string; note: string; run_id: string | null; refused_reason: string | null }>(
    `select outcome, note, run_id, refused_reason from wake_requests where agent_id = $1 and reason = 'agent_error'`,
    agentId,
  );
const notes = (run: ClaimedRun) =>
  office.rows<{ event_type: string; payload: { reason?: string } }>(
    `select event_type, payload from office_run_events where run_id = $1`,
    run.runId,
  );
const fail = async (pair: { agentId: string; taskId: string }, payload = BAD_KEY): Promise<ClaimedRun> => {
  const run = await office.started(workspaceId, pair);
  await office.settlement.settle(run, failureOf(run, payload));
  return run;
};

describe('a failed run on a step that says whom to tell', () => {
  it('wakes the coordinator once, with all it needs to know', async () => {
    const ceo = await office.agent(workspaceId, { role: 'ceo', name: 'Chief' });
    const pair = await office.pair(workspaceId);
    const run = await fail(pair);
    await office.settlement.settle(run, failureOf(run, BAD_KEY));
    const told = await requests(ceo);
    expect(told).toHaveLength(1);
    expect(told[0]).toMatchObject({ outcome: 'queued' });
    for (const part of [pair.agentId, pair.taskId, 'OFF-', run.runId, run.sessionId, 'hard (auth)', 'Invalid API key'])
      expect(told[0]!.note).toContain(part);
    expect(await office.row(`select reason, task_id, depth, causation_id from runs where id = $1`, told[0]!.run_id)).toEqual({
      reason: 'agent_error',
      task_id: pair.taskId,
      depth: 1,
      causation_id: run.runId,
    });
    expect(await requests(pair.agentId)).toEqual([]);
    const [theirs] = (await office.claim(workspaceId)).claimed;
    expect(theirs!.prompt.turn).toContain('Invalid API key');
  });

  it('is not told of a retry that is only scheduled', async () => {
    const ceo = await office.agent(workspaceId, { role: 'ceo' });
    const pair = await office.pair(workspaceId);
    const run = await office.started(workspaceId, pair);
    expect(await office.settlement.settle(run, failureOf(run))).toBe('scheduled_retry');
    expect(await requests(ceo)).toEqual([]);
  });

  it('tells nobody when the coordinator itself fails, and says so', async () => {
    const ceo = await office.agent(workspaceId, { role: 'ceo' });
    const run = await fail({ agentId: ceo, taskId: await office.task(workspaceId, { assignee_agent_instance_id: ceo }) });
    expect(await requests(ceo)).toEqual([]);
    expect(await notes(run)).toMatchObject([{ event_type: 'escalation.skipped', payload: { reason: 'coordinator_failed' } }]);
  });

  it('tells nobody when there is no coordinator, and says so', async () => {
    const run = await fail(await office.pair(workspaceId));
    expect(await notes(run)).toMatchObject([{ event_type: 'escalation.skipped', payload: { reason: 'no_coordinator' } }]);
  });

  it('tells the agent that is named', async () => {
    const named = await office.agent(workspaceId);
    await office.change(`update workflow_steps set on_agent_error = $2 where workspace_id = $1`, workspaceId, { target: named });
    await fail(await office.pair(workspaceId));
    expect(await requests(named)).toHaveLength(1);
  });

  it('never wakes the agent that failed, were it the one that is named', async () => {
    const pair = await office.pair(workspaceId);
    await office.change(`update workflow_steps set on_agent_error = $2 where workspace_id = $1`, workspaceId, { target: pair.agentId });
    const run = await fail(pair);
    expect(await requests(pair.agentId)).toEqual([]);
    expect(await notes(run)).toMatchObject([{ event_type: 'escalation.skipped', payload: { reason: 'coordinator_failed' } }]);
  });

  it('tells nobody where the step says so, without a word', async () => {
    const ceo = await office.agent(workspaceId, { role: 'ceo' });
    await office.change(`update workflow_steps set on_agent_error = null where workspace_id = $1`, workspaceId);
    const run = await fail(await office.pair(workspaceId));
    expect(await requests(ceo)).toEqual([]);
    expect(await notes(run)).toEqual([]);
  });

  it('tells nobody of an interruption', async () => {
    const ceo = await office.agent(workspaceId, { role: 'ceo' });
    const run = await office.started(workspaceId, await office.pair(workspaceId));
    expect(await office.settlement.settle(run, { kind: 'interrupted', cause: 'host_restart' })).toBe('failed');
    expect(await requests(ceo)).toEqual([]);
  });

  it('is refused, and stays listed, where the coordinator is stopped', async () => {
    const ceo = await office.agent(workspaceId, { role: 'ceo', lifecycle: 'stopped' });
    await fail(await office.pair(workspaceId));
    expect(await requests(ceo)).toMatchObject([{ outcome: 'refused', refused_reason: 'agent_stopped' }]);
  });

  it('is placed at the next start when the server died in between', async () => {
    const ceo = await office.agent(workspaceId, { role: 'ceo' });
    const pair = await office.pair(workspaceId);
    const run = await office.started(workspaceId, pair);
    // What a settle leaves behind when nothing comes after its commit.
    await office.db.unitOfWork.run(workspaceId, (tx) =>
      office.wakes.store(tx, {
        agentId: ceo,
        on: { taskId: pair.taskId },
        reason: 'agent_error',
        actor: { kind: 'system', id: null },
        key: `agent_error:${run.runId}`,
        causedByRunId: run.runId,
        note: 'x',
      }),
    );
    expect(await requests(ceo)).toMatchObject([{ outcome: 'pending' }]);
    await Promise.all([office.storedWakes.place(), office.storedWakes.place()]);
    await office.storedWakes.place();
    expect(await requests(ceo)).toMatchObject([{ outcome: 'queued' }]);
    expect(await office.rows(`select from runs where agent_id = $1`, ceo)).toHaveLength(1);
  });
});
