import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { newId } from '../../../src/platform/ids.js';
import { CompletionSignals } from '../../../src/sessions/completion-signals.service.js';
import { TaskGate } from '../../../src/tasks/task-gate.service.js';
import { aPerson, aWorkspace, type SomePerson } from '../../support/front-desk.js';
import { RecoveryOffice } from '../../support/recovery-office.js';

interface Step {
  readonly id: string;
  readonly name: string;
  readonly kind: string;
}
interface Task {
  readonly state: string;
  readonly step: Step;
}

let office: RecoveryOffice;
let member: SomePerson;
let workspaceId: string;
let worker: string;
let steps: Record<'Work' | 'Review' | 'Approval' | 'Done', string>;
let workflowId: string;

beforeAll(async () => {
  office = await RecoveryOffice.open();
  member = await aPerson(office.app, { name: 'Mel' });
});
beforeEach(async () => {
  workspaceId = await aWorkspace(office.app, [[member, 'member']]);
  worker = await office.agent(workspaceId, { name: 'Wanda' });
  const { items } = await office.must<{ items: { id: string; steps: Step[] }[] }>(`GET /workspaces/${workspaceId}/workflows`);
  workflowId = items[0]!.id;
  steps = Object.fromEntries(items[0]!.steps.map(({ name, id }) => [name, id])) as typeof steps;
});
afterAll(() => office.close());

const get = (id: string) => office.must<Task>(`GET /tasks/${id}`);
const where = async (id: string) => {
  const { state, step } = await get(id);
  return `${state} at ${step.name}`;
};
const agent = (name: string, about: Record<string, unknown> = {}) => office.agent(workspaceId, { name, role: 'reviewer', ...about });
const put = (taskId: string, body: Record<string, unknown>) =>
  office.must(`PUT /tasks/${taskId}/participants`, { role: 'approver', step_id: steps.Approval, ...body });
const patch = (taskId: string, body: unknown, token = office.token) => office.ask(`PATCH /tasks/${taskId}`, body, token);
const decide = (taskId: string, body: unknown, token = office.token) => office.ask(`POST /tasks/${taskId}/decisions`, body, token);
const wakesOf = (taskId: string) =>
  office.rows<{ agent_id: string; reason: string; note: string | null }>(
    `select agent_id, reason, note from wake_requests where task_id = $1 and reason <> 'task_assigned' order by id`,
    taskId,
  );
const decisions = (taskId: string) =>
  office.rows<{ decision: string; note: string | null; superseded: boolean }>(
    `select decision, note, superseded_at is not null as superseded from task_step_decisions where task_id = $1 order by decided_at`,
    taskId,
  );
const eventsOf = (taskId: string) =>
  office.rows<{ action: string; fields: string[] | null }>(
    `select action, payload -> 'fields' as fields from office_events where workspace_id = $1 and payload ->> 'task_id' = $2 order by seq`,
    workspaceId,
    taskId,
  );
const working = async (about: Record<string, unknown> = {}) => {
  const taskId = await office.task(workspaceId, { assignee_agent_instance_id: worker, ...about });
  const run = await office.startPair(workspaceId, worker, taskId);
  return { taskId, run };
};
/** As an agent decides, in a run of its own. */
const decideAs = (
  agentId: string,
  taskId: string,
  decision: 'approved' | 'changes_requested',
  note: string | null = null,
  runId = newId(),
) =>
  office.app.unitOfWork.run(workspaceId, (tx) =>
    office.app.app
      .get(TaskGate, { strict: false })
      .decide(
        tx,
        workspaceId,
        taskId,
        { decision, note },
        { actor: { kind: 'agent', id: agentId, runId }, mayStandIn: false, seatId: null },
      ),
  );

