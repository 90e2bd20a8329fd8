import { existsSync } from 'node:fs';
import { chown, mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it, type TestContext } from 'vitest';
import { aFolder, aProgram, aRepository, commitIn, git } from '../support/git-folder.js';
import { cloneDatabase } from '../support/office-db.js';
import { mockScript, RealServer, waitFor } from '../support/real-server.js';

interface Run {
  readonly id: string;
  readonly status: string;
  readonly error_message: string | null;
}

type Ending = TestContext['onTestFinished'];

/** With an end that is the last: what ends is in the reverse order of what began. */
async function anOffice(
  onTestFinished: Ending,
  env: Record<string, string> = {},
): Promise<{ server: RealServer; root: string; workspaceId: string }> {
  const root = await aFolder('e2e-repositories');
  onTestFinished(root.remove);
  const database = await cloneDatabase();
  onTestFinished(database.drop);
  // Behind a folder of somebody else's agents are the office's own user, whose repositories these are; `own-user` has the others.
  const shut = join(root.path, 'shut');
  await mkdir(shut, { mode: 0o700 });
  if (process.getuid?.() === 0) await chown(shut, 65_534, 65_534);
  const server = await RealServer.start({
    databaseUrl: database.url,
    env: { OFFICE_REPOSITORY_ROOTS: root.path, OFFICE_WORK_DIR: join(shut, 'work'), ...env },
  });
  onTestFinished(() => server.dispose());
  const { id: workspaceId } = await server.must<{ id: string }>('POST /workspaces', { name: 'Acme', task_prefix: 'OFF' });
  return { server, root: root.path, workspaceId };
}

async function aTaskIn(
  server: RealServer,
  workspaceId: string,
  path: string,
  ...steps: object[]
): Promise<{ taskId: string; agentId: string }> {
  const registered = await server.must<{ items: { id: string; path: string }[] }>(`GET /workspaces/${workspaceId}/repositories`);
  const repositoryId =
    registered.items.find((one) => one.path === path)?.id ??
    (await server.must<{ id: string }>(`POST /workspaces/${workspaceId}/repositories`, { name: 'doors', path })).id;
  const { id: agentId } = await server.must<{ id: string }>(`POST /workspaces/${workspaceId}/agents`, {
    name: 'Ada',
    role: 'worker',
    adapter: 'mock',
  });
  const { id: taskId } = await server.must<{ id: string }>(`POST /workspaces/${workspaceId}/tasks`, {
    title: 'Mend the door',
    description: mockScript(...steps),
    assignee_agent_instance_id: agentId,
    repository_id: repositoryId,
  });
  return { taskId, agentId };
}

const lastRun = async (server: RealServer, workspaceId: string, taskId: string): Promise<Run> => {
  const { items } = await server.must<{ items: Run[] }>(`GET /workspaces/${workspaceId}/runs?task_id=${taskId}&limit=1`);
  return server.must<Run>(`GET /runs/${items[0]!.id}`);
};

const ended = (server: RealServer, workspaceId: string, taskId: string): Promise<Run> =>
  waitFor(
    async () => {
      const run = await lastRun(server, workspaceId, taskId);
      return ['completed', 'failed'].includes(run.status) && run;
    },
    30_000,
    'the run to end',
  );

