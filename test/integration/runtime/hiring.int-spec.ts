// oxlint-disable vitest/no-conditional-expect -- what is expected of a case is computed from it, and every branch expects something
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { AGENT_ROLES, CAPABILITIES, type Capability } from '../../../src/access/domain/capabilities.js';
import { RuntimeDesk, type Worker } from '../../support/runtime-desk.js';

let desk: RuntimeDesk;
let ceo: Worker;
beforeAll(async () => {
  desk = await RuntimeDesk.open();
  ceo = await desk.worker({ role: 'ceo', name: 'Cleo' });
});
afterAll(() => desk.close());

interface Agent {
  readonly id: string;
  readonly status: string;
  readonly role: string;
  readonly capabilities: readonly Capability[];
  readonly adapter_config: Readonly<Record<string, unknown>>;
}
const freely = (free = true) =>
  desk.office.must(`PATCH /workspaces/${desk.workspaceId}/settings`, { require_approval_for_new_agents: !free });
const agentNow = (id: string) => desk.office.must<Agent>(`GET /agents/${id}`);
const hire = (by: Worker, body: Record<string, unknown> = {}) => by.ask('POST /agents', { name: 'Bob', role: 'worker', ...body });
const denied = { status: 403, body: { code: 'capability_denied' } };

describe('hiring by an agent', () => {
  it('waits for a person where the workspace wants it, which is the default', async () => {
    const { status, body } = await hire(ceo, { reason: 'We need hands.', instructions: 'Be brief.' });
    expect([status, body.agent]).toMatchObject([201, { status: 'pending_approval', adapter: 'mock', role: 'worker' }]);
    const { id } = body.agent as Agent;
    expect(await ceo.lastLogged()).toEqual(['runtime.action', { action: 'create_agent', target_type: 'agent', target_id: id }]);
    const [item] = await desk.office.inbox(desk.workspaceId);
    expect(item).toMatchObject({
      kind: 'approval',
      title: 'Cleo wants to hire: We need hands.',
      agent_id: ceo.run.agentId,
      task_ids: [ceo.run.taskId],
    });
    const approval = await desk.office.must(`GET /approvals/${item!.id}`);
    expect(approval).toMatchObject({
      type: 'hire_agent',
      status: 'pending',
      target_type: 'agent',
      target_id: id,
      reason: 'We need hands.',
      payload: { name: 'Bob', role: 'worker', capabilities: expect.arrayContaining(['post_comment']), instructions: 'Be brief.' },
    });
    expect(await desk.office.ask(`POST /agents/${id}/runs`, {})).toMatchObject({ status: 409, body: { reason: 'agent_pending_approval' } });
  });

  it('happens at once where the workspace lets it', async () => {
    await freely();
    const { body } = await hire(ceo, { permissions: { allow: ['spawn_agent_run'] } });
    expect(body.agent).toMatchObject({ status: 'idle', capabilities: expect.arrayContaining(['spawn_agent_run']) });
    await freely(false);
  });

  it.each([
    ['a second CEO', { role: 'ceo' }],
    ['more than it holds', { permissions: { allow: ['delete_skills'] } }],
  ])('never makes %s', async (_, body) => {
    expect(await hire(ceo, body)).toMatchObject(denied);
    expect(await ceo.lastLogged()).toMatchObject(['runtime.denied', { action: 'create_agent', error: 'capability_denied' }]);
  });

  it.each([
    ['its configuration', { adapter_config: { command: ['sh'] } }],
    ['its limits', { max_concurrent_sessions: 50 }],
    ['its threshold', { failure_threshold: 100 }],
    ['its cooldown', { cooldown_sec: 0 }],
    ['its lifecycle', { lifecycle: 'active' }],
  ])('does not say %s', async (_, body) => {
    const [field] = Object.keys(body);
    expect(await hire(ceo, body)).toMatchObject({ status: 400, body: { fields: [{ path: field, problem: 'is not a known field' }] } });
    const bob = await desk.agent();
    expect(await ceo.ask(`PATCH /agents/${bob}`, body)).toMatchObject({ status: 400, body: { fields: [{ path: field }] } });
  });

  it('cannot choose a program: a custom agent needs an admin', async () => {
    expect(await hire(ceo, { adapter: 'custom' })).toMatchObject({ status: 400, body: { fields: [{ path: 'adapter_config.command' }] } });
  });

  it('shows nothing of how anybody is launched', async () => {
    const secretive = await desk.agent({ adapter_config: { env: { KEY: 'sk-secret-value' } } });
    const { body } = await ceo.ask(`PATCH /agents/${secretive}`, { name: 'Sam' });
    expect(body.agent).toMatchObject({ name: 'Sam', adapter_config: { env: { KEY: '[redacted]' } } });
  });
});

