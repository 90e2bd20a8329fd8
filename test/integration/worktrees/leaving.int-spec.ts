import { existsSync } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { newId } from '../../../src/platform/ids.js';
import type { ClaimedRun } from '../../../src/runs/claim.js';
import { aPerson } from '../../support/front-desk.js';
import { aRepository, commitIn, git, writeIn } from '../../support/git-folder.js';
import { WorktreeOffice } from '../../support/worktree-office.js';

let office: WorktreeOffice;
let workspaceId: string;
let path: string;
beforeAll(async () => {
  office = await WorktreeOffice.open();
});
afterAll(() => office.close());
beforeEach(async () => {
  await office.app.rows(`delete from task_folders`);
  workspaceId = await office.workspace();
  path = await aRepository(join(office.root, newId()), { 'README.md': 'Doors\n', '.gitignore': 'ignored/\n' });
});

interface AtWork {
  readonly agentId: string;
  readonly taskId: string;
  readonly run: ClaimedRun;
}

async function atWork(): Promise<AtWork> {
  const registered = await office.app.rows<{ id: string }>(`select id from repositories where workspace_id = $1`, [workspaceId]);
  const pair = await office.task(workspaceId, { repository_id: registered[0]?.id ?? (await office.register(workspaceId, path)) });
  return { ...pair, run: await office.worked(workspaceId, pair.taskId) };
}

const finish = (taskId: string): Promise<unknown> => office.must(`PATCH /tasks/${taskId}`, { state: 'DONE' });
const worktrees = async (): Promise<{ uncommitted: number | null; unpushed: number | null; state: string }[]> =>
  (await office.must<{ items: [] }>(`GET /workspaces/${workspaceId}/worktrees`)).items;
const discard = (taskId: string, body: object = {}) => office.ask(`POST /tasks/${taskId}/worktree/discard`, body);

/** Things an agent may leave behind that are nowhere else, and what is said of them. */
const WORK: readonly [string, (run: ClaimedRun) => Promise<unknown>, { uncommitted: number; unpushed: number }][] = [
  ['a new file', ({ folder }) => writeIn(folder, { 'new.txt': 'x\n' }), { uncommitted: 1, unpushed: 0 }],
  ['a change', ({ folder }) => writeIn(folder, { 'README.md': 'Windows\n' }), { uncommitted: 1, unpushed: 0 }],
  ['a deletion', ({ folder }) => rm(join(folder, 'README.md')), { uncommitted: 1, unpushed: 0 }],
  ['a commit', ({ folder }) => commitIn(folder, { 'new.txt': 'x\n' }), { uncommitted: 0, unpushed: 1 }],
  [
    'a new file and without its .git',
    async ({ folder }) => {
      await writeIn(folder, { 'new.txt': 'x\n' });
      await rm(join(folder, '.git'));
    },
    { uncommitted: 1, unpushed: 0 },
  ],
  [
    'a commit on no branch',
    async ({ folder }) => {
      await git(folder, 'switch', '-q', '--detach');
      await commitIn(folder, { 'new.txt': 'x\n' });
    },
    { uncommitted: 0, unpushed: 1 },
  ],
  [
    'a commit on a branch of its own',
    async ({ folder }) => {
      await git(folder, 'switch', '-q', '-c', 'mine');
      await commitIn(folder, { 'new.txt': 'x\n' });
    },
    { uncommitted: 0, unpushed: 1 },
  ],
  [
    'a merge in its middle',
    async ({ folder }) => {
      await commitIn(path, { 'theirs.txt': 'x\n' });
      await git(folder, 'merge', '-q', '--no-commit', '--no-ff', 'main');
      await git(folder, 'reset', '-q', '--soft', 'HEAD').catch(() => undefined);
    },
    { uncommitted: 2, unpushed: 0 },
  ],
];

