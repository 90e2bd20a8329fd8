import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Tx } from '../../../src/platform/database/tx.js';
import { newId } from '../../../src/platform/ids.js';
import type { MoveCause, SessionState } from '../../../src/sessions/domain/session-state.js';
import { isOver, mayMove, SESSION_STATES } from '../../../src/sessions/domain/session-state.js';
import { SessionService } from '../../../src/sessions/session.service.js';
import type { MoveDetails } from '../../../src/sessions/session.service.js';
import { aWorkspace } from '../../support/front-desk.js';
import { gate, lockWaits } from '../../support/gate.js';
import { aTask, anAgent, openRooms } from '../../support/office-rooms.js';
import type { OfficeRooms } from '../../support/office-rooms.js';

let office: OfficeRooms;
let sessions: SessionService;
let workspaceId: string;
let agentId: string;
let taskId: string;

beforeAll(async () => {
  office = await openRooms();
  sessions = office.app.get(SessionService, { strict: false });
});
beforeEach(async () => {
  workspaceId = await aWorkspace(office);
  agentId = await anAgent(office, workspaceId);
  taskId = await aTask(office, workspaceId);
  await office.told(workspaceId);
});
afterAll(() => office.close());

const inTx = <T>(work: (tx: Tx) => Promise<T>): Promise<T> => office.unitOfWork.run(workspaceId, work);
const pair = () => ({ taskId, agentId });
const open = (adapter = 'mock') => inTx((tx) => sessions.openForPair(tx, workspaceId, { ...pair(), adapter }));
const rowOf = async (id: string) => (await office.rows<Record<string, unknown>>(`select * from task_sessions where id = $1`, [id]))[0]!;
const put = async (state: SessionState, about: Record<string, unknown> = {}): Promise<string> => {
  const id = newId();
  await office.rows(
    `insert into task_sessions (id, workspace_id, agent_id, task_id, adapter, state, acp_session_id) values ($1, $2, $3, $4, 'mock', $5, $6)`,
    [id, workspaceId, agentId, 'taskless' in about ? null : taskId, state, about['acp'] ?? null],
  );
  return id;
};
const move = (id: string, to: SessionState, details: MoveDetails = {}) =>
  inTx(async (tx) => sessions.move(tx, await sessions.lock(tx, workspaceId, id), to, details));

/** A task whose workflow is not the Office's. */
async function makeKanban(): Promise<void> {
  const workflowId = newId();
  await office.rows(`insert into workflows (id, workspace_id, name, style) values ($1, $2, 'Board', 'kanban')`, [workflowId, workspaceId]);
  await office.rows(`update tasks set workflow_id = $2 where id = $1`, [taskId, workflowId]);
}

