import { existsSync } from 'node:fs';
import { mkdir, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { newId } from '../../../src/platform/ids.js';
import { OpenRepository } from '../../../src/repositories/git.service.js';
import { RepositoryInspector } from '../../../src/repositories/repository-inspector.service.js';
import type { AgentUser } from '../../../src/workspaces/agent-users.service.js';
import { WorktreeMaker } from '../../../src/worktrees/worktree-maker.service.js';
import { FolderProblem } from '../../../src/worktrees/domain/folder-problem.js';
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
  workspaceId = await office.workspace();
  path = await aRepository(join(office.root, newId()));
});

/** What a run of the task fails of. */
async function problemOf(taskId: string): Promise<{ kind: string; path: string; message: string }> {
  const problem = await office.prepared(workspaceId, taskId).then(
    () => null,
    (error: unknown) => error,
  );
  expect(problem).toBeInstanceOf(FolderProblem);
  return JSON.parse((problem as FolderProblem).payload) as { kind: string; path: string; message: string };
}

describe('the worktree of a task', () => {
  it('is made from where the repository stands, on a branch of its own', async () => {
    const head = await commitIn(path, { 'doors/front.txt': 'oak\n' });
    await git(path, 'switch', '-q', '-c', 'spring');
    const repositoryId = await office.register(workspaceId, path);
    const { taskId } = await office.task(workspaceId, { repository_id: repositoryId });
    const run = await office.prepared(workspaceId, taskId);
    expect(await git(run.folder, 'branch', '--show-current')).toBe('office/OFF-1');
    expect(await git(run.folder, 'rev-parse', 'HEAD')).toBe(head);
    expect(await readFile(join(run.folder, 'doors', 'front.txt'), 'utf8')).toBe('oak\n');
    expect(await git(run.folder, 'status', '--porcelain')).toBe('');
    expect(await office.must(`GET /workspaces/${workspaceId}/worktrees`)).toEqual({
      items: [
        {
          task: { id: taskId, identifier: 'OFF-1', title: 'Mend the door', state: 'IN_PROGRESS', deleted: false },
          repository: { id: repositoryId, name: 'doors' },
          host_id: office.hostId,
          path: run.folder,
          branch: 'office/OFF-1',
          base: { branch: 'spring', commit: head },
          state: 'ready',
          uncommitted: null,
          unpushed: null,
          checked_at: null,
          created_at: expect.any(String) as string,
        },
      ],
      next_cursor: null,
    });
    const { executor } = await office.must<{ executor: object }>(`GET /sessions/${run.sessionId}`);
    expect(executor).toEqual({ host_id: office.hostId, path: run.folder, branch: 'office/OFF-1' });
  });

  it('is kept over a failure and is what the next run of any agent works in', async () => {
    const { agentId, taskId } = await office.task(workspaceId, { repository_id: await office.register(workspaceId, path) });
    const first = await office.worked(workspaceId, taskId);
    const commit = await commitIn(first.folder, { 'a.txt': 'a\n' });
    await writeIn(first.folder, { 'b.txt': 'not committed\n' });
    await commitIn(path, { 'c.txt': 'the repository goes on\n' });
    await office.wake(agentId, taskId);
    const second = await office.worked(workspaceId, taskId);
    expect(second.folder).toBe(first.folder);
    expect(second.acpSessionId).not.toBeNull();
    expect(await git(second.folder, 'rev-parse', 'HEAD')).toBe(commit);
    expect(await git(second.folder, 'status', '--porcelain')).toBe('?? b.txt');
  });

  it('of one task holds nothing of another, also when both are made at once', async () => {
    await commitIn(path, Object.fromEntries(Array.from({ length: 300 }, (_, n) => [`files/${n}.txt`, `${n}\n`])));
    const repositoryId = await office.register(workspaceId, path);
    const tasks = await Promise.all(Array.from({ length: 6 }, () => office.task(workspaceId, { repository_id: repositoryId })));
    const { claimed } = await office.claim(workspaceId);
    expect(claimed).toHaveLength(tasks.length);
    await Promise.all(claimed.map((run) => office.folders.prepare(run)));
    for (const { folder, taskId } of claimed) await commitIn(folder, { [`of-${taskId}.txt`]: 'mine\n' });
    for (const { folder, taskId } of claimed) {
      const files = (await git(folder, 'ls-files')).split('\n');
      expect(files.filter((name) => name.startsWith('of-'))).toEqual([`of-${taskId}.txt`]);
      expect(files).toHaveLength(302);
    }
    expect(await git(path, 'status', '--porcelain')).toBe('');
    expect(new Set(await Promise.all(claimed.map(({ folder }) => git(folder, 'branch', '--show-current')))).size).toBe(tasks.length);
  });

  it('is made past one that another git is half-way through, whenever it is seen', async () => {
    const account: AgentUser = { identity: null, home: null };
    const real = await office.app.app.get(RepositoryInspector, { strict: false }).open(path, account);
    const half = join(path, '.git', 'worktrees', 'half');
    let seen = 0;
    const own = new OpenRepository(real.own.place, async (args, asked) => {
      const isMet = args[0] === 'worktree' && seen++ === 0;
      if (isMet) await writeIn(half, { commondir: '', gitdir: '/nowhere/.git\n', HEAD: 'ref: refs/heads/other\n' });
      const answer = await real.own.ask(args, asked);
      if (isMet) await rm(half, { recursive: true });
      return answer;
    });
    const found = { ...real, own };
    const maker = office.app.app.get(WorktreeMaker, { strict: false });
    const { signal } = new AbortController();
    const plan = await maker.plan(found, 'OFF-1');
    const folder = join(office.root, newId());
    expect(await maker.make(found, plan, folder, false, signal)).toBe('made');
    expect(await git(folder, 'branch', '--show-current')).toBe('office/OFF-1');
    seen = 0;
    await rm(folder, { recursive: true });
    expect(await maker.makeAgain(found, plan.branch, folder, signal)).toBe(true);
    expect(await git(folder, 'branch', '--show-current')).toBe('office/OFF-1');
    expect(seen).toBe(2);
  });

  it('is a failure when what is half made stays so', async () => {
    await writeIn(join(path, '.git', 'worktrees', 'half'), { commondir: '', gitdir: '/nowhere/.git\n', HEAD: 'ref: refs/heads/other\n' });
    const { taskId } = await office.task(workspaceId, { repository_id: await office.register(workspaceId, path) });
    expect(await problemOf(taskId)).toMatchObject({ kind: 'worktree_failed', message: expect.stringContaining('commondir') as string });
  });

  it.each([
    '../../etc/passwd',
    '-rf / --force',
    'a b\tc',
    'ünï/çödé 🚪',
    'refs/heads/main',
    '@{-1}',
    '$(touch /tmp/x) `id`',
    '.lock',
    'x'.repeat(500),
  ])('has a safe branch whatever the title: %j', async (title) => {
    const { taskId } = await office.task(workspaceId, { title, repository_id: await office.register(workspaceId, path) });
    const run = await office.prepared(workspaceId, taskId);
    expect(await git(run.folder, 'branch', '--show-current')).toBe('office/OFF-1');
  });

  it('takes another name where its own is taken', async () => {
    await git(path, 'branch', 'office/OFF-1');
    const repositoryId = await office.register(workspaceId, path);
    const { taskId } = await office.task(workspaceId, { repository_id: repositoryId });
    expect(await git((await office.prepared(workspaceId, taskId)).folder, 'branch', '--show-current')).toBe('office/OFF-1-2');
    // The same workspace prefix in another workspace, and the same repository.
    const other = await office.workspace();
    const { taskId: otherTask } = await office.task(other, { repository_id: await office.register(other, path) });
    expect(await git((await office.prepared(other, otherTask)).folder, 'branch', '--show-current')).toBe('office/OFF-1-3');
  });

  it('finds a name where a branch stands in the way of the folder of branches', async () => {
    await git(path, 'branch', 'office');
    const { taskId } = await office.task(workspaceId, { repository_id: await office.register(workspaceId, path) });
    expect(await git((await office.prepared(workspaceId, taskId)).folder, 'branch', '--show-current')).toBe('office-OFF-1');
  });

  it('is not made where the task has no repository', async () => {
    const { taskId } = await office.task(workspaceId, {});
    const run = await office.prepared(workspaceId, taskId);
    expect(existsSync(run.folder)).toBe(false);
    expect((await office.must(`GET /workspaces/${workspaceId}/worktrees`)).items).toEqual([]);
    expect((await office.ask(`GET /tasks/${taskId}/changes`)).status).toBe(404);
  });

  it('is of the repository of its project unless it says otherwise', async () => {
    const repositoryId = await office.register(workspaceId, path);
    const projectId = newId();
    await office.app.rows(`insert into projects (id, workspace_id, name, repository_id) values ($1, $2, 'House', $3)`, [
      projectId,
      workspaceId,
      repositoryId,
    ]);
    const taskOf = async (repository: string | null): Promise<string | null> => {
      const id = newId();
      await office.app.rows(
        `insert into tasks (id, workspace_id, number, identifier, title, workflow_id, step_id, created_by_kind, project_id, repository_id)
         select $1, $2, 900 + (select count(*) from tasks), 'OFF-900' || (select count(*) from tasks), 'x', workflow_id, id, 'user', $3, $4
           from workflow_steps where workspace_id = $2 order by position limit 1`,
        [id, workspaceId, projectId, repository],
      );
      return (await office.must<{ repository_id: string | null }>(`GET /tasks/${id}`)).repository_id;
    };
    const other = await office.register(workspaceId, await aRepository(join(office.root, newId())));
    expect(await taskOf(null)).toBe(repositoryId);
    expect(await taskOf(other)).toBe(other);
    await office.must(`DELETE /repositories/${repositoryId}`);
    expect(await taskOf(null)).toBeNull();
  });
});

