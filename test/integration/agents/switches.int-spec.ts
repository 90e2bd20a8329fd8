import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { AgentReadings } from '../../../src/agents/agent-readings.js';
import { newId } from '../../../src/platform/ids.js';
import { aWorkspace } from '../../support/front-desk.js';
import { gate, lockWaits } from '../../support/gate.js';
import { aTask, anAgent, openRooms } from '../../support/office-rooms.js';
import type { OfficeRooms } from '../../support/office-rooms.js';

let office: OfficeRooms;
let workspaceId: string;

beforeAll(async () => void (office = await openRooms()));
beforeEach(async () => {
  workspaceId = await aWorkspace(office);
  office.agentReactions.calls.length = 0;
  office.agentReactions.during = async () => undefined;
});
afterAll(() => office.close());

const press = (id: string, what: string, body?: unknown) =>
  office.ask(`POST /api/v1/agents/${id}/${what}`, { token: office.adminToken, body });
const archive = (id: string) => office.ask(`DELETE /api/v1/agents/${id}`, { token: office.adminToken });
const row = async (id: string) => (await office.rows<Record<string, unknown>>(`select * from agent_instances where id = $1`, [id]))[0]!;

/** As the settlement of a third failure leaves it. */
async function autoPaused(about: Record<string, unknown> = {}): Promise<{ id: string; pauseId: string }> {
  const id = await anAgent(office, workspaceId, about);
  const pauseId = newId();
  await office.rows(
    `insert into agent_pauses (id, workspace_id, agent_id, reason, failures, affected) values ($1, $2, $3, 'Auto-paused', 3, '[]')`,
    [pauseId, workspaceId, id],
  );
  await office.rows(
    `update agent_instances set pause_reason = 'Auto-paused', pause_source = 'auto', current_pause_id = $2, consecutive_failures = 3,
            paused_at = now() - interval '1 hour' where id = $1`,
    [id, pauseId],
  );
  await office.told(workspaceId);
  return { id, pauseId };
}
const episode = async (pauseId: string) =>
  (await office.rows<Record<string, unknown>>(`select closed_at, closed_by from agent_pauses where id = $1`, [pauseId]))[0]!;

describe('an archived agent', () => {
  it.each(['pause', 'unpause', 'stop', 'start'])('refuses %s', async (what) => {
    const id = await anAgent(office, workspaceId);
    await archive(id);
    await office.told(workspaceId);
    const answer = await press(id, what);
    expect([answer.status, answer.body['code']]).toEqual([409, 'agent_archived']);
    expect(await office.told(workspaceId)).toEqual([]);
  });

  it('refuses changes, and can still be read', async () => {
    const id = await anAgent(office, workspaceId);
    await archive(id);
    expect((await office.ask(`PATCH /api/v1/agents/${id}`, { token: office.adminToken, body: { name: 'x' } })).body['code']).toBe(
      'agent_archived',
    );
    expect((await office.ask(`GET /api/v1/agents/${id}`, { token: office.adminToken })).body).toMatchObject({
      status: 'archived',
      subtitle: 'Archived',
    });
  });

  it('may be archived again, which changes and tells nothing', async () => {
    const id = await anAgent(office, workspaceId);
    await office.told(workspaceId);
    expect([(await archive(id)).status, (await archive(id)).status]).toEqual([204, 204]);
    expect(office.agentReactions.calls).toEqual([['archived', id]]);
    expect((await office.told(workspaceId)).map(([, payload]) => payload['status'])).toEqual(['archived']);
  });
});

