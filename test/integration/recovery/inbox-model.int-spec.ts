import fc from 'fast-check';
import assert from 'node:assert/strict';
import { afterAll, beforeAll, it } from 'vitest';
import { InboxModel } from '../../support/inbox-model.js';
import { aPerson } from '../../support/front-desk.js';
import { openByEvents, RecoveryOffice } from '../../support/recovery-office.js';

const FULL = process.env['OFFICE_FAULTS'] === 'full';
const THRESHOLD = 2;
const AGENTS = 2;
const TASKS = 3;

let office: RecoveryOffice;
let people: string[];
beforeAll(async () => {
  office = await RecoveryOffice.open();
  people = [(await aPerson(office.app, { name: 'Ann' })).token, (await aPerson(office.app, { name: 'Bob' })).token];
});
afterAll(() => office.close());

/** A workspace and what we believe of its inbox. */
class Tenant {
  readonly model = new InboxModel(THRESHOLD);

  private constructor(
    readonly id: string,
    readonly agents: readonly string[],
    readonly tasks: { id: string; assignee: string; gone: boolean }[],
  ) {}

  static async open(): Promise<Tenant> {
    const id = await office.workspace({ agent_failure_threshold: THRESHOLD });
    for (const token of people) {
      const { user } = await office.must<{ user: { id: string } }>('GET /me', undefined, token);
      await office.must(`PUT /workspaces/${id}/members/${user.id}`, { role: 'admin' });
    }
    const agents: string[] = [];
    for (let n = 0; n < AGENTS; n++) agents.push(await office.agent(id, { name: `Agent ${n}` }));
    const tasks: { id: string; assignee: string; gone: boolean }[] = [];
    for (let n = 0; n < TASKS; n++) {
      const assignee = agents[n % AGENTS]!;
      tasks.push({ id: await office.task(id, { title: `Task ${n}`, assignee_agent_instance_id: assignee }), assignee, gone: false });
    }
    const tenant = new Tenant(id, agents, tasks);
    for (const agent of agents) tenant.model.agent(agent);
    return tenant;
  }

  async check(): Promise<void> {
    const expected = this.model.ids();
    const items = await office.inbox(this.id);
    const sidebar = await office.must<{ inbox: number; agents: { agent_id: string; open_failures: number }[] }>(
      `GET /workspaces/${this.id}/sidebar`,
    );
    assert.deepEqual(items.map(({ id }) => id).sort(), expected);
    assert.deepEqual(await office.count(this.id), expected.length);
    assert.deepEqual(sidebar.inbox, expected.length);
    for (const { agent_id, open_failures } of sidebar.agents) assert.deepEqual(open_failures, this.model.errorsOf(agent_id));
    const told = openByEvents(await office.told(this.id));
    assert.deepEqual([...told.keys()].sort(), expected);
    for (const { id, title } of items) assert.deepEqual(told.get(id), title);
  }
}

interface Step {
  readonly what: 'work' | 'comment' | 'dismiss' | 'dismiss elsewhere' | 'reassign' | 'unpause' | 'pause' | 'resume' | 'delete';
  readonly tenant: number;
  readonly person: number;
  readonly task: number;
  readonly agent: number;
  readonly fails: number;
}

const aStep: fc.Arbitrary<Step> = fc.record({
  what: fc.oneof(
    { weight: 6, arbitrary: fc.constant('work' as const) },
    { weight: 4, arbitrary: fc.constantFrom('comment' as const, 'dismiss' as const) },
    { weight: 1, arbitrary: fc.constantFrom('dismiss elsewhere', 'reassign', 'unpause', 'pause', 'resume', 'delete') },
  ) as fc.Arbitrary<Step['what']>,
  tenant: fc.nat({ max: 1 }),
  person: fc.nat({ max: 1 }),
  task: fc.nat({ max: TASKS - 1 }),
  agent: fc.nat({ max: AGENTS - 1 }),
  /** Bit n: the nth run claimed fails. */
  fails: fc.nat({ max: 255 }),
});

