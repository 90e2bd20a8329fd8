import { existsSync, lstatSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { mockScript, processesWith, RealServer, waitFor } from '../support/real-server.js';

const THIEF = join(import.meta.dirname, '..', 'support', 'agents', 'thief.mjs');
const ROOT_OF_REPOSITORY = join(import.meta.dirname, '..', '..');
const WAIT_MS = 30_000;
const isRoot = process.getuid?.() === 0;

/** What an agent tried, and what came of it. */
type Deed = readonly [name: string, deed: string, ...rest: unknown[]];
interface Who {
  readonly got: {
    readonly uid: number;
    readonly groups: readonly number[];
    readonly cwd: string;
    readonly env: Readonly<Record<string, string>>;
    readonly modes: Readonly<Record<string, string>>;
  };
}

let server: RealServer;
/** With the embedded database, whose password is one of the things to steal. */
beforeAll(async () => {
  if (isRoot) server = await RealServer.start({ env: { OFFICE_SECRETS_KEY: 'a key that opens all secrets of this office' } });
}, 60_000);
afterAll(() => server?.dispose());

const workspace = async (): Promise<string> => (await server.must<{ id: string }>('POST /workspaces', { name: 'Acme' })).id;

async function give(ws: string, agent: object, description = ''): Promise<{ agentId: string; taskId: string }> {
  const { id } = await server.must<{ id: string }>(`POST /workspaces/${ws}/agents`, { name: 'Ada', role: 'worker', ...agent });
  const task = await server.must<{ id: string }>(`POST /workspaces/${ws}/tasks`, {
    title: 'Look around',
    description,
    assignee_agent_instance_id: id,
  });
  return { agentId: id, taskId: task.id };
}
const runOf = async (ws: string, taskId: string) =>
  (await server.must<{ items: { id: string; status: string }[] }>(`GET /workspaces/${ws}/runs?task_id=${taskId}`)).items[0]!;

/** The turn of an agent that tries all this; what it says of it. */
async function steal(ws: string, deeds: readonly Deed[]): Promise<Record<string, unknown>> {
  const { taskId } = await give(ws, { adapter: 'custom', adapter_config: { command: [process.execPath, THIEF, JSON.stringify(deeds)] } });
  await waitFor(async () => (await runOf(ws, taskId)).status === 'completed', WAIT_MS, 'the thief to be done');
  const { items } = await server.must<{ items: { body: string }[] }>(`GET /tasks/${taskId}/comments`);
  return JSON.parse(items.at(-1)!.body) as Record<string, unknown>;
}

/** An agent of this workspace in the middle of a turn; one of its processes. */
async function atWork(ws: string): Promise<{ pid: number; taskId: string; folder: string }> {
  const { taskId } = await give(
    ws,
    { adapter: 'mock' },
    mockScript({ write_file: { path: 'plan.txt', content: 'secret plan' } }, { hang: true }),
  );
  const folder = join(server.workDir, ws, 'tasks', taskId);
  await waitFor(() => existsSync(join(folder, 'plan.txt')), WAIT_MS, 'the other agent to be at work');
  const [pid] = processesWith(`OFFICE_TASK_ID=${taskId}`);
  return { pid: pid!, taskId, folder };
}

describe.runIf(isRoot)('an agent that steals, where the office is root', () => {
  it('is refused everything that is not its own', async () => {
    const [own, others] = [await workspace(), await workspace()];
    const neighbour = await atWork(others);
    const postmaster = readFileSync(join(server.dataDir, 'postgres', 'postmaster.pid'), 'utf8').split('\n');
    const [databasePid, port] = [Number(postmaster[0]), postmaster[3]];
    const elsewhere = join(server.home, 'private-repository');
    mkdirSync(join(elsewhere, '.git', 'hooks'), { recursive: true, mode: 0o700 });
    writeFileSync(join(elsewhere, 'code.txt'), 'ours');
    const hook = join(ROOT_OF_REPOSITORY, 'dist', 'hook');
    const refused: Deed[] = [
      ['the admin token', 'read', join(server.dataDir, 'admin-token')],
      ['the data dir', 'list', server.dataDir],
      ['the password of the database', 'read', join(server.dataDir, 'state', 'postgres-password')],
      ['the files of the database', 'list', join(server.dataDir, 'postgres')],
      ['the records of the supervisor', 'list', join(server.dataDir, 'state', 'executions')],
      ['the database without a password', 'connect', `postgres://postgres@127.0.0.1:${port}/postgres`],
      ['the database with a guess', 'connect', `postgres://postgres:postgres@127.0.0.1:${port}/postgres`],
      ['the work of another workspace', 'list', neighbour.folder],
      ['a file of another workspace', 'read', join(neighbour.folder, 'plan.txt')],
      ['the folder of another workspace', 'list', join(server.workDir, others)],
      ['the homes of another workspace', 'list', join(server.workDir, others, 'homes')],
      ['a file in another workspace', 'write', join(neighbour.folder, 'mine.txt')],
      ['which workspaces there are', 'list', server.workDir],
      ['a folder beside its own', 'make', join(server.workDir, 'mine')],
      ['the folder of its workspace', 'make', join(server.workDir, own, 'mine')],
      ['a trap for the office', 'exchange', join(server.workDir, own, 'tasks'), '/etc'],
      ['a trap in its homes', 'exchange', join(server.workDir, own, 'homes'), '/etc'],
      ['a trap in its tmp', 'exchange', join(server.workDir, own, 'tmp'), server.dataDir],
      ['the environment of the office', 'read', `/proc/${server.pid}/environ`],
      ['the environment of the database', 'read', `/proc/${databasePid}/environ`],
      ['the environment of another agent', 'read', `/proc/${neighbour.pid}/environ`],
      ['the memory of the office', 'read', `/proc/${server.pid}/mem`],
      ['the end of the office', 'signal', server.pid],
      ['the end of another agent', 'signal', neighbour.pid],
      ['the rights of root', 'become_root'],
      ['the rights of root by su', 'shell_root'],
      ['the program of the office', 'write', join(ROOT_OF_REPOSITORY, 'dist', 'src', 'main.js')],
      ['a file in the program of the office', 'write', hook],
      ['a repository outside', 'read', join(elsewhere, 'code.txt')],
      ['a hook in a repository outside', 'write', join(elsewhere, '.git', 'hooks', 'post-checkout')],
      ['the API as nobody', 'fetch', `${server.url}/api/v1/workspaces`, null],
      ['the API with a guess', 'fetch', `${server.url}/api/v1/workspaces`, 'admin'],
    ];
    const found = await steal(own, [...refused, ['who', 'who']]);
    const { who, ...attempts } = found;
    for (const [name] of refused) expect(`${name}: ${JSON.stringify(attempts[name])}`).toMatch(/: "refused: /);

    const { uid, groups, cwd, env, modes } = (who as Who).got;
    expect(uid).toBeGreaterThan(61_000);
    expect(groups).toEqual([uid]);
    expect(cwd.startsWith(join(server.workDir, own, 'tasks'))).toBe(true);
    expect(env['HOME']!.startsWith(join(server.workDir, own, 'homes'))).toBe(true);
    expect(modes).toEqual({ '.': '700', [env['HOME']!]: '700', [env['TMPDIR']!]: '700' });
    expect(JSON.stringify(env)).not.toContain('opens all secrets');
    expect(
      Object.keys(env).filter((name) => /^OFFICE_(?!API_|RUN_|AGENT_ID|WORKSPACE_ID|TASK_ID|WAKE_|SESSION_|EXECUTION_ID)/.test(name)),
    ).toEqual([]);
    expect(lstatSync(join(server.workDir, others)).uid).toBe(0);
    expect(lstatSync(neighbour.folder).uid).not.toBe(uid);
    expect(existsSync(hook)).toBe(false);
    await server.must(`POST /runs/${(await runOf(others, neighbour.taskId)).id}/cancel`);
  });

  it('has what is its own: its folder, its home, and the agents of its workspace share a user', async () => {
    const own = await workspace();
    const [first, second] = [
      await steal(own, [
        ['who', 'who'],
        ['file', 'write', 'here.txt'],
      ]),
      await steal(own, [['who', 'who']]),
    ];
    expect(first['file']).toEqual({ got: true });
    expect((first['who'] as Who).got.uid).toBe((second['who'] as Who).got.uid);
    expect((first['who'] as Who).got.env['HOME']).not.toBe((second['who'] as Who).got.env['HOME']);
  });

  it('is ended by the office, and by the supervisor when the office is killed', async () => {
    const ws = await workspace();
    const cancelled = await atWork(ws);
    await server.must(`POST /runs/${(await runOf(ws, cancelled.taskId)).id}/cancel`);
    await waitFor(() => processesWith(`OFFICE_TASK_ID=${cancelled.taskId}`).length === 0, WAIT_MS, 'the cancelled agent to be gone');
    const orphan = await atWork(ws);
    await server.end('SIGKILL');
    await waitFor(() => processesWith(`OFFICE_TASK_ID=${orphan.taskId}`).length === 0, 8_000, 'the orphan to be gone');
    await server.boot();
  }, 60_000);
});
