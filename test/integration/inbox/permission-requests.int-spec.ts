import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { PermissionRequests, type AskedPermission, type Opened } from '../../../src/inbox/permission-requests.service.js';
import { newId } from '../../../src/platform/ids.js';
import type { Tx } from '../../../src/platform/database/tx.js';
import type { ClaimedRun } from '../../../src/runs/claim.js';
import { aPerson, type SomePerson } from '../../support/front-desk.js';
import { openByEvents, RecoveryOffice } from '../../support/recovery-office.js';

let office: RecoveryOffice;
let requests: PermissionRequests;
let member: SomePerson;
let ws: string;
let run: ClaimedRun;

beforeAll(async () => {
  office = await RecoveryOffice.open();
  requests = office.app.app.get(PermissionRequests, { strict: false });
  member = await aPerson(office.app, { name: 'Mel', scopes: ['admin'] });
});
afterAll(() => office.close());
beforeEach(async () => {
  ws = await office.workspace({ agent_failure_threshold: 10 });
  await office.must(`PUT /workspaces/${ws}/members/${member.id}`, { role: 'member' });
  run = await aRun(await office.agent(ws, { name: 'Ada' }));
});

const aRun = async (agentId: string): Promise<ClaimedRun> =>
  office.startPair(ws, agentId, await office.task(ws, { assignee_agent_instance_id: agentId }));
const inTx = <T>(work: (tx: Tx) => Promise<T>): Promise<T> => office.app.unitOfWork.run(ws, work);
const asked = (subject = 'touch a'): AskedPermission => ({
  requestId: newId(),
  title: subject,
  kind: 'execute',
  input: JSON.stringify({ command: subject }),
  subject,
});
const open = (of: ClaimedRun, request = asked(), waitSec = 1_800): Promise<Opened> => inTx((tx) => requests.open(tx, of, request, waitSec));
/** A request that waits; its id. */
async function waiting(of = run, subject?: string, waitSec?: number): Promise<string> {
  const request = asked(subject);
  expect(await open(of, request, waitSec)).toBe('opened');
  return request.requestId;
}
const answer = (itemId: string, decision: string, token?: string, workspace = ws) =>
  office.ask(`POST /workspaces/${workspace}/inbox/items/${itemId}/answer`, { decision }, token);
const rowOf = (id: string) =>
  office.row<{ decision: string | null; decided_by: string | null; closed: boolean }>(
    `select decision, decided_by, closed_at is not null as closed from permission_requests where id = $1`,
    id,
  );
const told = async (id: string): Promise<string[]> =>
  (await office.told(ws)).filter(({ item_id }) => item_id === id).map(({ change }) => change);

