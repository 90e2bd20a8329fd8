import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openByEvents, RecoveryOffice } from '../../support/recovery-office.js';

let office: RecoveryOffice;
beforeAll(async () => {
  office = await RecoveryOffice.open();
});
afterAll(() => office.close());

/** The CEO fails on A, B and C. */
async function pausedOnThree() {
  const ws = await office.workspace({ agent_failure_threshold: 3 });
  const ceo = await office.agent(ws, { name: 'Claude', role: 'ceo' });
  const worker = await office.agent(ws, { name: 'Codex' });
  const failures = [
    await office.failedTask(ws, ceo, 'A'),
    await office.failedTask(ws, ceo, 'B'),
    await office.failedTask(ws, ceo, 'C'),
  ] as const;
  const [pause] = await office.inbox(ws);
  return { ws, ceo, worker, failures, pause: pause! };
}

describe('the worked example of a provider that limits its rate', () => {
  it('runs as it is told, through REST', async () => {
    const ws = await office.workspace({ agent_failure_threshold: 3 });
    const ceo = await office.agent(ws, { name: 'Claude', role: 'ceo' });
    const worker = await office.agent(ws, { name: 'Codex' });

    const a = await office.failedTask(ws, ceo, 'A');
    expect((await office.inbox(ws)).map(({ kind, title, id }) => [kind, title, id])).toEqual([
      ['agent_run_failed', 'Claude failed on ACM-1 A', a.runId],
    ]);
    const b = await office.failedTask(ws, ceo, 'B');
    expect((await office.inbox(ws)).map(({ title }) => title)).toEqual(['Claude failed on ACM-2 B', 'Claude failed on ACM-1 A']);
    const c = await office.failedTask(ws, ceo, 'C');
    const [pause, ...others] = await office.inbox(ws);
    expect(others).toEqual([]);
    expect(pause).toMatchObject({
      kind: 'agent_paused_after_failures',
      title: 'Claude auto-paused after 3 failures (tasks ACM-1, ACM-2, ACM-3)',
      task_ids: [a.taskId, b.taskId, c.taskId],
    });
    expect(await office.agentNow(ceo)).toMatchObject({
      status: 'paused',
      pause_reason: 'Auto-paused: 3 consecutive failures. Last error: Internal error: model gone',
      consecutive_failures: 3,
      subtitle: 'Paused - 3 consecutive failures',
      dot: 'red',
    });

    await office.must(`PATCH /tasks/${b.taskId}`, { assignee_agent_instance_id: worker });
    const run = await office.startPair(ws, worker, b.taskId);
    await office.complete(run);
    expect(await office.agentNow(ceo)).toMatchObject({ status: 'paused', consecutive_failures: 3 });
    expect((await office.inbox(ws)).map(({ id, task_ids }) => [id, task_ids])).toEqual([[pause!.id, [a.taskId, b.taskId, c.taskId]]]);

    const fixed = await office.dismiss(ws, pause!.id);
    expect(fixed.status).toBe(200);
    expect(fixed.body).toMatchObject({
      item_id: pause!.id,
      kind: 'agent_paused_after_failures',
      dismissed: true,
      already_dismissed: false,
      queued_runs: [
        { task_id: a.taskId, agent_id: ceo },
        { task_id: c.taskId, agent_id: ceo },
      ],
      skipped: [{ task_id: b.taskId, agent_id: ceo, why: 'not_assignee' }],
    });
    expect(await office.agentNow(ceo)).toMatchObject({ pause_reason: null, consecutive_failures: 0 });
    const queued = await office.rows(`select task_id, reason from runs where agent_id = $1 and status = 'queued' order by task_id`, ceo);
    expect(queued).toEqual([a.taskId, c.taskId].sort().map((task_id) => ({ task_id, reason: 'manual_resume_after_failure' })));
    const sessions = await office.rows<{ state: string }>(`select state from task_sessions where agent_id = $1 order by state`, ceo);
    expect(sessions.map(({ state }) => state)).toEqual(['COMPLETED', 'IDLE', 'IDLE']);

    expect(await office.inbox(ws)).toEqual([]);
    expect(await office.count(ws)).toBe(0);
    expect([...openByEvents(await office.told(ws))]).toEqual([]);
    for (const again of await office.start(ws)) await office.complete(again);
    expect(await office.inbox(ws)).toEqual([]);
  });

  it('tells who resolved what, and when', async () => {
    const { ws, pause } = await pausedOnThree();
    await office.dismiss(ws, pause.id);
    const resolved = await office.inbox(ws, 'resolved');
    expect(resolved.map(({ kind, resolved: by }) => `${kind} by ${by!.by.name}`).sort()).toEqual([
      'agent_paused_after_failures by admin',
      'agent_run_failed by system',
      'agent_run_failed by system',
      'agent_run_failed by system',
    ]);
  });

  it('shows the failures by themselves after a person has only lifted the pause', async () => {
    const { ws, ceo, failures, pause } = await pausedOnThree();
    await office.must(`POST /agents/${ceo}/unpause`);
    expect((await office.inbox(ws)).map(({ kind, id }) => [kind, id])).toEqual(
      failures.toReversed().map(({ runId }) => ['agent_run_failed', runId]),
    );
    expect(await office.count(ws)).toBe(3);
    expect(await office.agentNow(ceo)).toMatchObject({ status: 'idle', consecutive_failures: 3, open_failures: 3 });
    expect(await office.rows(`select id from runs where agent_id = $1 and status = 'queued'`, ceo)).toEqual([]);
    const stale = await office.dismiss(ws, pause.id);
    expect([stale.status, stale.body['code']]).toEqual([409, 'pause_changed']);
    expect(await office.count(ws)).toBe(3);
    expect([...openByEvents(await office.told(ws)).keys()].sort()).toEqual(failures.map(({ runId }) => runId).sort());
  });

  it('brings nothing back that was dealt with while the agent was paused', async () => {
    const { ws, ceo, worker, failures } = await pausedOnThree();
    const [a, b, c] = failures;
    await office.must(`PATCH /tasks/${a.taskId}`, { assignee_agent_instance_id: worker });
    await office.must(`POST /tasks/${b.taskId}/sessions/${b.sessionId}/resume`);
    await office.must(`POST /agents/${ceo}/unpause`);
    expect((await office.inbox(ws)).map(({ id }) => id)).toEqual([c.runId]);
  });

  it('shows a second pause of the same agent again', async () => {
    const { ws, ceo, failures, pause } = await pausedOnThree();
    await office.dismiss(ws, pause.id);
    for (const run of await office.start(ws)) await office.fail(run);
    const items = await office.inbox(ws);
    expect(items.map(({ kind, title }) => [kind, title])).toEqual([
      ['agent_paused_after_failures', 'Claude auto-paused after 3 failures (tasks ACM-1, ACM-2, ACM-3)'],
    ]);
    expect(items[0]!.id).not.toBe(pause.id);
    expect(items[0]!.task_ids.toSorted()).toEqual(failures.map(({ taskId }) => taskId).sort());
    const again = await office.dismiss(ws, pause.id);
    expect([again.status, again.body['already_dismissed'], again.body['queued_runs']]).toEqual([200, true, []]);
    expect(await office.agentNow(ceo)).toMatchObject({ status: 'paused' });
  });
});