describe('done', () => {
  it('waits for the approvers: 409 with their names, the task is with them, they are woken once, a repeat changes nothing', async () => {
    const approver = await agent('Ada');
    const { taskId } = await working();
    await put(taskId, { agent_id: approver });
    const answer = await patch(taskId, { state: 'done', title: 'Mended' });
    expect([answer.status, answer.body['code'], answer.body['approvers']]).toEqual([
      409,
      'approvals_pending',
      [{ step_id: steps.Approval, agent_id: approver, user_id: null, name: 'Ada' }],
    ]);
    expect(await where(taskId)).toBe('REVIEW at Approval');
    expect(await get(taskId)).toMatchObject({ title: 'Mended' });
    expect(await wakesOf(taskId)).toEqual([{ agent_id: approver, reason: 'task_review_requested', note: null }]);
    expect((await eventsOf(taskId)).filter(({ fields }) => fields?.includes('step')).at(-1)!.fields).toEqual(['title', 'state', 'step']);

    const before = [await office.row(`select * from tasks where id = $1`, taskId), await eventsOf(taskId), await wakesOf(taskId)];
    const again = await patch(taskId, { state: 'done' });
    expect([again.status, again.body['code']]).toEqual([409, 'approvals_pending']);
    expect([await office.row(`select * from tasks where id = $1`, taskId), await eventsOf(taskId), await wakesOf(taskId)]).toEqual(before);

    await decideAs(approver, taskId, 'approved');
    expect(await where(taskId)).toBe('DONE at Done');
  });

  it.each([
    ['nobody', []],
    ['a watcher', [{ role: 'watcher' }]],
    ['an advisory approver', [{ decision_required: false }]],
    ['a reviewer', [{ role: 'reviewer', step_id: 'Review' }]],
  ] as const)('is not kept by %s', async (_name, seats) => {
    const { taskId } = await working();
    for (const seat of seats) {
      const step_id = 'step_id' in seat ? steps[seat.step_id] : steps.Approval;
      await put(taskId, { agent_id: await agent('Ada'), ...seat, step_id });
    }
    expect((await patch(taskId, { state: 'done' })).status).toBe(200);
    expect(await where(taskId)).toBe('DONE at Done');
  });
});

describe('in review', () => {
  it('goes to the reviewers, who are woken, watchers not; approved by all, to the approvers; then it is done', async () => {
    const [rita, rob, ada, wil] = [await agent('Rita'), await agent('Rob'), await agent('Ada'), await agent('Wil')];
    const { taskId } = await working();
    for (const [agent_id, role] of [
      [rita, 'reviewer'],
      [rob, 'reviewer'],
      [wil, 'watcher'],
    ] as const)
      await put(taskId, { agent_id, role, step_id: steps.Review });
    await put(taskId, { agent_id: ada });
    await patch(taskId, { state: 'in_review' });
    expect([await where(taskId), (await wakesOf(taskId)).map(({ agent_id }) => agent_id).toSorted()]).toEqual([
      'REVIEW at Review',
      [rita, rob].toSorted(),
    ]);
    await decideAs(rita, taskId, 'approved');
    expect(await where(taskId)).toBe('REVIEW at Review');
    await decideAs(rob, taskId, 'approved');
    expect([await where(taskId), (await wakesOf(taskId)).at(-1)!.agent_id]).toEqual(['REVIEW at Approval', ada]);
    await decideAs(ada, taskId, 'approved');
    expect(await where(taskId)).toBe('DONE at Done');
  });

  it('comes back when all have decided and one wants changes: the assignee is told all notes, once, and all is decided anew', async () => {
    const [rita, rob] = [await agent('Rita'), await agent('Rob')];
    const { taskId, run } = await working();
    for (const agent_id of [rita, rob]) await put(taskId, { agent_id, role: 'reviewer', step_id: steps.Review });
    await patch(taskId, { state: 'in_review' });
    await office.complete(run);
    await decideAs(rita, taskId, 'changes_requested', 'The hinge squeaks');
    expect(await where(taskId)).toBe('REVIEW at Review');
    await decideAs(rob, taskId, 'changes_requested', 'Paint it');
    expect(await where(taskId)).toBe('IN_PROGRESS at Work');
    const asked = (await wakesOf(taskId)).filter(({ reason }) => reason === 'task_changes_requested');
    expect(asked).toEqual([
      { agent_id: worker, reason: 'task_changes_requested', note: 'Rita wants changes: The hinge squeaks\n\nRob wants changes: Paint it' },
    ]);
    expect((await decisions(taskId)).map(({ superseded }) => superseded)).toEqual([true, true]);

    await patch(taskId, { state: 'in_review' });
    for (const one of [rita, rob]) await decideAs(one, taskId, 'approved');
    expect([await where(taskId), (await decisions(taskId)).length]).toEqual(['DONE at Done', 4]);
  });

  it('of two who decide at the same instant neither is lost, and the task goes on once', async () => {
    for (let round = 0; round < 5; round++) {
      const approvers = [await agent(`Ada${round}`), await agent(`Bea${round}`)];
      const { taskId } = await working();
      for (const agent_id of approvers) await put(taskId, { agent_id });
      await patch(taskId, { state: 'done' });
      await Promise.all(approvers.map((one) => decideAs(one, taskId, 'approved')));
      expect([await where(taskId), (await decisions(taskId)).length]).toEqual(['DONE at Done', 2]);
      const entered = await office.rows(`select from task_step_transitions where task_id = $1 and to_step_id = $2`, taskId, steps.Done);
      expect(entered).toHaveLength(1);
    }
  });
});

