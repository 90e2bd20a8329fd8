import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { Interruptions } from '../../../src/inbox/interruptions.service.js';
import { InterruptionResumer } from '../../../src/recovery/interruption-resumer.service.js';
import { SessionService } from '../../../src/sessions/session.service.js';
import { gate, lockWaits } from '../../support/gate.js';
import { openByEvents, RecoveryOffice } from '../../support/recovery-office.js';

let office: RecoveryOffice;
let ws: string;
let ada: string;
beforeAll(async () => {
  office = await RecoveryOffice.open();
});
afterAll(() => office.close());
beforeEach(async () => {
  ws = await office.workspace({ agent_failure_threshold: 1 });
  ada = await office.agent(ws, { name: 'Ada' });
});

/** That many runs of Ada are cut off by a restart. */
async function interrupted(count: number) {
  const tasks: string[] = [];
  for (let n = 0; n < count; n++) tasks.push(await office.task(ws, { assignee_agent_instance_id: ada }));
  const runs = await office.start(ws);
  for (const run of runs) expect(await office.interrupt(run)).toBe('failed');
  return { tasks, runs };
}
const queued = () =>
  office.rows<{ task_id: string; reason: string }>(
    `select task_id, reason from runs where workspace_id = $1 and status = 'queued' order by id`,
    ws,
  );
const look = () => office.app.app.get(InterruptionResumer).look();

describe('runs that a restart cut off', () => {
  it('are one item, whatever their number, and nobody’s failure', async () => {
    const { tasks } = await interrupted(3);
    const items = await office.inbox(ws);
    expect(items).toMatchObject([{ kind: 'runs_interrupted', title: 'Runs on den were interrupted by its restart', agent_id: null }]);
    expect(items[0]!.task_ids.toSorted()).toEqual(tasks.toSorted());
    expect(await office.agentNow(ada)).toMatchObject({ consecutive_failures: 0, open_failures: 0, status: 'idle', dot: 'grey' });
    expect([...openByEvents(await office.told(ws)).keys()]).toEqual([items[0]!.id]);
    expect(await look()).toBe(0);
    expect(await queued()).toEqual([]);
  });

  it('go on with one press, into their conversations', async () => {
    const { tasks, runs } = await interrupted(3);
    const [item] = await office.inbox(ws);
    const fixed = await office.dismiss(ws, item!.id);
    expect(fixed.body).toMatchObject({ kind: 'runs_interrupted', already_dismissed: false, skipped: [] });
    expect((fixed.body['queued_runs'] as { task_id: string }[]).map(({ task_id }) => task_id).sort()).toEqual(tasks.toSorted());
    expect((await office.dismiss(ws, item!.id)).body).toMatchObject({ already_dismissed: true, queued_runs: [] });
    expect(await office.inbox(ws)).toEqual([]);
    const again = await office.start(ws);
    expect(again.map(({ acpSessionId }) => `${acpSessionId}`).sort()).toEqual(runs.map(({ runId }) => `acp-${runId}`).sort());
    expect([...openByEvents(await office.told(ws))]).toEqual([]);
  });

  it('are skipped where somebody has dealt with them: resumed, reassigned, done', async () => {
    const eve = await office.agent(ws, { name: 'Eve' });
    const { tasks, runs } = await interrupted(4);
    const at = (n: number) => tasks.indexOf(runs[n]!.taskId!);
    await office.must(`POST /tasks/${tasks[at(0)]}/comments`, { body: 'Go on.' });
    await office.must(`PATCH /tasks/${tasks[at(1)]}`, { assignee_agent_instance_id: eve });
    await office.must(`PATCH /tasks/${tasks[at(2)]}`, { state: 'DONE' });
    const [item] = await office.inbox(ws);
    const { queued_runs, skipped } = (await office.dismiss(ws, item!.id)).body as {
      queued_runs: { task_id: string }[];
      skipped: { task_id: string; why: string }[];
    };
    expect(queued_runs.map(({ task_id }) => task_id)).toEqual([tasks[at(3)]]);
    expect(new Map(skipped.map(({ task_id, why }) => [task_id, why]))).toEqual(
      new Map([
        [tasks[at(0)], 'already_resumed'],
        [tasks[at(1)], 'not_assignee'],
        [tasks[at(2)], 'task_done'],
      ]),
    );
    expect((await queued()).filter(({ reason }) => reason === 'manual_resume_after_failure')).toHaveLength(1);
  });

  it('leave the inbox by themselves when the last of them has been dealt with, one by one', async () => {
    const { tasks, runs } = await interrupted(3);
    await office.must(`POST /tasks/${runs[0]!.taskId}/sessions/${runs[0]!.sessionId}/resume`);
    expect(await office.count(ws)).toBe(1);
    await office.must(`DELETE /tasks/${runs[1]!.taskId}`);
    expect(await office.count(ws)).toBe(1);
    await office.must(`PATCH /tasks/${runs[2]!.taskId}`, { assignee_agent_instance_id: null });
    expect(await office.inbox(ws)).toEqual([]);
    expect((await office.inbox(ws, 'resolved')).map(({ kind, resolved }) => [kind, resolved!.by.name])).toEqual([
      ['runs_interrupted', 'system'],
    ]);
    expect([...openByEvents(await office.told(ws))]).toEqual([]);
    expect(tasks).toHaveLength(3);
  });

  it('leave the inbox although the last two are dealt with at the same moment', async () => {
    const eve = await office.agent(ws, { name: 'Eve' });
    for (const agent of [ada, eve]) await office.task(ws, { assignee_agent_instance_id: agent });
    const [one, other] = await office.start(ws);
    for (const run of [one!, other!]) await office.interrupt(run);
    const held = gate();
    const pair = { agentId: one!.agentId, taskId: one!.taskId! };
    const first = office.app.unitOfWork.run(ws, async (tx) => {
      await office.app.app.get(SessionService, { strict: false }).recoverFailed(tx, ws, pair);
      await office.app.app.get(Interruptions, { strict: false }).resolveWhatIsOver(tx, pair);
      await held.pass();
    });
    await held.reached;
    // Neither sees what the other has not committed: the second has to wait for the first.
    const second = office.must(`POST /tasks/${other!.taskId}/sessions/${other!.sessionId}/resume`);
    await Promise.race([second, lockWaits(office.app)]);
    held.open();
    await Promise.all([first, second]);
    expect(await office.inbox(ws)).toEqual([]);
    expect([...openByEvents(await office.told(ws))]).toEqual([]);
  });

  it('are an item of their own when they come after the first were dealt with', async () => {
    const first = await interrupted(1);
    const [item] = await office.inbox(ws);
    await office.dismiss(ws, item!.id);
    const again = (await office.start(ws)).find(({ taskId }) => taskId === first.tasks[0]);
    await office.interrupt(again!);
    const items = await office.inbox(ws);
    expect(items).toHaveLength(1);
    expect(items[0]!.id).not.toBe(item!.id);
  });
});