describe('a worktree whose task is done', () => {
  it('is removed with its branch when there is nothing in it', async () => {
    const { taskId, run } = await atWork();
    await writeIn(run.folder, { 'ignored/cache': 'x' });
    await office.keeper.tidy();
    expect(await worktrees()).toHaveLength(1);
    await finish(taskId);
    await office.keeper.tidy();
    expect(await worktrees()).toEqual([]);
    expect(existsSync(run.folder)).toBe(false);
    expect(await git(path, 'branch', '--list', 'office/*')).toBe('');
    expect(await git(path, 'worktree', 'list', '--porcelain')).not.toContain(taskId);
    expect((await office.must(`GET /sessions/${run.sessionId}`)).executor).toBeNull();
  });

  it.each(WORK)('is kept with %s in it, and says so', async (_, leave, holds) => {
    const { taskId, run } = await atWork();
    await leave(run);
    await finish(taskId);
    await office.keeper.tidy();
    expect(await worktrees()).toMatchObject([{ ...holds, state: 'ready' }]);
    expect(existsSync(run.folder)).toBe(true);
    expect(await discard(taskId)).toMatchObject({ status: 409, body: { code: 'worktree_not_clean', ...holds } });
    expect(existsSync(run.folder)).toBe(true);
  });

  it('goes once its work has been merged, or pushed', async () => {
    const merged = await atWork();
    await commitIn(merged.run.folder, { 'merged.txt': 'x\n' });
    const pushed = await atWork();
    await commitIn(pushed.run.folder, { 'pushed.txt': 'x\n' });
    for (const { taskId } of [merged, pushed]) await finish(taskId);
    await office.keeper.tidy();
    expect(await worktrees()).toHaveLength(2);
    await git(path, 'merge', '-q', 'office/OFF-1');
    const remote = join(office.root, `${newId()}.git`);
    await git(office.root, 'init', '-q', '--bare', remote);
    await git(path, 'remote', 'add', 'origin', remote);
    await office.must(`POST /tasks/${pushed.taskId}/worktree/push`, {});
    await office.app.rows(`update task_folders set checked_at = now() - interval '1 hour'`);
    await office.keeper.tidy();
    expect(await worktrees()).toEqual([]);
    expect(await git(remote, 'ls-tree', '--name-only', 'office/OFF-2')).toContain('pushed.txt');
  });

  it('is kept while other repositories lie in it', async () => {
    const inner = await aRepository(join(office.root, newId()));
    await git(path, '-c', 'protocol.file.allow=always', 'submodule', '--quiet', 'add', inner, 'inner');
    await git(path, 'commit', '-q', '-m', 'With an inner one');
    const { taskId, run } = await atWork();
    await git(run.folder, '-c', 'protocol.file.allow=always', 'submodule', '--quiet', 'update', '--init');
    await commitIn(join(run.folder, 'inner'), { 'deep.txt': 'x\n' });
    await finish(taskId);
    await office.keeper.tidy();
    const [kept] = await worktrees();
    expect(kept!.uncommitted).toBeGreaterThan(0);
    await office.must(`POST /tasks/${taskId}/worktree/discard`, { lose_work: true });
    expect(existsSync(run.folder)).toBe(false);
  });

  it('is left alone when the task is opened again meanwhile, or a run is under way', async () => {
    const { agentId, taskId, run } = await atWork();
    await finish(taskId);
    await office.must(`PATCH /tasks/${taskId}`, { state: 'TODO' });
    await office.keeper.tidy();
    expect(existsSync(run.folder)).toBe(true);
    await office.wake(agentId, taskId);
    const next = await office.prepared(workspaceId, taskId);
    await finish(taskId);
    await office.keeper.tidy();
    expect(existsSync(run.folder)).toBe(true);
    expect(await discard(taskId, { lose_work: true })).toMatchObject({ status: 409, body: { code: 'task_busy' } });
    await office.end(next);
    await office.keeper.tidy();
    expect(existsSync(run.folder)).toBe(false);
  });
});

describe('deleting a task', () => {
  it('keeps its unpushed work, within reach of push and discard', async () => {
    const { taskId, run } = await atWork();
    const commit = await commitIn(run.folder, { 'new.txt': 'x\n' });
    expect((await office.ask(`DELETE /tasks/${taskId}`)).status).toBe(204);
    await office.keeper.tidy();
    expect(existsSync(join(run.folder, 'new.txt'))).toBe(true);
    expect(await worktrees()).toMatchObject([{ task: { id: taskId, title: '', deleted: true }, unpushed: 1 }]);
    const remote = join(office.root, `${newId()}.git`);
    await git(office.root, 'init', '-q', '--bare', remote);
    await git(path, 'remote', 'add', 'backup', remote);
    expect(await office.must(`POST /tasks/${taskId}/worktree/push`, { remote: 'backup' })).toEqual({
      remote: 'backup',
      branch: 'office/OFF-1',
      commit,
    });
    expect(await discard(taskId)).toMatchObject({ status: 200, body: { branch: 'office/OFF-1', commit } });
    expect(await worktrees()).toEqual([]);
  });
});