describe('a decision', () => {
  const atApproval = async (seat: Record<string, unknown>) => {
    const { taskId } = await working();
    await put(taskId, seat);
    await patch(taskId, { state: 'done' });
    const { items } = await office.must<{ items: { id: string; decision: string | null }[] }>(`GET /tasks/${taskId}/participants`);
    return { taskId, seatId: items[0]!.id };
  };

  it('is made by the holder of the seat, and told', async () => {
    const { taskId, seatId } = await atApproval({ user_id: member.id });
    const answer = await decide(taskId, { decision: 'approved', note: 'Fine' }, member.token);
    expect([answer.status, answer.body]).toEqual([
      201,
      expect.objectContaining({
        decision: 'approved',
        note: 'Fine',
        seat_id: seatId,
        step_id: steps.Approval,
        state: 'DONE',
        step: expect.objectContaining({ name: 'Done' }),
      }),
    ]);
    expect((await eventsOf(taskId)).at(-1)!.fields).toEqual(['state', 'step', 'decisions']);
    const { items } = await office.must<{ items: { kind: string }[] }>(`GET /tasks/${taskId}/timeline`);
    expect(items.find(({ kind }) => kind === 'decision')).toMatchObject({
      step: 'Approval',
      role: 'approver',
      decision: 'approved',
      note: 'Fine',
      superseded: false,
      run_id: null,
      seat: { kind: 'user', id: member.id, name: 'Mel' },
      by: { kind: 'user', id: member.id, name: 'Mel' },
    });
  });

  it('is made by an admin for an absent agent, by nobody else, and for no person', async () => {
    const absent = await agent('Ada');
    const { taskId, seatId } = await atApproval({ agent_id: absent });
    expect((await decide(taskId, { decision: 'approved', seat_id: seatId }, member.token)).body['code']).toBe('seat_required');
    expect((await decide(taskId, { decision: 'approved' })).body['code']).toBe('seat_required');
    expect((await decide(taskId, { decision: 'approved', seat_id: newId() })).status).toBe(403);
    expect((await decide(taskId, { decision: 'approved', seat_id: seatId })).status).toBe(201);
    expect(await where(taskId)).toBe('DONE at Done');
    const of = await atApproval({ user_id: member.id });
    expect((await decide(of.taskId, { decision: 'approved', seat_id: of.seatId })).status).toBe(403);
  });

  it('is refused to watchers, to agents without a seat, at a step without decisions, and when the task is over', async () => {
    const wil = await agent('Wil');
    const { taskId } = await atApproval({ user_id: member.id });
    await put(taskId, { agent_id: wil, role: 'watcher' });
    await expect(decideAs(wil, taskId, 'approved')).rejects.toMatchObject({ code: 'seat_required' });
    await expect(decideAs(worker, taskId, 'approved')).rejects.toMatchObject({ code: 'seat_required' });
    const elsewhere = await office.task(workspaceId);
    expect((await decide(elsewhere, { decision: 'approved' })).body['code']).toBe('no_gate');
    await patch(taskId, { state: 'cancelled' });
    expect((await decide(taskId, { decision: 'approved' }, member.token)).body['code']).toBe('task_not_open');
    expect((await decide(taskId, { decision: 'perhaps' }, member.token)).status).toBe(400);
  });

  it('made again is the same one; another takes its place and keeps it', async () => {
    const [ada, bea] = [await agent('Ada'), await agent('Bea')];
    const { taskId } = await working();
    for (const agent_id of [ada, bea]) await put(taskId, { agent_id });
    await patch(taskId, { state: 'done' });
    const first = await decideAs(ada, taskId, 'approved', 'Good');
    const events = await eventsOf(taskId);
    expect((await decideAs(ada, taskId, 'approved', 'Good')).decision).toEqual(first.decision);
    expect(await eventsOf(taskId)).toEqual(events);
    await decideAs(ada, taskId, 'changes_requested', 'No');
    expect(await decisions(taskId)).toEqual([
      { decision: 'approved', note: 'Good', superseded: true },
      { decision: 'changes_requested', note: 'No', superseded: false },
    ]);
  });

  it('by an advisory seat is kept and moves nothing', async () => {
    const [ada, bea] = [await agent('Ada'), await agent('Bea')];
    const { taskId } = await working();
    await put(taskId, { agent_id: ada });
    await put(taskId, { agent_id: bea, decision_required: false });
    await patch(taskId, { state: 'done' });
    await decideAs(bea, taskId, 'changes_requested', 'Hm');
    expect(await where(taskId)).toBe('REVIEW at Approval');
  });
});

