import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { newId } from '../../../src/platform/ids.js';
import type { TaskMover, TaskState } from '../../../src/tasks/domain/task-state.js';
import { TaskService } from '../../../src/tasks/task.service.js';
import { aWorkspace } from '../../support/front-desk.js';
import { aTask, openRooms } from '../../support/office-rooms.js';
import type { OfficeRooms } from '../../support/office-rooms.js';

let office: OfficeRooms;
let workspaceId: string;
let tasks: TaskService;

beforeAll(async () => {
  office = await openRooms();
  tasks = office.app.get(TaskService, { strict: false });
});
beforeEach(async () => void (workspaceId = await aWorkspace(office)));
afterAll(() => office.close());

const put = async (state: TaskState, reviewAfterFailure = false): Promise<string> => {
  const id = await aTask(office, workspaceId);
  await office.rows(`update tasks set state = $2, review_after_failure = $3 where id = $1`, [id, state, reviewAfterFailure]);
  await office.told(workspaceId);
  return id;
};
const move = (id: string, to: TaskState, by: Exclude<TaskMover, 'person' | 'agent'>) =>
  office.unitOfWork.run(workspaceId, async (tx) => tasks.moveState(tx, await tasks.lock(tx, workspaceId, id), to, by));
const now = async (id: string) =>
  (await office.rows<Record<string, unknown>>(`select state, review_after_failure from tasks where id = $1`, [id]))[0]!;

describe('TaskService', () => {
  it('finds no task of another workspace, none that was deleted and none that never was', async () => {
    const id = await aTask(office, workspaceId);
    const foreign = await aTask(office, await aWorkspace(office));
    await office.ask(`DELETE /api/v1/tasks/${id}`, { token: office.adminToken });
    for (const missing of [id, foreign, newId()]) {
      await expect(office.unitOfWork.run(workspaceId, (tx) => tasks.lock(tx, workspaceId, missing))).rejects.toMatchObject({
        code: 'not_found',
      });
    }
  });

  it.each<[TaskState, boolean, TaskState, Exclude<TaskMover, 'person' | 'agent'>]>([
    ['DONE', false, 'IN_PROGRESS', 'claim'],
    ['CANCELLED', false, 'REVIEW', 'failure'],
    ['DONE', false, 'REVIEW', 'failure'],
    ['REVIEW', false, 'IN_PROGRESS', 'claim'],
    ['BLOCKED', false, 'IN_PROGRESS', 'claim'],
    ['REVIEW', false, 'REVIEW', 'failure'],
  ])('leaves a task in %s (after a failure: %s) out of %s by a %s, and tells nothing', async (from, flag, to, by) => {
    const id = await put(from, flag);
    expect(await move(id, to, by)).toBe(false);
    expect([await now(id), await office.told(workspaceId)]).toEqual([{ state: from, review_after_failure: flag }, []]);
  });

  it.each<[TaskState, boolean, TaskState, Exclude<TaskMover, 'person' | 'agent'>, boolean]>([
    ['TODO', false, 'IN_PROGRESS', 'claim', false],
    ['REVIEW', true, 'IN_PROGRESS', 'claim', false],
    ['IN_PROGRESS', false, 'REVIEW', 'failure', true],
    ['BLOCKED', false, 'REVIEW', 'failure', true],
  ])('takes a task from %s (after a failure: %s) to %s by a %s and tells it', async (from, flag, to, by, flagThen) => {
    const id = await put(from, flag);
    expect(await move(id, to, by)).toBe(true);
    expect(await now(id)).toEqual({ state: to, review_after_failure: flagThen });
    expect(await office.told(workspaceId)).toEqual([['office.task.updated', { task_id: id, fields: ['state'] }]]);
  });
});