describe('archiving', () => {
  it('closes the episode and leaves its name for whoever dismisses the item', async () => {
    const { id, pauseId } = await autoPaused();
    await archive(id);
    expect(await episode(pauseId)).toMatchObject({ closed_by: 'archived' });
    expect(await row(id)).toMatchObject({ lifecycle: 'archived', current_pause_id: pauseId });
  });

  it('is rolled back whole when a reaction fails', async () => {
    const { id, pauseId } = await autoPaused();
    office.agentReactions.during = () => Promise.reject(new Error('no'));
    expect((await archive(id)).status).toBe(500);
    expect(await episode(pauseId)).toMatchObject({ closed_at: null });
    expect(await row(id)).toMatchObject({ lifecycle: 'active' });
    expect(await office.told(workspaceId)).toEqual([]);
  });

  it('waits for work that is just being given to the agent, and so sees it', async () => {
    const id = await anAgent(office, workspaceId);
    const before = gate();
    office.taskReactions.during = before.pass;
    const giving = aTask(office, workspaceId, { assignee_agent_instance_id: id });
    await before.reached;
    let seen: unknown[] = [];
    office.agentReactions.during = async (tx) => {
      seen = await tx.query(`select id from tasks where assignee_agent_instance_id = $1`, [id]);
    };
    const archiving = archive(id);
    await lockWaits(office);
    before.open();
    office.taskReactions.during = async () => undefined;
    expect((await archiving).status).toBe(204);
    expect(seen).toEqual([{ id: await giving }]);
  });

  it('is waited for by whoever gives the agent work, who is then refused', async () => {
    const id = await anAgent(office, workspaceId);
    const before = gate();
    office.agentReactions.during = before.pass;
    const archiving = archive(id);
    await before.reached;
    const giving = office.ask(`POST /api/v1/workspaces/${workspaceId}/tasks`, {
      token: office.adminToken,
      body: { title: 'x', assignee_agent_instance_id: id },
    });
    await lockWaits(office);
    before.open();
    expect((await archiving).status).toBe(204);
    expect((await giving).body['code']).toBe('agent_archived');
    expect(await office.rows(`select 1 from tasks where workspace_id = $1`, [workspaceId])).toEqual([]);
    expect((await office.rows<{ n: number }>(`select last_task_number as n from workspaces where id = $1`, [workspaceId]))[0]!.n).toBe(0);
  });
});

describe('a pause by a person', () => {
  it('has a reason, and a second press changes and tells nothing', async () => {
    const id = await anAgent(office, workspaceId);
    await office.told(workspaceId);
    const { body } = await press(id, 'pause');
    expect(body).toMatchObject({
      status: 'paused',
      pause_reason: 'Paused by a person',
      pause_source: 'person',
      subtitle: 'Paused by a person',
      dot: 'grey',
    });
    expect((await press(id, 'pause')).body).toEqual(body);
    expect((await press(id, 'pause', { reason: 'Paused by a person' })).body).toEqual(body);
    expect(await office.told(workspaceId)).toEqual([
      ['office.agent.updated', { agent_id: id, status: 'paused', pause_reason: 'Paused by a person', consecutive_failures: 0 }],
    ]);
    expect((await press(id, 'pause', { reason: 'Budget' })).body).toMatchObject({ pause_reason: 'Budget' });
    expect((await press(id, 'pause')).body).toMatchObject({ pause_reason: 'Budget' });
  });

  it('refuses a blank reason, one over 500 characters and an unknown field', async () => {
    const id = await anAgent(office, workspaceId);
    for (const body of [{ reason: ' ' }, { reason: 'x'.repeat(501) }, { why: 'x' }])
      expect((await press(id, 'pause', body)).status).toBe(400);
  });

  it('over an automatic one keeps the episode, its beginning and the counter', async () => {
    const { id, pauseId } = await autoPaused();
    const since = (await row(id))['paused_at'];
    expect((await press(id, 'pause', { reason: 'Mine' })).body).toMatchObject({
      pause_source: 'person',
      pause_reason: 'Mine',
      consecutive_failures: 3,
    });
    expect(await row(id)).toMatchObject({ current_pause_id: pauseId, paused_at: since });
    expect(await episode(pauseId)).toMatchObject({ closed_at: null });
  });
});