describe('resume_interrupted: auto', () => {
  beforeEach(async () => {
    await office.must(`PATCH /workspaces/${ws}/settings`, { resume_interrupted: 'auto' });
  });

  it('wakes every one of them once, without a person', async () => {
    const { tasks } = await interrupted(3);
    await Promise.all([look(), look()]);
    await look();
    expect((await queued()).map(({ task_id, reason }) => `${task_id} ${reason}`).sort()).toEqual(
      tasks.map((id) => `${id} resumed_after_interruption`).sort(),
    );
    expect(await office.inbox(ws)).toEqual([]);
    expect([...openByEvents(await office.told(ws))]).toEqual([]);
    const requests = await office.rows(
      `select id from wake_requests where workspace_id = $1 and reason = 'resumed_after_interruption'`,
      ws,
    );
    expect(requests).toHaveLength(3);
  });

  it('leaves to a person what has no conversation to go on with', async () => {
    const [withOne, without] = [
      await office.task(ws, { assignee_agent_instance_id: ada }),
      await office.task(ws, { assignee_agent_instance_id: ada }),
    ];
    const runs = await office.start(ws);
    await office.rows(`update task_sessions set acp_session_id = null where task_id = $1`, without);
    for (const run of runs) await office.interrupt(run);
    await look();
    expect((await queued()).map(({ task_id }) => task_id)).toEqual([withOne]);
    const [item] = await office.inbox(ws);
    expect(await office.row(`select state from task_sessions where task_id = $1`, without)).toEqual({ state: 'FAILED' });
    expect((await office.dismiss(ws, item!.id)).body).toMatchObject({
      queued_runs: [{ task_id: without }],
      skipped: [{ task_id: withOne, why: 'already_resumed' }],
    });
  });
});