// At once, because the first waits half a minute for the round in which worktrees are cleared away.
describe.concurrent('an agent in a repository', () => {
  it('works in a worktree of its own; what it did is shown, pushed, and cleared away when the task is done', async ({ onTestFinished }) => {
    const { server, root, workspaceId } = await anOffice(onTestFinished);
    const path = await aRepository(join(root, 'doors'));
    const remote = join(root, 'remote.git');
    await git(root, 'clone', '-q', '--bare', path, remote);
    await git(path, 'remote', 'add', 'origin', remote);
    const { taskId } = await aTaskIn(server, workspaceId, path, { write_file: { path: 'hinge.txt', content: 'oiled\n' } }, { say: 'done' });
    expect(await ended(server, workspaceId, taskId)).toMatchObject({ status: 'completed' });
    const [worktree] = (await server.must<{ items: { path: string; branch: string }[] }>(`GET /workspaces/${workspaceId}/worktrees`)).items;
    expect(worktree).toMatchObject({ branch: 'office/OFF-1', state: 'ready' });
    expect(await readFile(join(worktree!.path, 'hinge.txt'), 'utf8')).toBe('oiled\n');
    expect(existsSync(join(path, 'hinge.txt'))).toBe(false);
    expect((await server.must(`GET /tasks/${taskId}/changes`)).uncommitted).toEqual([{ path: 'hinge.txt', change: 'untracked' }]);
    const commit = await commitIn(worktree!.path, {}, 'Oil the hinge');
    await server.must(`POST /tasks/${taskId}/worktree/push`);
    expect(await git(remote, 'rev-parse', 'office/OFF-1')).toBe(commit);
    await server.must(`PATCH /tasks/${taskId}`, { state: 'done' });
    await waitFor(() => !existsSync(worktree!.path), 60_000, 'the worktree to be cleared away');
  });

  it('fails with a repository that is gone as its reason, and goes on when it is back', async ({ onTestFinished }) => {
    const { server, root, workspaceId } = await anOffice(onTestFinished);
    const path = await aRepository(join(root, 'doors'));
    const { taskId, agentId } = await aTaskIn(server, workspaceId, path, { say: 'done' });
    await ended(server, workspaceId, taskId);
    await git(root, '-c', 'alias.move=!mv doors away', 'move');
    await server.must(`POST /agents/${agentId}/runs`, { task_id: taskId });
    const run = await ended(server, workspaceId, taskId);
    expect(run).toMatchObject({ status: 'failed', error_code: 'environment', error_class: 'hard', retry_count: 0, launched_at: null });
    expect(JSON.parse(run.error_message!)).toMatchObject({ kind: 'repository_gone', path });
    const { items } = await server.must<{ items: { id: string; error_summary: string }[] }>(
      `GET /workspaces/${workspaceId}/inbox?state=open`,
    );
    expect(items[0]!.error_summary).toContain('there is nothing at this path');
    await git(root, '-c', 'alias.move=!mv away doors', 'move');
    await server.must(`POST /workspaces/${workspaceId}/inbox/items/${items[0]!.id}/dismiss`);
    expect(await ended(server, workspaceId, taskId)).toMatchObject({ status: 'completed' });
  });
});

describe.concurrent('kill -9 while a worktree is made', () => {
  /** Git stands still in the middle: a checkout that never ends, whose helper nobody stops. */
  async function slowGit(root: string): Promise<{ PATH: string }> {
    const real = (await git(root, '--exec-path')).replace(/\/[^/]*\/git-core$/, '');
    const program = process.env
      .PATH!.split(':')
      .map((folder) => join(folder, 'git'))
      .find(existsSync)!;
    expect(real).not.toBe('');
    const bin = join(root, 'bin');
    await aProgram(
      join(bin, 'git'),
      `case "$*" in
*"worktree add"*) if [ ! -e "${root}/once" ]; then : > "${root}/once"; "${program}" "$@"; rm -f "$GIT_DIR"/worktrees/*/index; sleep 600; fi;;
esac
exec "${program}" "$@"`,
    );
    return { PATH: `${bin}:${process.env.PATH!}` };
  }

  it('leaves nothing running, and the next start makes it whole', async ({ onTestFinished }) => {
    const folder = await aFolder('e2e-slow');
    onTestFinished(folder.remove);
    const { server, root, workspaceId } = await anOffice(onTestFinished, await slowGit(folder.path));
    const path = await aRepository(join(root, 'doors'));
    const { taskId } = await aTaskIn(server, workspaceId, path, { say: 'done' });
    await waitFor(
      () => existsSync(join(folder.path, 'once')) && existsSync(join(path, '.git', 'worktrees', taskId)),
      20_000,
      'git to be in the middle',
    );
    await server.end('SIGKILL');
    await server.boot();
    const run = await ended(server, workspaceId, taskId);
    expect(run).toMatchObject({ status: 'completed' });
    const [worktree] = (await server.must<{ items: { path: string }[] }>(`GET /workspaces/${workspaceId}/worktrees`)).items;
    expect(await git(worktree!.path, 'status', '--porcelain')).toBe('');
    expect(await git(worktree!.path, 'branch', '--show-current')).toBe('office/OFF-1');
  });

  it('is not needed to close: a drain gives it up, and the run waits again', async ({ onTestFinished }) => {
    const folder = await aFolder('e2e-slow');
    onTestFinished(folder.remove);
    const { server, root, workspaceId } = await anOffice(onTestFinished, { OFFICE_DRAIN_SEC: '1', ...(await slowGit(folder.path)) });
    const path = await aRepository(join(root, 'doors'));
    const { taskId } = await aTaskIn(server, workspaceId, path, { say: 'done' });
    await waitFor(() => existsSync(join(folder.path, 'once')), 20_000, 'git to be in the middle');
    expect(await server.end('SIGTERM')).toBe(0);
    await server.boot();
    const run = await ended(server, workspaceId, taskId);
    expect(run).toMatchObject({ status: 'completed' });
    const attempts = (run as unknown as { attempts: { outcome: string }[] }).attempts.map(({ outcome }) => outcome);
    expect(attempts).toEqual(['requeued', 'turn_ended']);
  });
});