describe('unpausing', () => {
  it('clears the pause, closes the episode, keeps the counter and lets the rooms above react', async () => {
    const { id, pauseId } = await autoPaused();
    const { body } = await press(id, 'unpause');
    expect(body).toMatchObject({ status: 'idle', pause_reason: null, pause_source: null, paused_at: null, consecutive_failures: 3 });
    expect(await episode(pauseId)).toMatchObject({ closed_by: 'unpaused' });
    expect(await row(id)).toMatchObject({ current_pause_id: null, unblocked_at: expect.any(Date) });
    expect(office.agentReactions.calls).toEqual([['unpaused', id, pauseId]]);
    expect(await office.told(workspaceId)).toEqual([
      ['office.agent.updated', { agent_id: id, status: 'idle', pause_reason: null, consecutive_failures: 3 }],
    ]);
  });

  it('of a pause a person made over an automatic one closes its episode too', async () => {
    const { id, pauseId } = await autoPaused();
    await press(id, 'pause');
    await press(id, 'unpause');
    expect(await episode(pauseId)).toMatchObject({ closed_by: 'unpaused' });
  });

  it('of an agent that is not paused changes and tells nothing', async () => {
    const id = await anAgent(office, workspaceId);
    await office.told(workspaceId);
    expect((await press(id, 'unpause')).status).toBe(200);
    expect(office.agentReactions.calls).toEqual([]);
    expect(await office.told(workspaceId)).toEqual([]);
    expect(await row(id)).toMatchObject({ unblocked_at: null });
  });

  it('twenty times at once happens once', async () => {
    const { id, pauseId } = await autoPaused();
    await Promise.all(Array.from({ length: 20 }, () => press(id, 'unpause')));
    expect(office.agentReactions.calls).toEqual([['unpaused', id, pauseId]]);
    expect(await office.told(workspaceId)).toHaveLength(1);
  });

  it('names no episode where a person had paused by themselves', async () => {
    const id = await anAgent(office, workspaceId);
    await press(id, 'pause');
    await press(id, 'unpause');
    expect(office.agentReactions.calls).toEqual([['unpaused', id, null]]);
  });
});

describe('stop and start', () => {
  it('take an agent off work and back, each told once', async () => {
    const id = await anAgent(office, workspaceId);
    await office.told(workspaceId);
    for (const what of ['stop', 'stop', 'start', 'start']) expect((await press(id, what)).status).toBe(200);
    expect((await office.told(workspaceId)).map(([, payload]) => payload['status'])).toEqual(['stopped', 'idle']);
    expect(office.agentReactions.calls).toEqual([['startedAgain', id]]);
    expect(await row(id)).toMatchObject({ lifecycle: 'active', unblocked_at: expect.any(Date) });
  });

  it.each(['stop', 'start'])('refuse %s for an agent that waits for approval', async (what) => {
    const id = await anAgent(office, workspaceId);
    await office.rows(`update agent_instances set lifecycle = 'pending_approval' where id = $1`, [id]);
    const answer = await press(id, what);
    expect([answer.status, answer.body['code'], answer.body['from']]).toEqual([409, 'illegal_transition', 'pending_approval']);
  });

  it('leave a pause as it was', async () => {
    const { id, pauseId } = await autoPaused();
    expect((await press(id, 'stop')).body).toMatchObject({ status: 'stopped', pause_source: 'auto' });
    expect((await press(id, 'start')).body).toMatchObject({ status: 'paused', pause_source: 'auto' });
    expect(await episode(pauseId)).toMatchObject({ closed_at: null });
  });
});

it('tells an agent at work as working', async () => {
  const id = await anAgent(office, workspaceId);
  office.readings.known.set(id, { openFailures: 0, liveSessions: 2, lastRun: null });
  expect(office.app.get(AgentReadings, { strict: false })).toBe(office.readings);
  await office.told(workspaceId);
  await press(id, 'pause');
  await press(id, 'unpause');
  expect((await office.told(workspaceId)).map(([, payload]) => payload['status'])).toEqual(['paused', 'working']);
});