describe('a seat', () => {
  const seatsOf = async (taskId: string) => {
    const { items } = await office.must<{ items: Record<string, unknown>[] }>(`GET /tasks/${taskId}/participants`);
    return items.map(({ step_id, name, role, decision_required }) => [
      step_id === steps.Approval ? 'Approval' : step_id,
      name,
      role,
      decision_required,
    ]);
  };

  it('of the step holds for every task, and a task’s own in its place, until that is taken away', async () => {
    const ada = await agent('Ada');
    const { items } = await office.must<{ items: { steps: Record<string, unknown>[] }[] }>(`GET /workspaces/${workspaceId}/workflows`);
    const bodies = items[0]!.steps.map(({ id, name, kind }) => ({
      id,
      name,
      kind,
      ...(name === 'Approval' && { seats: [{ role: 'approver', agent_id: ada }] }),
    }));
    await office.must(`PATCH /workflows/${workflowId}`, { steps: bodies });
    const { taskId } = await working();
    const other = await office.task(workspaceId);
    await put(taskId, { agent_id: ada, role: 'watcher' });
    expect([await seatsOf(taskId), await seatsOf(other)]).toEqual([
      [['Approval', 'Ada', 'watcher', false]],
      [['Approval', 'Ada', 'approver', true]],
    ]);
    await office.must(`DELETE /tasks/${taskId}/participants`, { step_id: steps.Approval, agent_id: ada });
    expect(await seatsOf(taskId)).toEqual([['Approval', 'Ada', 'approver', true]]);
    expect((await office.ask(`DELETE /tasks/${taskId}/participants`, { step_id: steps.Approval, agent_id: ada })).status).toBe(404);
  });

  it('given where the task stands asks its holder; the last that was missing taken away lets it go', async () => {
    const [ada, bea] = [await agent('Ada'), await agent('Bea')];
    const { taskId } = await working();
    await put(taskId, { agent_id: ada });
    await patch(taskId, { state: 'done' });
    await put(taskId, { agent_id: bea });
    await put(taskId, { agent_id: bea });
    expect((await wakesOf(taskId)).map(({ agent_id }) => agent_id)).toEqual([ada, bea]);
    await decideAs(ada, taskId, 'approved');
    await office.must(`DELETE /tasks/${taskId}/participants`, { step_id: steps.Approval, agent_id: bea });
    expect(await where(taskId)).toBe('DONE at Done');
  });

  it('is refused to members to give, and to whom there is not', async () => {
    const taskId = await office.task(workspaceId);
    const stranger = await office.agent(await aWorkspace(office.app));
    const body = (about: object) => ({ role: 'approver', step_id: steps.Approval, ...about });
    const answers = [
      await office.ask(`PUT /tasks/${taskId}/participants`, body({ agent_id: worker }), member.token),
      await office.ask(`PUT /tasks/${taskId}/participants`, body({ agent_id: stranger })),
      await office.ask(`PUT /tasks/${taskId}/participants`, body({ user_id: newId() })),
      await office.ask(`PUT /tasks/${taskId}/participants`, body({ agent_id: worker, step_id: newId() })),
      await office.ask(`PUT /tasks/${taskId}/participants`, body({})),
      await office.ask(`PUT /tasks/${taskId}/participants`, body({ agent_id: worker, user_id: member.id })),
      await office.ask(`PUT /tasks/${taskId}/participants`, body({ agent_id: worker, step_id: steps.Work })),
    ];
    expect(answers.map(({ status }) => status)).toEqual([403, 404, 404, 404, 400, 400, 400]);
    expect(answers.at(-1)!.body['fields']).toEqual([
      { path: 'decision_required', problem: 'decisions are made at a review or an approval step only' },
    ]);
    expect(await seatsOf(taskId)).toEqual([]);
  });

  it('that is gone makes the review that was asked for stale, and Mark fixed skip it', async () => {
    const [rita, rob] = [await agent('Rita'), await agent('Rob')];
    const { taskId, run } = await working();
    for (const agent_id of [rita, rob]) await put(taskId, { agent_id, role: 'reviewer', step_id: steps.Review });
    await patch(taskId, { state: 'in_review' });
    await office.complete(run);
    const runs = await office.rows<{ id: string; agent_id: string; entitlement: string }>(
      `select id, agent_id, entitlement from runs where task_id = $1 and status = 'queued'`,
      taskId,
    );
    expect(runs.map(({ entitlement }) => entitlement)).toEqual(['seat', 'seat']);
    await office.must(`DELETE /tasks/${taskId}/participants`, { step_id: steps.Review, agent_id: rob });
    const { claimed } = await office.claim(workspaceId);
    expect(claimed.map(({ agentId }) => agentId)).toEqual([rita]);
    expect(claimed[0]!.prompt.turn).toContain('- you, reviewer: has to decide');
    await put(taskId, { user_id: member.id, role: 'reviewer', step_id: steps.Review });
    await office.fail(claimed[0]!);
    expect((await office.claim(workspaceId)).cancelled).toBe(1);
    const cancelled = await office.rows(`select cancel_reason from runs where task_id = $1 and agent_id = $2`, taskId, rob);
    expect(cancelled).toEqual([{ cancel_reason: 'participant_changed' }]);

    await put(taskId, { agent_id: rita, role: 'watcher', step_id: steps.Review });
    const answer = await office.dismiss(workspaceId, claimed[0]!.runId);
    expect(answer.body['skipped']).toEqual([{ task_id: taskId, agent_id: rita, why: 'seat_gone' }]);
  });

  it('goes with its task, and notes of decisions with it', async () => {
    const ada = await agent('Ada');
    const { taskId } = await working();
    await put(taskId, { agent_id: ada });
    await put(taskId, { agent_id: await agent('Bea') });
    await patch(taskId, { state: 'done' });
    await decideAs(ada, taskId, 'approved', 'a private word');
    await office.must(`DELETE /tasks/${taskId}`);
    expect(await office.rows(`select from workflow_step_participants where task_id = $1`, taskId)).toEqual([]);
    expect(await decisions(taskId)).toEqual([{ decision: 'approved', note: null, superseded: false }]);
  });
});

