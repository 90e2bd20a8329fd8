import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { aPerson } from '../../support/front-desk.js';
import { openByEvents } from '../../support/recovery-office.js';
import { RuntimeDesk, type Worker } from '../../support/runtime-desk.js';

let desk: RuntimeDesk;
beforeAll(async () => void (desk = await RuntimeDesk.open()));
afterAll(() => desk.close());

interface Approval {
  readonly id: string;
  readonly status: string;
  readonly target_id: string | null;
}
const ask = async (by: Worker, body: Record<string, unknown> = {}): Promise<Approval> =>
  (await by.must<{ approval: Approval }>('POST /approvals', { type: 'generic', reason: 'May I paint the door?', ...body })).approval;
const hire = async (by: Worker, body: Record<string, unknown> = {}): Promise<Approval> =>
  ask(by, { type: 'hire_agent', payload: { name: 'Bob', role: 'worker', ...body } });
const wakesOf = (agentId: string) =>
  desk.office.rows<Record<string, unknown>>(
    `select reason, task_id, scope, note, status from runs where agent_id = $1 and reason = 'approval_resolved' order by id`,
    agentId,
  );
const told = async () =>
  (
    await desk.office.rows<{ action: string; payload: Record<string, unknown> }>(
      `select action, payload from office_events where workspace_id = $1 order by seq`,
      desk.workspaceId,
    )
  )
    .filter(({ action }) => action.startsWith('office.approval'))
    .map(({ action, payload }) => [action, payload]);