describe('a repository', () => {
  it('without commits gets a beginning, the same for every task', async () => {
    const empty = join(office.root, newId());
    await mkdir(empty);
    await git(empty, 'init', '-q', '-b', 'main');
    const repositoryId = await office.register(workspaceId, empty);
    const tasks = [
      await office.task(workspaceId, { repository_id: repositoryId }),
      await office.task(workspaceId, { repository_id: repositoryId }),
    ];
    const { claimed } = await office.claim(workspaceId);
    for (const run of claimed) await office.folders.prepare(run);
    const roots = await Promise.all(claimed.map(({ folder }) => git(folder, 'rev-parse', 'HEAD')));
    expect(new Set(roots).size).toBe(1);
    expect(tasks).toHaveLength(2);
    expect(await git(claimed[0]!.folder, 'ls-files')).toBe('');
    expect(await git(empty, 'branch', '--list', 'main')).toBe('');
    await commitIn(claimed[0]!.folder, { 'new.txt': 'x\n' });
    await git(empty, 'merge', '-q', await git(claimed[0]!.folder, 'branch', '--show-current'));
    expect(await git(empty, 'ls-files')).toBe('new.txt');
  });

  it('whose HEAD names no branch begins with the one it has', async () => {
    const bare = join(office.root, `${newId()}.git`);
    await git(office.root, 'clone', '-q', '--bare', path, bare);
    await git(bare, 'symbolic-ref', 'HEAD', 'refs/heads/master');
    const { taskId } = await office.task(workspaceId, { repository_id: await office.register(workspaceId, bare) });
    const run = await office.prepared(workspaceId, taskId);
    expect(await git(run.folder, 'ls-files')).toBe('README.md');
  });

  it('may be bare', async () => {
    const bare = join(office.root, `${newId()}.git`);
    await git(office.root, 'clone', '-q', '--bare', path, bare);
    const { taskId } = await office.task(workspaceId, { repository_id: await office.register(workspaceId, bare) });
    const run = await office.prepared(workspaceId, taskId);
    expect(await git(run.folder, 'ls-files')).toBe('README.md');
    expect(await git(run.folder, 'branch', '--show-current')).toBe('office/OFF-1');
  });

  it('may be a submodule of another, and may have submodules', async () => {
    const outer = await aRepository(join(office.root, newId()));
    await git(outer, '-c', 'protocol.file.allow=always', 'submodule', '--quiet', 'add', path, 'inner');
    await git(outer, 'commit', '-q', '-m', 'With an inner one');
    const inner = join(outer, 'inner');
    for (const [repository, files] of [
      [inner, 'README.md'],
      [outer, '.gitmodules\nREADME.md\ninner'],
    ] as const) {
      const { taskId } = await office.task(workspaceId, { repository_id: await office.register(workspaceId, repository) });
      const run = await office.prepared(workspaceId, taskId);
      expect(await git(run.folder, 'ls-files')).toBe(files);
      expect(await git(run.folder, 'status', '--porcelain')).toBe('');
    }
    expect(await git(outer, 'status', '--porcelain')).toBe('');
  });

  it('may be dirty, and stays as it is', async () => {
    await writeIn(path, { 'README.md': 'Half a thought\n', 'new.txt': 'x\n' });
    await git(path, 'add', 'new.txt');
    const before = await git(path, 'status', '--porcelain');
    const { taskId } = await office.task(workspaceId, { repository_id: await office.register(workspaceId, path) });
    const run = await office.prepared(workspaceId, taskId);
    expect(await readFile(join(run.folder, 'README.md'), 'utf8')).toBe('Doors\n');
    expect(await git(path, 'status', '--porcelain')).toBe(before);
    expect(before).not.toBe('');
  });

  it('may stand on no branch', async () => {
    await git(path, 'switch', '-q', '--detach');
    const { taskId } = await office.task(workspaceId, { repository_id: await office.register(workspaceId, path) });
    await office.prepared(workspaceId, taskId);
    const [worktree] = (await office.must<{ items: { base: object }[] }>(`GET /workspaces/${workspaceId}/worktrees`)).items;
    expect(worktree!.base).toEqual({ branch: null, commit: await git(path, 'rev-parse', 'HEAD') });
  });

  it.each([
    ['is gone', async () => rm(path, { recursive: true }), /there is nothing at this path/],
    ['is none any more', async () => rm(join(path, '.git'), { recursive: true }), /does not take it for a repository/],
    [
      'has become a link',
      async () => (await rename(path, `${path}.moved`), symlink(`${path}.moved`, path)),
      /a symbolic link leads elsewhere/,
    ],
  ])('that %s fails the run with that as its reason, before and after its worktree was made', async (_, harm, reason) => {
    const repositoryId = await office.register(workspaceId, path);
    const made = await office.task(workspaceId, { repository_id: repositoryId });
    await office.worked(workspaceId, made.taskId);
    const fresh = await office.task(workspaceId, { repository_id: repositoryId });
    await harm();
    expect(await problemOf(fresh.taskId)).toEqual({ kind: 'repository_gone', path, message: expect.stringMatching(reason) as string });
    await office.wake(made.agentId, made.taskId);
    expect(await problemOf(made.taskId)).toMatchObject({ kind: 'repository_gone' });
  });

  it('that an admin has removed fails the run, and nothing on the disk is touched', async () => {
    const repositoryId = await office.register(workspaceId, path);
    const { agentId, taskId } = await office.task(workspaceId, { repository_id: repositoryId });
    const run = await office.worked(workspaceId, taskId);
    await office.must(`DELETE /repositories/${repositoryId}`);
    await office.wake(agentId, taskId);
    expect(await problemOf(taskId)).toMatchObject({
      kind: 'repository_gone',
      message: expect.stringContaining('not registered any more') as string,
    });
    expect(existsSync(join(run.folder, 'README.md'))).toBe(true);
    expect((await office.ask(`POST /workspaces/${workspaceId}/tasks`, { title: 'x', repository_id: repositoryId })).status).toBe(404);
  });

  it('keeps the tasks that work in it on its host', async () => {
    const { taskId } = await office.task(workspaceId, { repository_id: await office.register(workspaceId, path) });
    await office.app.rows(`update repositories set host_id = $1`, [await elsewhere()]);
    expect((await office.claim(workspaceId)).claimed).toEqual([]);
    const { items } = await office.must<{ items: { waiting_on: string }[] }>(`GET /workspaces/${workspaceId}/runs?task_id=${taskId}`);
    expect(items[0]!.waiting_on).toBe('host_offline');
  });
});