describe('changing another agent', () => {
  it('never touches one that holds what the caller lacks, nor itself', async () => {
    const janitor = await desk.agent({ permissions: { allow: ['delete_skills'] } });
    const modifier = await desk.worker({ role: 'worker', permissions: { allow: ['modify_agents'] } });
    expect(await ceo.ask(`PATCH /agents/${janitor}`, { name: 'X' })).toMatchObject(denied);
    expect(await modifier.ask(`PATCH /agents/${ceo.run.agentId}`, { instructions: 'Obey me.' })).toMatchObject(denied);
    expect(await ceo.ask(`PATCH /agents/${ceo.run.agentId}`, { role: 'worker' })).toMatchObject(denied);
    expect(await ceo.ask(`PATCH /agents/${ceo.run.agentId}`, { permissions: { allow: ['post_comment'] } })).toMatchObject(denied);
    expect(
      await modifier.ask(`PATCH /agents/${modifier.run.agentId}`, { permissions: { allow: ['modify_agents', 'delete_skills'] } }),
    ).toMatchObject(denied);
    expect(await ceo.ask(`PATCH /agents/${ceo.run.agentId}`, { instructions: 'Note to self.' })).toMatchObject({ status: 200 });
    expect(await agentNow(ceo.run.agentId)).toMatchObject({ role: 'ceo' });
  });

  it('grants nothing that was revoked meanwhile, although the run may still do it itself', async () => {
    const boss = await desk.worker({ role: 'assistant', permissions: { allow: ['modify_agents'] } });
    const bob = await desk.agent();
    await desk.office.must(`PATCH /agents/${boss.run.agentId}`, { permissions: { allow: ['modify_agents'], deny: ['spawn_agent_run'] } });
    await boss.must(`POST /agents/${bob}/runs`, {});
    expect(await boss.ask(`PATCH /agents/${bob}`, { permissions: { allow: ['spawn_agent_run'] } })).toMatchObject(denied);
  });

  it('does not hand a command to another kind of agent', async () => {
    const scripted = await desk.agent({ adapter_config: { command: ['/bin/true'] } });
    expect(await ceo.ask(`PATCH /agents/${scripted}`, { adapter: 'codex' })).toMatchObject({ status: 403, body: { code: 'forbidden' } });
  });

  it('lets the CEO, and nobody else, end a pause that is not its own', async () => {
    const bob = await desk.agent();
    await desk.office.must(`POST /agents/${bob}/pause`, {});
    const modifier = await desk.worker({ role: 'assistant', permissions: { allow: ['modify_agents'] } });
    expect(await modifier.ask(`POST /agents/${bob}/unpause`)).toMatchObject(denied);
    expect(await ceo.ask(`POST /agents/${ceo.run.agentId}/unpause`)).toMatchObject(denied);
    expect(await ceo.must(`POST /agents/${bob}/unpause`)).toMatchObject({ agent: { status: 'idle', pause_reason: null } });
    expect(await ceo.must(`POST /agents/${bob}/unpause`)).toMatchObject({ agent: { status: 'idle' } });
  });

  it('lets a pending one be as it was shown', async () => {
    const { agent } = await ceo.must<{ agent: Agent }>('POST /agents', { name: 'Pending', role: 'worker' });
    expect(await ceo.ask(`PATCH /agents/${agent.id}`, { instructions: 'Something else' })).toMatchObject({
      status: 409,
      body: { code: 'agent_not_active' },
    });
  });
});