describe('by hand', () => {
  it('a step is complete, and the task goes where anything is to be done, or where it is sent', async () => {
    const { taskId } = await working();
    await put(taskId, { agent_id: await agent('Ada'), role: 'reviewer', step_id: steps.Review });
    expect(await office.must<Task>(`POST /tasks/${taskId}/advance`, {}, member.token)).toMatchObject({
      state: 'REVIEW',
      step: { name: 'Review' },
    });
    expect(await office.must<Task>(`POST /tasks/${taskId}/advance`, { to_step_id: steps.Work })).toMatchObject({
      state: 'IN_PROGRESS',
      step: { name: 'Work' },
    });
    expect(await office.must<Task>(`POST /tasks/${taskId}/advance`, { to_step_id: steps.Approval })).toMatchObject({
      state: 'REVIEW',
      step: { name: 'Approval' },
    });
    expect(await office.must<Task>(`POST /tasks/${taskId}/advance`, {})).toMatchObject({ state: 'DONE', step: { name: 'Done' } });
    expect((await office.ask(`POST /tasks/${taskId}/advance`, {})).body['code']).toBe('task_not_open');
    expect((await office.ask(`POST /tasks/${taskId}/advance`, { to_step_id: newId() })).status).toBe(409);
  });

  it('not past the approvers', async () => {
    const { taskId } = await working();
    await put(taskId, { agent_id: await agent('Ada') });
    const answer = await office.ask(`POST /tasks/${taskId}/advance`, { to_step_id: steps.Done });
    expect([answer.status, answer.body['code'], await where(taskId)]).toEqual([409, 'approvals_pending', 'REVIEW at Approval']);
    const once = () =>
      office.app.ask(`POST /api/v1/tasks/${taskId}/advance`, { token: office.token, body: {}, headers: { 'idempotency-key': 'once' } });
    const [first, again] = [await once(), await once()];
    expect([first.status, again.text, await where(taskId)]).toEqual([409, first.text, 'REVIEW at Approval']);
  });

  it('the dependents and the parent are woken when it is done', async () => {
    const bob = await office.agent(workspaceId, { name: 'Bob' });
    const parent = await office.task(workspaceId, { assignee_agent_instance_id: bob });
    const { taskId } = await working({ parent_id: parent });
    const waiting = await office.task(workspaceId, { assignee_agent_instance_id: bob, blocked_by: [taskId] });
    await office.must(`POST /tasks/${taskId}/advance`, {});
    expect([await wakesOf(parent), await wakesOf(waiting)].map(([wake]) => wake?.reason)).toEqual([
      'task_children_completed',
      'task_blockers_resolved',
    ]);
  });
});