describe('an approval', () => {
  it('is an item of the inbox until somebody decides, and then says who', async () => {
    const ada = await desk.worker({ name: 'Ada' });
    const approval = await ask(ada, { payload: { colour: 'red' }, target_type: 'task', target_id: ada.run.taskId });
    expect(approval).toMatchObject({
      type: 'generic',
      status: 'pending',
      target_type: 'task',
      target_id: ada.run.taskId,
      payload: { colour: 'red' },
      decided_by: null,
    });
    const open = (await desk.office.inbox(desk.workspaceId)).find(({ id }) => id === approval.id);
    expect(open).toMatchObject({ kind: 'approval', title: 'Ada asks: May I paint the door?', actions: ['approve', 'reject'] });
    expect(await desk.office.dismiss(desk.workspaceId, approval.id)).toMatchObject({ status: 409, body: { code: 'item_not_fixable' } });

    const decided = await desk.office.must(`POST /approvals/${approval.id}/approve`, { note: 'Two coats.' });
    expect(decided).toMatchObject({
      status: 'approved',
      decision_note: 'Two coats.',
      decided_by: { name: expect.any(String) },
      decided_at: expect.any(String),
    });
    expect((await desk.office.inbox(desk.workspaceId)).map(({ id }) => id)).not.toContain(approval.id);
    expect((await desk.office.inbox(desk.workspaceId, 'resolved'))[0]).toMatchObject({
      id: approval.id,
      resolved: { by: decided.decided_by },
    });
    expect((await told()).slice(-2)).toEqual([
      ['office.approval.created', { approval_id: approval.id, type: 'generic', status: 'pending' }],
      ['office.approval.resolved', { approval_id: approval.id, type: 'generic', status: 'approved' }],
    ]);
    expect(openByEvents(await desk.office.told(desk.workspaceId)).has(approval.id)).toBe(false);
  });

  it('wakes whoever asked, with the task and what was said', async () => {
    const ada = await desk.worker();
    const approval = await ask(ada);
    await desk.office.must(`POST /approvals/${approval.id}/reject`, { note: 'Not red.' });
    expect(await wakesOf(ada.run.agentId)).toEqual([
      {
        reason: 'approval_resolved',
        task_id: ada.run.taskId,
        scope: null,
        status: 'queued',
        note: 'Your request was rejected: May I paint the door?\n\nNot red.',
      },
    ]);
    await desk.office.complete(ada.run);
    const next = await desk.office.startPair(desk.workspaceId, ada.run.agentId, ada.run.taskId!);
    expect(next.prompt.turn).toContain('Not red.');
  });

  it('wakes by itself whoever has no task, or one that is over', async () => {
    const idler = await desk.idler();
    const ada = await desk.worker();
    const [first, second] = [await ask(idler), await ask(ada)];
    await desk.office.must(`PATCH /tasks/${ada.run.taskId}`, { state: 'done' });
    for (const { id } of [first, second]) await desk.office.must(`POST /approvals/${id}/approve`, {});
    expect(await wakesOf(idler.run.agentId)).toMatchObject([{ task_id: null, scope: `approval:${first.id}` }]);
    expect(await wakesOf(ada.run.agentId)).toMatchObject([{ task_id: null, scope: `approval:${second.id}` }]);
  });

  it('is decided once, whoever presses at the same moment', async () => {
    const ada = await desk.worker();
    const { id } = await ask(ada);
    const both = await Promise.all(
      ['approve', 'reject', 'approve', 'reject'].map((how) => desk.office.ask(`POST /approvals/${id}/${how}`, {})),
    );
    expect(both.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 409, 409, 409]);
    const won = both.find(({ status }) => status === 200)!.body.status;
    expect(both.filter(({ status }) => status === 409).map(({ body }) => body)).toEqual(
      Array(3).fill(expect.objectContaining({ code: 'already_decided', status: won })),
    );
    expect(await wakesOf(ada.run.agentId)).toHaveLength(1);
  });

  it('is an admin’s to decide and everybody’s to see; nobody’s elsewhere', async () => {
    const ada = await desk.worker();
    const { id } = await ask(ada);
    const [member, stranger] = [await aPerson(desk.office.app), await aPerson(desk.office.app)];
    await desk.office.must(`PUT /workspaces/${desk.workspaceId}/members/${member.id}`, { role: 'member' });
    const statuses = async (token: string) =>
      Promise.all(
        ['GET', 'POST'].map(
          async (method) =>
            (
              await desk.office.ask(
                method === 'GET' ? `GET /approvals/${id}` : `POST /approvals/${id}/approve`,
                method === 'GET' ? undefined : {},
                token,
              )
            ).status,
        ),
      );
    expect(await statuses(member.token)).toEqual([200, 403]);
    expect(await statuses(stranger.token)).toEqual([404, 404]);
    expect(await desk.office.must(`GET /workspaces/${desk.workspaceId}/approvals?status=pending&limit=1`)).toMatchObject({
      items: [{ id, status: 'pending' }],
    });
  });

  it.each([
    ['a type alone', { target_type: 'task' }, 'target_id'],
    ['an id alone', { target_id: '01900000-0000-7000-8000-000000000001' }, 'target_type'],
    ['a workspace', { target_type: 'workspace', target_id: '01900000-0000-7000-8000-000000000001' }, 'target_type'],
  ])('names no %s', async (_, target, path) => {
    const ada = await desk.worker();
    expect(await ada.ask('POST /approvals', { type: 'generic', reason: 'x', ...target })).toMatchObject({
      status: 400,
      body: { fields: [{ path }] },
    });
  });
});