describe('discarding a worktree', () => {
  it('is for admins, loses work only when told to, and says how to get it back', async () => {
    const { taskId, run } = await atWork();
    const commit = await commitIn(run.folder, { 'new.txt': 'x\n' });
    const member = await aPerson(office.app);
    await office.must(`PUT /workspaces/${workspaceId}/members/${member.id}`, { role: 'member' });
    expect((await office.ask(`POST /tasks/${taskId}/worktree/discard`, { lose_work: true }, member.token)).status).toBe(403);
    expect(await discard(taskId)).toMatchObject({ status: 409, body: { uncommitted: 0, unpushed: 1 } });
    expect(await discard(taskId, { lose_work: true })).toMatchObject({ status: 200, body: { branch: 'office/OFF-1', commit } });
    expect(await git(path, 'branch', '--list', 'office/*')).toBe('');
    expect(await git(path, 'cat-file', '-t', commit)).toBe('commit');
    expect((await discard(taskId)).status).toBe(404);
  });

  it('lets the next run make a new one, in the same conversation', async () => {
    const { agentId, taskId, run } = await atWork();
    await office.must(`POST /tasks/${taskId}/worktree/discard`, {});
    await commitIn(path, { 'later.txt': 'x\n' });
    await office.wake(agentId, taskId);
    const next = await office.prepared(workspaceId, taskId);
    expect(next.acpSessionId).toBe(`acp-${run.sessionId}`);
    expect(next.folder).toBe(run.folder);
    expect(await git(next.folder, 'ls-files')).toContain('later.txt');
  });

  it('needs to be told where nobody can say what is in it', async () => {
    const { taskId, run } = await atWork();
    await rename(path, `${path}.gone`);
    expect(await discard(taskId)).toMatchObject({ status: 409, body: { code: 'worktree_not_clean', uncommitted: null } });
    expect(await discard(taskId, { lose_work: true })).toMatchObject({ status: 200, body: { commit: null } });
    expect(existsSync(run.folder)).toBe(false);
  });

  it('happens on the host that has it', async () => {
    const { taskId } = await atWork();
    const away = newId();
    await office.app.rows(`insert into hosts (id, boot_id, name, adapters, max_executions) values ($1, $2, 'away', '{mock}', 10)`, [
      away,
      newId(),
    ]);
    await office.app.rows(`update task_folders set host_id = $1`, [away]);
    for (const route of [`POST /tasks/${taskId}/worktree/discard`, `POST /tasks/${taskId}/worktree/push`]) {
      expect(await office.ask(route, {})).toMatchObject({ status: 409, body: { code: 'host_offline', host_id: away } });
    }
    expect((await office.ask(`GET /tasks/${taskId}/changes`)).status).toBe(409);
  });

  it.each([
    ['nothing is gone yet', async () => undefined, true],
    ['the folder has left its place', async (run: ClaimedRun) => rename(run.folder, `${run.folder}.leaving`), false],
    ['the folder is gone', async (run: ClaimedRun) => rm(run.folder, { recursive: true }), false],
  ])('cut short when %s is finished, or called off, by the next process', async (_, leave, stays) => {
    const { agentId, taskId, run } = await atWork();
    await commitIn(run.folder, { 'new.txt': 'x\n' });
    await office.app.rows(`update task_folders set removing_at = now() where task_id = $1`, [taskId]);
    await leave(run);
    await office.wake(agentId, taskId);
    const { items } = await office.must<{ items: { waiting_on: string }[] }>(
      `GET /workspaces/${workspaceId}/runs?task_id=${taskId}&limit=1`,
    );
    expect(items[0]!.waiting_on).toBe('task_busy');
    expect((await office.claim(workspaceId)).claimed).toEqual([]);
    await office.keeper.tidy();
    expect(existsSync(`${run.folder}.leaving`)).toBe(false);
    expect(await worktrees()).toHaveLength(stays ? 1 : 0);
    // Whatever was committed is never lost by it.
    expect(await git(path, 'log', '--format=%s', '-n', '1', 'office/OFF-1')).toBe('Change');
    const next = await office.prepared(workspaceId, taskId);
    expect(await git(next.folder, 'branch', '--show-current')).toBe(stays ? 'office/OFF-1' : 'office/OFF-1-2');
  });
});

describe('pushing', () => {
  it('says what git said when it cannot, without passwords, and never forces', async () => {
    const { taskId, run } = await atWork();
    const push = (body: object = {}) => office.ask(`POST /tasks/${taskId}/worktree/push`, body);
    expect(await push()).toMatchObject({ status: 409, body: { code: 'push_failed', problem: 'the repository has no remote origin' } });
    await git(path, 'remote', 'add', 'origin', 'https://pat:hush@127.0.0.1:1/x.git');
    const refused = await push();
    expect(refused.status).toBe(409);
    expect(refused.text).not.toContain('hush');
    const remote = join(office.root, `${newId()}.git`);
    await git(office.root, 'clone', '-q', '--bare', path, remote);
    await git(path, 'remote', 'set-url', 'origin', remote);
    const theirs = await commitIn(path, { 'theirs.txt': 'x\n' });
    await git(path, 'push', '-q', 'origin', `${theirs}:refs/heads/office/OFF-1`);
    await commitIn(run.folder, { 'ours.txt': 'x\n' });
    expect(await push()).toMatchObject({
      status: 409,
      body: { code: 'push_failed', problem: expect.stringContaining('rejected') as string },
    });
    expect(await git(remote, 'rev-parse', 'office/OFF-1')).toBe(theirs);
    expect((await push({ remote: '--receive-pack=x' })).status).toBe(400);
  });
});