async function take(step: Step, tenants: readonly Tenant[]): Promise<void> {
  const tenant = tenants[step.tenant]!;
  const token = people[step.person]!;
  const { model } = tenant;
  const task = tenant.tasks[step.task]!;
  const agent = tenant.agents[step.agent]!;
  switch (step.what) {
    case 'work': {
      for (const [n, run] of (await office.start(tenant.id)).entries()) {
        const pair = { agentId: run.agentId, taskId: run.taskId! };
        if ((step.fails >> n) % 2 === 1) {
          await office.complete(run);
          model.completed(pair);
        } else {
          await office.fail(run);
          const { id } = await office.row<{ id: string }>(`select current_pause_id as id from agent_instances where id = $1`, run.agentId);
          model.failed(run.runId, pair, id);
        }
      }
      return;
    }
    case 'comment':
      if ((await office.ask(`POST /tasks/${task.id}/comments`, { body: 'Go on.' }, token)).status === 201)
        model.dealtWith({ agentId: task.assignee, taskId: task.id });
      return;
    case 'dismiss': {
      const items = await office.inbox(tenant.id);
      const item = items[step.task % Math.max(1, items.length)];
      if (item === undefined) return;
      const pair = model.open.get(item.id);
      if (pair !== undefined) {
        assert.deepEqual((await office.dismiss(tenant.id, item.id, token)).status, 200);
        model.dealtWith(pair);
      } else {
        const fixed = model.pauseFixed(item.agent_id!);
        assert.deepEqual((await office.dismiss(tenant.id, item.id, token)).status, fixed ? 200 : 409);
      }
      return;
    }
    case 'dismiss elsewhere': {
      const [item] = await office.inbox(tenant.id);
      if (item !== undefined) assert.deepEqual((await office.dismiss(tenants[1 - step.tenant]!.id, item.id, token)).status, 404);
      return;
    }
    case 'reassign':
      if (task.gone || task.assignee === agent) return;
      await office.must(`PATCH /tasks/${task.id}`, { assignee_agent_instance_id: agent }, token);
      model.dealtWith({ agentId: task.assignee, taskId: task.id });
      task.assignee = agent;
      return;
    case 'unpause':
      await office.must(`POST /agents/${agent}/unpause`, undefined, token);
      model.unpaused(agent);
      return;
    case 'pause':
      await office.must(`POST /agents/${agent}/pause`, {}, token);
      model.pausedByPerson(agent);
      return;
    case 'resume': {
      const [session] = await office.rows<{ id: string; state: string }>(
        `select id, state from task_sessions where task_id = $1 and agent_id = $2 order by id desc limit 1`,
        task.id,
        task.assignee,
      );
      if (session === undefined || task.gone) return;
      const resumed = await office.ask(`POST /tasks/${task.id}/sessions/${session.id}/resume`, undefined, token);
      assert.deepEqual(resumed.status, session.state === 'FAILED' ? 202 : 409);
      if (session.state === 'FAILED') model.dealtWith({ agentId: task.assignee, taskId: task.id });
      return;
    }
    case 'delete':
      if (task.gone) return;
      await office.must(`DELETE /tasks/${task.id}`, undefined, token);
      model.taskGone(task.id);
      task.gone = true;
  }
}

it(
  'is what a plain model says, in list, count, badges and events, after every step anybody takes',
  { timeout: FULL ? 1_800_000 : 120_000 },
  async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(aStep, { minLength: 10, maxLength: FULL ? 60 : 25, size: 'max' }), async (steps) => {
        const tenants = [await Tenant.open(), await Tenant.open()];
        for (const step of steps) {
          await take(step, tenants);
          await tenants[step.tenant]!.check();
        }
        for (const tenant of tenants) await tenant.check();
      }),
      { numRuns: FULL ? 150 : 6, endOnFailure: !FULL },
    );
  },
);