describe('a permission request that waits for a person', () => {
  it('is an item that says what is asked, by whom and until when', async () => {
    const id = await waiting();
    const { items } = await office.must<{ items: object[] }>(`GET /workspaces/${ws}/inbox`);
    const task = await office.row<{ identifier: string }>(`select identifier from tasks where id = $1`, run.taskId);
    expect(items).toEqual([
      expect.objectContaining({
        id,
        kind: 'permission_request',
        title: `Ada asks on ${task.identifier}: touch a`,
        agent_id: run.agentId,
        run_id: run.runId,
        task_ids: [run.taskId],
        actions: ['allow_once', 'allow_always', 'deny'],
        resolved: null,
        permission: {
          title: 'touch a',
          tool_kind: 'execute',
          input: '{"command":"touch a"}',
          expires_at: expect.stringMatching(/^\d{4}-.*Z$/),
          decision: null,
        },
      }),
    ]);
    expect(await office.count(ws)).toBe(1);
    expect(await told(id)).toEqual(['opened']);
  });

  it('is answered once: the same again says so, another is a conflict', async () => {
    const id = await waiting();
    expect(await answer(id, 'allow_once', member.token)).toMatchObject({
      status: 200,
      body: { item_id: id, decision: 'allow_once', already_answered: false },
    });
    expect(await answer(id, 'allow_once')).toMatchObject({ status: 200, body: { already_answered: true } });
    expect(await answer(id, 'deny')).toMatchObject({ status: 409, body: { code: 'permission_answered', decision: 'allow_once' } });
    expect(await rowOf(id)).toEqual({ decision: 'allow_once', decided_by: member.id, closed: true });
    expect(await office.count(ws)).toBe(0);
    expect(await office.inbox(ws, 'resolved')).toMatchObject([
      { id, resolved: { by: { name: 'Mel' } }, permission: { decision: 'allow_once' } },
    ]);
    expect(await told(id)).toEqual(['opened', 'resolved']);
    const { items } = await office.must<{ items: { event_type: string; payload: object }[] }>(`GET /runs/${run.runId}/events`);
    expect(items.map(({ event_type }) => event_type)).toEqual(['permission.requested', 'permission.answered']);
    expect(items[1]!.payload).toMatchObject({ request_id: id, decision: 'allow_once', by: member.id });
  });

  it('is not there for others, nor for what is no answer, and is not marked fixed', async () => {
    const id = await waiting();
    expect(await answer(newId(), 'deny')).toMatchObject({ status: 404, body: { code: 'not_found' } });
    expect(await answer(id, 'deny', undefined, await office.workspace())).toMatchObject({ status: 404 });
    expect(await answer(id, 'yes')).toMatchObject({ status: 400, body: { fields: [{ path: 'decision' }] } });
    expect(await office.dismiss(ws, id)).toMatchObject({ status: 409, body: { code: 'item_not_fixable' } });
    expect(await rowOf(id)).toMatchObject({ closed: false });
  });

  it('is allowed for good by admins only, for this agent and exactly this', async () => {
    const id = await waiting(run, 'touch a');
    expect(await answer(id, 'allow_always', member.token)).toMatchObject({ status: 403, body: { code: 'forbidden' } });
    expect(await rowOf(id)).toMatchObject({ closed: false });
    expect(await answer(id, 'allow_always')).toMatchObject({ status: 200 });
    expect(await open(run, asked('touch a'))).toBe('granted');
    expect(await open(run, asked('touch b'))).toBe('opened');
    const [later, other] = [await aRun(run.agentId), await aRun(await office.agent(ws, { name: 'Eve' }))];
    expect(await open(later, asked('touch a'))).toBe('granted');
    expect(await open(other, asked('touch a'))).toBe('opened');
  });

  it.each([
    ['completes', (of: ClaimedRun) => office.complete(of)],
    ['fails', (of: ClaimedRun) => office.fail(of)],
    ['is interrupted', (of: ClaimedRun) => office.interrupt(of)],
  ])('goes when its run %s', async (_how, settle) => {
    const id = await waiting();
    await settle(run);
    expect(await rowOf(id)).toEqual({ decision: null, decided_by: null, closed: true });
    expect(await told(id)).toEqual(['opened', 'resolved']);
    expect(await answer(id, 'allow_once')).toMatchObject({ status: 409, body: { code: 'permission_gone' } });
    expect(await open(run)).toBe('refused');
    expect((await office.inbox(ws, 'resolved')).find((item) => item.id === id)).toMatchObject({ resolved: { by: { name: 'system' } } });
  });

  it('is not granted to a run that is being stopped, nor taken from one that is not ours', async () => {
    const id = await waiting();
    await office.must(`POST /runs/${run.runId}/cancel`);
    expect(await answer(id, 'allow_once')).toMatchObject({ status: 409, body: { code: 'permission_gone' } });
    expect(await open(run)).toBe('refused');
    const other = await aRun(await office.agent(ws));
    expect(await open({ ...other, generation: other.generation - 1 })).toBe('refused');
  });

  it('is denied when its time is over, not before, and then nobody can allow it', async () => {
    const early = await waiting();
    expect(await inTx((tx) => requests.expire(tx, early))).toBe(false);
    const late = await waiting(run, 'touch b', 0);
    expect(await answer(late, 'allow_once')).toMatchObject({ status: 409, body: { code: 'permission_gone' } });
    expect(await inTx((tx) => requests.expire(tx, late))).toBe(true);
    expect(await rowOf(late)).toEqual({ decision: 'deny', decided_by: null, closed: true });
    expect(await answer(late, 'allow_once')).toMatchObject({ status: 409, body: { code: 'permission_answered', decision: 'deny' } });
  });

  it('is not asked again when the answer to asking was lost', async () => {
    const request = asked();
    expect(await open(run, request)).toBe('opened');
    expect(await open(run, request)).toBe('opened');
    expect(await told(request.requestId)).toEqual(['opened']);
  });

  it('is refused when its run has asked more than anybody could answer', async () => {
    await office.rows(
      `insert into permission_requests (id, workspace_id, run_id, agent_id, title, subject, expires_at, closed_at)
       select gen_random_uuid(), $1, $2, $3, 'x', 'x', now(), now() from generate_series(1, 1000)`,
      ws,
      run.runId,
      run.agentId,
    );
    expect(await open(run)).toBe('refused');
  });

  it('is closed once, whoever comes first: a person, another, its time, the agent, the end of its run', async () => {
    for (let round = 0; round < 15; round++) {
      const of = await aRun(run.agentId);
      const id = await waiting(of, `round ${round}`);
      const [allowed, denied] = await Promise.all([
        answer(id, 'allow_once', member.token),
        answer(id, 'deny'),
        inTx((tx) => requests.withdraw(tx, id)),
        office.complete(of),
      ]);
      expect([allowed, denied].filter(({ status }) => status === 200).length).toBeLessThanOrEqual(1);
      const { decision, closed } = await rowOf(id);
      expect(closed).toBe(true);
      expect(decision).toBe(allowed.status === 200 ? 'allow_once' : denied.status === 200 ? 'deny' : null);
      expect(await told(id)).toEqual(['opened', 'resolved']);
    }
    openByEvents(await office.told(ws));
  });
});