/** A host that has been away for long. */
async function elsewhere(): Promise<string> {
  const id = newId();
  await office.app.rows(
    `insert into hosts (id, boot_id, name, adapters, max_executions, last_seen_at) values ($1, $2, 'away', '{mock}', 10, now() - interval '1 day')`,
    [id, newId()],
  );
  return id;
}

describe('a folder that is gone', () => {
  it('fails a conversation that has begun, and is made again on its branch for a new one', async () => {
    const { agentId, taskId } = await office.task(workspaceId, { repository_id: await office.register(workspaceId, path) });
    const run = await office.worked(workspaceId, taskId);
    const commit = await commitIn(run.folder, { 'kept.txt': 'x\n' });
    await rm(run.folder, { recursive: true });
    await office.wake(agentId, taskId);
    const next = (await office.claim(workspaceId)).claimed[0]!;
    await expect(office.folders.prepare(next)).rejects.toMatchObject({ kind: 'folder_gone', path: run.folder });
    await office.folders.prepare({ ...next, acpSessionId: null });
    expect(await git(run.folder, 'rev-parse', 'HEAD')).toBe(commit);
    expect(await git(run.folder, 'branch', '--show-current')).toBe('office/OFF-1');
  });

  it('is not mistaken for one that another repository is in', async () => {
    const { agentId, taskId } = await office.task(workspaceId, { repository_id: await office.register(workspaceId, path) });
    const run = await office.worked(workspaceId, taskId);
    await rm(join(path, '.git', 'worktrees'), { recursive: true });
    await office.wake(agentId, taskId);
    expect(await problemOf(taskId)).toMatchObject({ kind: 'worktree_failed', path: run.folder });
  });
});