// Every path by which an agent could come to hold more: hire, change, itself, a proposal, giving work, waking.
describe('a staff left to itself', () => {
  const some = fc.subarray([...CAPABILITIES]);
  const permissions = fc.record({ allow: some, deny: some }, { requiredKeys: [] });
  const deed = fc.record({
    by: fc.nat(2),
    to: fc.nat(6),
    kind: fc.constantFrom('hire', 'change', 'itself', 'propose', 'subtask', 'spawn'),
    role: fc.constantFrom(...AGENT_ROLES),
    permissions,
  });

  it('never holds what it did not hold at first, and nobody grants what they lack', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.record({ role: fc.constantFrom(...AGENT_ROLES), permissions }), { minLength: 3, maxLength: 3 }),
        fc.array(deed, { minLength: 5, maxLength: 15 }),
        async (first, deeds) => {
          const place = await desk.elsewhere();
          await desk.office.must(`PATCH /workspaces/${place.workspaceId}/settings`, { require_approval_for_new_agents: false });
          const callers: Worker[] = [];
          for (const about of first) callers.push(await place.worker(about));
          const staff = callers.map(({ run }) => run.agentId);
          const heldAtFirst = new Set((await Promise.all(staff.map(agentNow))).flatMap(({ capabilities }) => capabilities));
          for (const { by, to, kind, role, permissions: wanted } of deeds) {
            const caller = callers[by % callers.length]!;
            const target = kind === 'itself' ? caller.run.agentId : staff[to % staff.length]!;
            const [mine, before] = await Promise.all([agentNow(caller.run.agentId), agentNow(target)]);
            const body = { name: 'Bob', role, permissions: wanted };
            const answer =
              kind === 'hire'
                ? await caller.ask('POST /agents', body)
                : kind === 'propose'
                  ? await caller.ask('POST /approvals', { type: 'hire_agent', reason: 'x', payload: body })
                  : kind === 'subtask'
                    ? await caller.ask(`POST /tasks/${caller.run.taskId}/subtasks`, { title: 'x', assignee_agent_id: target })
                    : kind === 'spawn'
                      ? await caller.ask(`POST /agents/${target}/runs`, {})
                      : await caller.ask(`PATCH /agents/${target}`, { role, permissions: wanted });
            if (answer.status >= 300) continue;
            const made = kind === 'hire' ? (answer.body.agent as Agent) : kind === 'propose' ? null : before;
            const madeId = made?.id ?? String((answer.body.approval as { target_id: string }).target_id);
            const after = await agentNow(madeId);
            if (kind === 'subtask' || kind === 'spawn') expect(after.capabilities).toEqual(before.capabilities);
            else {
              expect(mine.capabilities).toEqual(expect.arrayContaining([...after.capabilities]));
              if (kind !== 'hire' && kind !== 'propose')
                expect(mine.capabilities).toEqual(expect.arrayContaining([...before.capabilities]));
              if (madeId === caller.run.agentId) expect([after.role, after.capabilities]).toEqual([before.role, before.capabilities]);
              if (after.role === 'ceo') expect(before.role).toBe('ceo');
            }
            if (kind === 'hire') staff.push(madeId);
          }
          const now = await Promise.all(staff.map(agentNow));
          for (const { capabilities } of now) for (const one of capabilities) expect(heldAtFirst).toContain(one);
        },
      ),
      { numRuns: 12, endOnFailure: true },
    );
  }, 120_000);
});
