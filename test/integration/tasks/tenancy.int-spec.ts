import { afterAll, beforeAll, expect, it } from 'vitest';
import { AgentDirectory } from '../../../src/agents/agent-directory.service.js';
import { AgentSwitches } from '../../../src/agents/agent-switches.service.js';
import type { Call } from '../../../src/access/call.js';
import { newId } from '../../../src/platform/ids.js';
import { SessionDesk } from '../../../src/sessions/session-desk.service.js';
import { SessionService } from '../../../src/sessions/session.service.js';
import { CommentDesk } from '../../../src/tasks/comment-desk.service.js';
import { TaskDesk } from '../../../src/tasks/task-desk.service.js';
import { aWorkspace } from '../../support/front-desk.js';
import { aTask, anAgent, openRooms } from '../../support/office-rooms.js';
import type { OfficeRooms } from '../../support/office-rooms.js';

let office: OfficeRooms;
beforeAll(async () => void (office = await openRooms()));
afterAll(() => office.close());

it('no service finds a row by its id in another workspace, whatever the guard would have said', async () => {
  const theirs = await aWorkspace(office);
  const agent = await anAgent(office, theirs);
  const task = await aTask(office, theirs, { assignee_agent_instance_id: agent });
  const session = newId();
  await office.rows(
    `insert into task_sessions (id, workspace_id, agent_id, task_id, adapter, state) values ($1, $2, $3, $4, 'mock', 'FAILED')`,
    [session, theirs, agent, task],
  );
  const ours = await aWorkspace(office);
  const person = { userId: newId(), name: 'x', tokenId: newId(), scopes: ['admin' as const], isInstanceAdmin: true };
  const call: Call = { person, idempotency: null };
  const actor = { kind: 'user' as const, id: person.userId };
  const find = <T>(token: new (...args: never[]) => T): T => office.app.get(token, { strict: false });

  for (const attempt of [
    () => find(AgentDirectory).get(ours, agent, call),
    () => find(AgentDirectory).change(ours, agent, { name: 'x' }, call),
    () => find(AgentSwitches).pause(ours, agent, 'x'),
    () => find(AgentSwitches).archive(ours, agent),
    () => find(TaskDesk).get(ours, task),
    () => find(TaskDesk).remove(ours, task, actor),
    () => find(TaskDesk).change(ours, task, { title: 'x' }, actor),
    () => office.unitOfWork.run(ours, (tx) => find(CommentDesk).add(tx, ours, task, { body: 'x' }, actor)),
    () => find(CommentDesk).list(ours, task, { limit: 50 }),
    () => find(SessionDesk).get(ours, session),
    () => find(SessionDesk).listOfTask(ours, task, { limit: 50 }),
    () => office.unitOfWork.run(ours, (tx) => find(SessionService).lock(tx, ours, session)),
  ]) {
    await expect(attempt(), String(attempt)).rejects.toMatchObject({ code: 'not_found' });
  }
  const pair = { taskId: task, agentId: agent };
  expect(await office.unitOfWork.run(ours, (tx) => find(SessionService).recoverFailed(tx, ours, pair))).toBeNull();
  expect(await office.unitOfWork.run(ours, (tx) => find(SessionService).retire(tx, ours, pair))).toBe('none');
  expect((await find(TaskDesk).list(ours, { limit: 50, archived: false })).items).toEqual([]);
  expect((await find(AgentDirectory).list(ours, { limit: 50, archived: false })).items).toEqual([]);
});