describe('a crash in the middle of making a worktree', () => {
  /** Everything that git may have left when it was killed, one stage after the other. */
  const admin = (taskId: string): string => join(path, '.git', 'worktrees', taskId);
  const stages: readonly [string, (at: { taskId: string; folder: string; base: string }) => Promise<void>][] = [
    ['with nothing made', async () => undefined],
    ['with the branch made', async ({ base }) => void (await git(path, 'branch', 'office/OFF-1', base))],
    ['with the lock of the branch left', async () => writeIn(path, { '.git/refs/heads/office/OFF-1.lock': '' })],
    ['with an empty folder', async ({ folder }) => void (await mkdir(folder, { recursive: true }))],
    [
      'with git knowing half of it',
      async ({ taskId, folder }) => {
        await mkdir(folder, { recursive: true });
        await mkdir(admin(taskId), { recursive: true });
        await writeFile(join(admin(taskId), 'locked'), 'initializing\n');
      },
    ],
    [
      'with half of the files',
      async ({ folder, taskId }) => {
        await git(path, 'worktree', 'add', '-q', '-b', 'office/OFF-1', folder);
        await writeFile(join(admin(taskId), 'locked'), 'initializing\n');
        await writeFile(join(admin(taskId), 'index.lock'), '');
        await rm(join(folder, 'README.md'));
      },
    ],
    [
      'with all made and nothing noted',
      async ({ folder }) => void (await git(path, 'worktree', 'add', '-q', '-b', 'office/OFF-1', folder)),
    ],
  ];

  it.each(stages)('%s is repaired by the next run', async (_, leave) => {
    const { taskId } = await office.task(workspaceId, { repository_id: await office.register(workspaceId, path) });
    const run = (await office.claim(workspaceId)).claimed[0]!;
    const base = await git(path, 'rev-parse', 'HEAD');
    await office.app.rows(`update task_folders set branch = 'office/OFF-1', base_branch = 'main', base_commit = $2 where task_id = $1`, [
      taskId,
      base,
    ]);
    await leave({ taskId, folder: run.folder, base });
    await office.folders.prepare(run);
    expect(await git(run.folder, 'branch', '--show-current')).toBe('office/OFF-1');
    expect(await git(run.folder, 'status', '--porcelain')).toBe('');
    expect(await readFile(join(run.folder, 'README.md'), 'utf8')).toBe('Doors\n');
    expect(existsSync(join(admin(taskId), 'locked'))).toBe(false);
    expect(await git(path, 'worktree', 'list')).not.toContain('prunable');
  });

  it('leaves a branch alone that somebody else has made under that name meanwhile', async () => {
    const { taskId } = await office.task(workspaceId, { repository_id: await office.register(workspaceId, path) });
    const run = (await office.claim(workspaceId)).claimed[0]!;
    await office.app.rows(`update task_folders set branch = 'office/OFF-1', base_branch = 'main', base_commit = $2 where task_id = $1`, [
      taskId,
      await git(path, 'rev-parse', 'HEAD'),
    ]);
    const theirs = await commitIn(path, { 'theirs.txt': 'x\n' });
    await git(path, 'branch', 'office/OFF-1');
    await office.folders.prepare(run);
    expect(await git(run.folder, 'branch', '--show-current')).toBe('office/OFF-1-2');
    expect(await git(path, 'rev-parse', 'office/OFF-1')).toBe(theirs);
  });

  it('of a run that was taken away meanwhile notes nothing', async () => {
    const { taskId } = await office.task(workspaceId, { repository_id: await office.register(workspaceId, path) });
    const run = (await office.claim(workspaceId)).claimed[0]!;
    await expect(office.folders.prepare({ ...run, generation: run.generation - 1 })).rejects.toThrow('taken away');
    expect(await office.row(`select branch, made_at from task_folders where task_id = $1`, taskId)).toEqual({
      branch: null,
      made_at: null,
    });
  });
});