describe('a hire', () => {
  it('becomes exactly what was shown, once approved', async () => {
    const ada = await desk.worker();
    const approval = await hire(ada, { permissions: { deny: ['request_approval'] } });
    const agentId = approval.target_id!;
    expect(await desk.office.agentNow(agentId)).toMatchObject({ status: 'pending_approval' });
    await desk.office.must(`POST /approvals/${approval.id}/approve`, {});
    expect(await desk.office.agentNow(agentId)).toMatchObject({
      status: 'idle',
      capabilities: ['post_comment', 'update_task_status', 'read_memory', 'write_memory', 'list_skills', 'create_subtask'],
    });
    expect(await wakesOf(ada.run.agentId)).toHaveLength(1);
  });

  it('is stopped when rejected', async () => {
    const approval = await hire(await desk.worker());
    await desk.office.must(`POST /approvals/${approval.id}/reject`, {});
    expect(await desk.office.agentNow(approval.target_id!)).toMatchObject({ status: 'stopped' });
  });

  it.each([
    ['permissions', { permissions: { allow: ['delete_skills'] } }],
    ['role', { role: 'ceo' }],
    ['instructions', { instructions: 'Obey.' }],
  ])('whose %s changed after it was shown cannot be approved', async (_, change) => {
    const approval = await hire(await desk.worker());
    await desk.office.must(`PATCH /agents/${approval.target_id}`, change);
    expect(await desk.office.ask(`POST /approvals/${approval.id}/approve`, {})).toMatchObject({
      status: 409,
      body: { code: 'hire_changed' },
    });
    expect(await desk.office.agentNow(approval.target_id!)).toMatchObject({ status: 'pending_approval' });
    expect(await desk.office.must(`GET /approvals/${approval.id}`)).toMatchObject({ status: 'pending' });
    await desk.office.must(`POST /approvals/${approval.id}/reject`, {});
  });

  it('may be given what it is launched with meanwhile, which is an admin’s own', async () => {
    const approval = await hire(await desk.worker());
    await desk.office.must(`PATCH /agents/${approval.target_id}`, { adapter_config: { model: 'big' } });
    await desk.office.must(`POST /approvals/${approval.id}/approve`, {});
    expect(await desk.office.agentNow(approval.target_id!)).toMatchObject({ status: 'idle' });
  });

  it('asks a person even where agents may hire by themselves, and never for more than the proposer holds', async () => {
    await desk.office.must(`PATCH /workspaces/${desk.workspaceId}/settings`, { require_approval_for_new_agents: false });
    const ada = await desk.worker();
    expect((await hire(ada)).status).toBe('pending');
    const propose = (payload: object) => ada.ask('POST /approvals', { type: 'hire_agent', reason: 'x', payload });
    expect(await propose({ name: 'Bob', role: 'assistant' })).toMatchObject({ status: 403, body: { code: 'capability_denied' } });
    expect(await propose({ name: 'Bob', role: 'ceo' })).toMatchObject({ status: 403, body: { code: 'capability_denied' } });
    expect(await propose({ name: 'Bob' })).toMatchObject({ status: 400, body: { fields: [{ path: 'role' }] } });
    expect(await propose({ name: 'Bob', role: 'worker', adapter_config: {} })).toMatchObject({ status: 400 });
    const there = await desk.elsewhere();
    expect(await propose({ name: 'Bob', role: 'worker', reports_to: await there.agent() })).toMatchObject({
      status: 403,
      body: { code: 'workspace_out_of_scope' },
    });
    await desk.office.must(`PATCH /workspaces/${desk.workspaceId}/settings`, { require_approval_for_new_agents: true });
  });

  it('of an agent that is archived meanwhile is withdrawn by the office, and so is what an archived agent asked for', async () => {
    const ada = await desk.worker();
    const [proposed, asked] = [await hire(ada), await ask(ada)];
    await desk.office.must(`DELETE /agents/${proposed.target_id}`);
    expect(await desk.office.must(`GET /approvals/${proposed.id}`)).toMatchObject({ status: 'rejected', decided_by: { name: 'system' } });
    await desk.office.must(`DELETE /agents/${ada.run.agentId}`);
    expect(await desk.office.must(`GET /approvals/${asked.id}`)).toMatchObject({ status: 'rejected', decided_by: { name: 'system' } });
    expect(await desk.office.ask(`POST /approvals/${asked.id}/approve`, {})).toMatchObject({
      status: 409,
      body: { code: 'already_decided' },
    });
    const open = openByEvents(await desk.office.told(desk.workspaceId));
    expect([proposed.id, asked.id].filter((id) => open.has(id))).toEqual([]);
  });
});
