import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, statSync } from 'node:fs';
import { chown } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { newId } from '../../../src/platform/ids.js';
import { aFolder, aRepository, git, writeIn } from '../../support/git-folder.js';
import { WorktreeOffice } from '../../support/worktree-office.js';

const USER = { uid: 61_987, gid: 61_987 };
const isRoot = process.getuid?.() === 0;

/** Only root can be several users. */
describe.runIf(isRoot)('worktrees of a workspace with a user of its own', () => {
  let office: WorktreeOffice;
  let root: { path: string; remove(): Promise<void> };
  let workspaceId: string;
  beforeAll(async () => {
    root = await aFolder('own-user');
    mkdirSync(join(root.path, 'office'));
    for (const folder of [root.path, join(root.path, 'office')]) chmodSync(folder, 0o711);
    office = await WorktreeOffice.open({ root: root.path, dataDir: join(root.path, 'office'), account: { identity: USER, home: null } });
    workspaceId = await office.workspace();
  });
  afterAll(async () => {
    await office.close();
    await root.remove();
  });

  /** As the office lays out where agents work: its own folders to pass through. */
  const openPassages = (): void => {
    const tasks = join(root.path, 'office', 'work', workspaceId, 'tasks');
    mkdirSync(tasks, { recursive: true });
    for (const folder of [join(tasks, '..', '..'), join(tasks, '..'), tasks]) chmodSync(folder, 0o711);
  };
  const giveAll = (path: string): unknown => execFileSync('chown', ['-R', `${USER.uid}:${USER.gid}`, path]);

  it('are made, looked into and removed by that user, in folders that are not its own', async () => {
    openPassages();
    const path = await aRepository(join(root.path, newId()));
    giveAll(path);
    const { taskId } = await office.task(workspaceId, { repository_id: await office.register(workspaceId, path) });
    const run = await office.worked(workspaceId, taskId);
    for (const made of [
      run.folder,
      join(run.folder, 'README.md'),
      join(path, '.git', 'refs', 'heads', 'office', 'OFF-1'),
      join(path, '.git', 'worktrees', taskId),
    ]) {
      expect(statSync(made).uid, made).toBe(USER.uid);
    }
    await writeIn(run.folder, { 'new.txt': 'x\n' });
    giveAll(run.folder);
    const { uncommitted } = await office.must<{ uncommitted: object[] }>(`GET /tasks/${taskId}/changes`);
    expect(uncommitted).toEqual([{ path: 'new.txt', change: 'untracked' }]);
    await office.must(`POST /tasks/${taskId}/worktree/discard`, { lose_work: true });
    expect(existsSync(run.folder)).toBe(false);
    expect(existsSync(join(path, '.git', 'worktrees', taskId))).toBe(false);
    expect(await git(path, '-c', `safe.directory=${path}`, 'branch', '--list', 'office/*')).toBe('');
  });

  it('are made anew where a folder was left, and where an empty one has been put in its place', async () => {
    openPassages();
    const path = await aRepository(join(root.path, newId()));
    giveAll(path);
    const { agentId, taskId } = await office.task(workspaceId, { repository_id: await office.register(workspaceId, path) });
    const run = (await office.claim(workspaceId)).claimed.find((one) => one.taskId === taskId)!;
    await writeIn(run.folder, { 'half/made.txt': 'x\n' });
    giveAll(run.folder);
    await office.folders.prepare(run);
    expect(existsSync(join(run.folder, 'half'))).toBe(false);
    await office.end(run);
    execFileSync('rm', ['-rf', run.folder]);
    mkdirSync(run.folder);
    await chown(run.folder, USER.uid, USER.gid);
    await office.wake(agentId, taskId);
    const next = await office.prepared(workspaceId, taskId);
    expect(existsSync(join(next.folder, 'README.md'))).toBe(true);
  });

  it('need a repository in which that user may write', async () => {
    const path = await aRepository(join(root.path, newId()));
    const answer = await office.ask(`POST /workspaces/${workspaceId}/repositories`, { name: 'x', path });
    expect(answer).toMatchObject({ status: 422, body: { problem: expect.stringContaining(`user ${USER.uid}`) as string } });
  });
});