describe('opening a session', () => {
  it('makes one for a pair that has none, and finds it again', async () => {
    const made = await open();
    expect(made).toMatchObject({
      workspace_id: workspaceId,
      task_id: taskId,
      agent_id: agentId,
      state: 'CREATED',
      adapter: 'mock',
      is_office: true,
      turns: 0,
    });
    expect(await open()).toEqual(made);
  });

  it.each(SESSION_STATES.filter((state) => !isOver(state)))('answers the one that is %s', async (state) => {
    const id = await put(state);
    expect(await open()).toMatchObject({ id, state });
  });

  it.each(SESSION_STATES.filter(isOver))('makes a new one after one that is %s', async (state) => {
    const id = await put(state);
    expect((await open()).id).not.toBe(id);
  });

  it('refuses a task or an agent of another workspace', async () => {
    const elsewhere = await aWorkspace(office);
    const [foreignTask, foreignAgent] = [await aTask(office, elsewhere), await anAgent(office, elsewhere)];
    const wanted = { taskId, agentId, adapter: 'mock' };
    await expect(inTx((tx) => sessions.openForPair(tx, workspaceId, { ...wanted, taskId: foreignTask }))).rejects.toThrow(
      'task_sessions_task_exists',
    );
    await expect(inTx((tx) => sessions.openForPair(tx, workspaceId, { ...wanted, agentId: foreignAgent }))).rejects.toThrow(
      'task_sessions_agent_exists',
    );
  });

  it('makes one, however many ask at once', async () => {
    const opened = await Promise.all(Array.from({ length: 20 }, () => open()));
    expect(new Set(opened.map(({ id }) => id)).size).toBe(1);
    expect(await office.rows(`select 1 from task_sessions where task_id = $1`, [taskId])).toHaveLength(1);
  });

  it('makes a new one when the one it met ends while it waits', async () => {
    const id = await put('IDLE');
    const held = gate();
    const ending = inTx(async (tx) => {
      await sessions.retire(tx, workspaceId, pair());
      await held.pass();
    });
    await held.reached;
    const opening = open();
    await lockWaits(office);
    held.open();
    await ending;
    expect((await opening).id).not.toBe(id);
  });

  it('makes a new one when the one it met ends before it could be locked', async () => {
    const id = await put('IDLE');
    const opened = await inTx((tx) => {
      const query = tx.query.bind(tx);
      tx.query = async <Row>(sql: string, parameters?: readonly unknown[]) => {
        const rows = await query<Row>(sql, parameters);
        if (sql.startsWith('insert')) await office.rows(`update task_sessions set state = 'COMPLETED' where id = $1`, [id]);
        return rows;
      };
      return sessions.openForPair(tx, workspaceId, { ...pair(), adapter: 'mock' });
    });
    expect(opened.id).not.toBe(id);
  });

  it('begins anew when another program is to keep the conversation, and remembers the old one', async () => {
    const id = await put('IDLE', { acp: 'acp-1' });
    expect(await open('claude')).toMatchObject({ id, adapter: 'claude', acp_session_id: null });
    expect(await rowOf(id)).toMatchObject({ adapter: 'claude', acp_session_id: null, acp_session_history: ['acp-1'] });
    expect(await open('claude')).toMatchObject({ id, adapter: 'claude' });
    expect(await rowOf(id)).toMatchObject({ acp_session_history: ['acp-1'] });
  });

  it('opens many pairs at once in the order they were given', async () => {
    const tasks = [await aTask(office, workspaceId), taskId, await aTask(office, workspaceId)];
    const existing = await put('FAILED');
    const opened = await inTx((tx) =>
      sessions.openForPairs(
        tx,
        workspaceId,
        tasks.map((id) => ({ taskId: id, agentId, adapter: 'mock' })),
      ),
    );
    expect(opened.map(({ task_id }) => task_id)).toEqual(tasks);
    expect(opened[1]).toMatchObject({ id: existing, state: 'FAILED' });
  });

  it('gives every run without a task one of its own', async () => {
    const taskless = () => inTx((tx) => sessions.openTaskless(tx, workspaceId, { agentId, adapter: 'mock' }));
    const [first, second] = [await taskless(), await taskless()];
    expect(first).toMatchObject({ task_id: null, is_office: true, state: 'CREATED' });
    expect(second.id).not.toBe(first.id);
  });
});