describe('a signal', () => {
  const signal = (run: { agentId: string; sessionId: string }, taskId: string, about: Record<string, unknown> = {}) =>
    office.app.unitOfWork.run(workspaceId, (tx) =>
      office.app.app
        .get(CompletionSignals, { strict: false })
        .signal(tx, workspaceId, run, taskId, { summary: 'Mended', handoff: null, blockers: null, ...about }),
    );
  const pending = async (taskId: string) =>
    (await office.rows<{ signal: object | null }>(`select signal from task_sessions where task_id = $1`, taskId)).map((row) => row.signal);

  it('is applied when the turn ends well: the task goes on, and whoever comes next is told what was said', async () => {
    const rita = await agent('Rita');
    const { taskId, run } = await working();
    await put(taskId, { agent_id: rita, role: 'reviewer', step_id: steps.Review });
    expect(await signal(run, taskId, { handoff: 'See the hinge', blockers: 'No paint' })).toEqual({ accepted: true });
    expect(await where(taskId)).toBe('IN_PROGRESS at Work');
    await office.complete(run);
    expect([await where(taskId), await pending(taskId)]).toEqual(['REVIEW at Review', [null]]);
    expect(await wakesOf(taskId)).toEqual([
      {
        agent_id: rita,
        reason: 'task_review_requested',
        note: 'What was done: Mended\nHanded over: See the hinge\nStill in the way: No paint',
      },
    ]);
    const [review] = await office.rows<Record<string, unknown>>(`select status, depth, parent_run_id from runs where agent_id = $1`, rita);
    expect(review).toEqual({ status: 'queued', depth: 1, parent_run_id: run.runId });
    const { items } = await office.must<{ items: { kind: string; what?: string; by?: { kind: string; id: string } }[] }>(
      `GET /tasks/${taskId}/timeline`,
    );
    expect(items.filter(({ kind, by }) => kind === 'status' && by?.id === worker).map(({ what }) => what)).toEqual(['state', 'step']);
  });

  it('where nobody decides ends the task, once, and wakes who waited for it', async () => {
    const bob = await office.agent(workspaceId, { name: 'Bob' });
    const parent = await office.task(workspaceId, { assignee_agent_instance_id: bob });
    const { taskId, run } = await working({ parent_id: parent });
    const waiting = await office.task(workspaceId, { assignee_agent_instance_id: bob, blocked_by: [taskId] });
    await signal(run, taskId);
    await office.complete(run);
    expect([await where(taskId), await pending(taskId)]).toEqual(['DONE at Done', [null]]);
    expect([await wakesOf(parent), await wakesOf(waiting)].map(([wake]) => wake?.reason)).toEqual([
      'task_children_completed',
      'task_blockers_resolved',
    ]);
    expect(await office.rows(`select from wake_requests where outcome = 'pending'`)).toEqual([]);
  });

  it('given twice is taken once', async () => {
    const { taskId, run } = await working();
    await signal(run, taskId);
    expect(await signal(run, taskId, { summary: 'Again' })).toEqual({ accepted: false, reason: 'already_signaled' });
    expect(await pending(taskId)).toEqual([{ summary: 'Mended', handoff: null, blockers: null }]);
  });

  it('is refused to others than the assignee, at a gate, and when the task is over', async () => {
    const rita = await agent('Rita');
    const { taskId, run } = await working();
    await put(taskId, { agent_id: rita, role: 'reviewer', step_id: steps.Review });
    expect(await signal({ ...run, agentId: rita }, taskId)).toEqual({ accepted: false, reason: 'not_assignee' });
    await expect(signal({ ...run, sessionId: newId() }, taskId)).rejects.toMatchObject({ code: 'not_found' });
    await patch(taskId, { state: 'in_review' });
    expect(await signal(run, taskId)).toEqual({ accepted: false, reason: 'not_a_work_step' });
    await patch(taskId, { state: 'cancelled' });
    expect(await signal(run, taskId)).toEqual({ accepted: false, reason: 'task_not_open' });
  });

  it('of a run that failed stays for the next turn that ends well', async () => {
    const { taskId, run } = await working();
    await signal(run, taskId);
    await office.fail(run);
    expect([await where(taskId), (await pending(taskId))[0]]).toEqual(['REVIEW at Work', expect.objectContaining({ summary: 'Mended' })]);
    await office.must(`POST /tasks/${taskId}/sessions/${run.sessionId}/resume`);
    await office.complete(await office.startPair(workspaceId, worker, taskId));
    expect(await where(taskId)).toBe('DONE at Done');
  });

  it.each<[string, (taskId: string) => Promise<unknown>]>([
    ['a person’s comment', (taskId) => office.must(`POST /tasks/${taskId}/comments`, { body: 'One more thing' })],
    [
      'another step and back',
      async (taskId) => {
        await office.must(`POST /tasks/${taskId}/advance`, { to_step_id: steps.Review });
        await office.must(`POST /tasks/${taskId}/advance`, { to_step_id: steps.Work });
      },
    ],
  ])('is void after %s', async (_name, what) => {
    const { taskId, run } = await working();
    await signal(run, taskId);
    await what(taskId);
    expect(await pending(taskId)).toEqual([null]);
    await office.complete(run);
    expect(await where(taskId)).toBe('IN_PROGRESS at Work');
  });

  it('of an earlier visit to the step is void, even where nobody has cleared it', async () => {
    const { taskId, run } = await working();
    await signal(run, taskId);
    await office.rows(`update tasks set step_entered_at = clock_timestamp() where id = $1`, taskId);
    expect(await signal(run, taskId)).toEqual({ accepted: true });
    await office.rows(`update tasks set step_entered_at = clock_timestamp() where id = $1`, taskId);
    await office.complete(run);
    expect([await where(taskId), await pending(taskId)]).toEqual(['IN_PROGRESS at Work', [null]]);
  });

  it('stays with a turn that was stopped', async () => {
    const { taskId, run } = await working();
    await signal(run, taskId);
    await office.must(`POST /runs/${run.runId}/cancel`);
    await office.settle(run, { kind: 'stopped', reason: 'cancelled_by_person' });
    expect([await where(taskId), (await pending(taskId))[0]]).toEqual([
      'IN_PROGRESS at Work',
      expect.objectContaining({ summary: 'Mended' }),
    ]);
  });

  it('is not needed at a step that ends with the turn', async () => {
    const { id, steps: own } = await office.must<{ id: string; steps: Step[] }>(`POST /workspaces/${workspaceId}/workflows`, {
      name: 'Quick',
      style: 'office',
      steps: [
        { name: 'Do', kind: 'work', requires_signal: false },
        { name: 'Look', kind: 'review', seats: [{ role: 'reviewer', user_id: member.id }] },
        { name: 'End', kind: 'done' },
      ],
    });
    const { taskId, run } = await working({ workflow_id: id });
    await office.complete(run);
    expect([await where(taskId), own.map(({ name }) => name)]).toEqual(['REVIEW at Look', ['Do', 'Look', 'End']]);
  });
});