describe('moving a session', () => {
  const causes: (MoveCause | undefined)[] = [undefined, 'run_too_old', 'recovery', 'agent_left'];

  it('goes exactly where the table lets it, for Office tasks and others', async () => {
    for (const isOffice of [true, false]) {
      if (!isOffice) await makeKanban();
      for (const from of SESSION_STATES) {
        for (const to of SESSION_STATES) {
          const cause = causes.find((each) => mayMove(from, to, isOffice, each));
          const allowed = causes.some((each) => mayMove(from, to, isOffice, each));
          const id = await put(from);
          const answer = await move(id, to, cause ? { cause } : {}).catch((error: unknown) => error);
          expect(answer).toMatchObject(allowed ? { id, state: to } : { code: 'illegal_transition', facts: { from, to } });
          expect((await rowOf(id))['state']).toBe(allowed ? to : from);
          await office.rows(`delete from task_sessions where id = $1`, [id]);
        }
      }
    }
  });

  it('refuses when somebody else was first', async () => {
    const id = await put('STARTING');
    const stale = await inTx((tx) => sessions.lock(tx, workspaceId, id));
    await move(id, 'RUNNING');
    await office.told(workspaceId);
    await expect(inTx((tx) => sessions.move(tx, stale, 'CANCELLED'))).rejects.toMatchObject({ code: 'stale_write' });
    expect([(await rowOf(id))['state'], await office.told(workspaceId)]).toEqual(['RUNNING', []]);
  });

  it('tells each move once, counts turns, and dates the end', async () => {
    const id = await put('CREATED');
    await move(id, 'STARTING');
    await move(id, 'RUNNING', { acpSessionId: 'acp-1' });
    await move(id, 'IDLE');
    expect(await rowOf(id)).toMatchObject({ turns: 1, acp_session_id: 'acp-1', acp_session_history: [], ended_at: null });
    await move(id, 'RUNNING', { acpSessionId: 'acp-2' });
    expect(await rowOf(id)).toMatchObject({ turns: 2, acp_session_id: 'acp-2', acp_session_history: ['acp-1'] });
    await move(id, 'COMPLETED');
    expect(await rowOf(id)).toMatchObject({ ended_at: expect.any(Date) });
    expect((await office.told(workspaceId)).map(([action, payload]) => [action, payload['state']])).toEqual(
      ['STARTING', 'RUNNING', 'IDLE', 'RUNNING', 'COMPLETED'].map((state) => ['office.task.session.updated', state]),
    );
  });

  it('keeps the whole error while it is failed, tells 4 KiB of it, and forgets it afterwards', async () => {
    const id = await put('RUNNING');
    const payload = `\u0000\ud800${'é'.repeat(200_000)}`;
    await move(id, 'FAILED', { errorMessage: payload });
    expect((await rowOf(id))['error_message']).toBe(`\uFFFD\uFFFD${'é'.repeat(200_000)}`);
    const [[, told]] = (await office.told(workspaceId)) as [[string, Record<string, unknown>]];
    expect(told).toEqual({ session_id: id, task_id: taskId, state: 'FAILED', error_message: `\uFFFD\uFFFD${'é'.repeat(2_045)}` });
    await inTx((tx) => sessions.recoverFailed(tx, workspaceId, pair()));
    expect(await rowOf(id)).toMatchObject({ state: 'IDLE', error_message: null });
  });

  it('rests where its task lets it', async () => {
    const rest = async (id: string) => inTx(async (tx) => sessions.rest(tx, await sessions.lock(tx, workspaceId, id)));
    const office1 = await put('RUNNING');
    expect((await rest(office1)).state).toBe('IDLE');
    await makeKanban();
    await office.rows(`update task_sessions set state = 'RUNNING' where id = $1`, [office1]);
    expect((await rest(office1)).state).toBe('WAITING_FOR_INPUT');
    expect((await rest(await put('RUNNING', { taskless: true }))).state).toBe('IDLE');
  });
});

describe('recovering', () => {
  const recover = () => inTx((tx) => sessions.recoverFailed(tx, workspaceId, pair()));

  it.each(SESSION_STATES.filter((state) => state !== 'FAILED'))('leaves a session that is %s', async (state) => {
    const id = await put(state);
    expect([await recover(), (await rowOf(id))['state'], await office.told(workspaceId)]).toEqual([null, state, []]);
  });

  it('happens once, however many ask at once', async () => {
    const id = await put('FAILED', { acp: 'acp-1' });
    const answers = await Promise.all(Array.from({ length: 10 }, recover));
    expect(answers.filter((answer) => answer !== null)).toMatchObject([{ id, state: 'IDLE', acp_session_id: 'acp-1' }]);
    expect(await office.told(workspaceId)).toHaveLength(1);
  });
});

describe('retiring', () => {
  const retire = () => inTx((tx) => sessions.retire(tx, workspaceId, pair()));

  it.each<[SessionState, string, SessionState]>([
    ['CREATED', 'retired', 'CANCELLED'],
    ['STARTING', 'live', 'STARTING'],
    ['RUNNING', 'live', 'RUNNING'],
    ['IDLE', 'retired', 'COMPLETED'],
    ['WAITING_FOR_INPUT', 'retired', 'COMPLETED'],
    ['FAILED', 'retired', 'COMPLETED'],
    ['COMPLETED', 'none', 'COMPLETED'],
    ['CANCELLED', 'none', 'CANCELLED'],
  ])('a session that is %s answers %s and leaves it %s', async (from, answer, then) => {
    const id = await put(from);
    expect(await retire()).toBe(answer);
    const row = await rowOf(id);
    expect([row['state'], row['ended_at'] !== null]).toEqual([then, answer === 'retired']);
  });

  it('of a pair without any does nothing', async () => {
    expect([await retire(), await office.told(workspaceId)]).toEqual(['none', []]);
  });
});
