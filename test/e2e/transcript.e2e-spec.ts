import type pg from 'pg';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { cloneDatabase, openPool } from '../support/office-db.js';
import { faults, RealServer, seeded, waitFor } from '../support/real-server.js';

interface Entry {
  readonly seq: number;
  readonly rev: number;
  readonly run_id: string;
  readonly kind: string;
  readonly title: string | null;
  readonly status: string | null;
  readonly body: string;
}
interface Entries {
  readonly items: Entry[];
  readonly last_rev: number;
  readonly next_cursor: string | null;
}

const TALKING_AGENT = join(import.meta.dirname, '..', 'support', 'agents', 'talking-agent.mjs');

let database: Awaited<ReturnType<typeof cloneDatabase>>;
let db: pg.Pool;
let server: RealServer;
let workspace: string;
beforeAll(async () => {
  database = await cloneDatabase();
  db = openPool(database.url);
  server = await RealServer.start({ databaseUrl: database.url, env: { OFFICE_LOG_LEVEL: 'trace' } });
  workspace = (await server.must<{ id: string }>('POST /workspaces', { name: 'Acme' })).id;
});
afterAll(async () => {
  await server?.dispose();
  await db?.end();
  await database?.drop();
});

const hire = async (about: object): Promise<string> =>
  (await server.must<{ id: string }>(`POST /workspaces/${workspace}/agents`, { name: 'Ada', role: 'worker', adapter: 'mock', ...about }))
    .id;
const assign = async (agentId: string): Promise<string> =>
  (
    await server.must<{ id: string }>(`POST /workspaces/${workspace}/tasks`, {
      title: 'Mend the door',
      assignee_agent_instance_id: agentId,
    })
  ).id;
const lastRun = async (taskId: string) =>
  (await server.must<{ items: { id: string; status: string }[] }>(`GET /workspaces/${workspace}/runs?task_id=${taskId}`)).items[0];
const runThat = (taskId: string, status: string) =>
  waitFor(
    async () => {
      const run = await lastRun(taskId);
      return run?.status === status && run;
    },
    20_000,
    `the run to be ${status}`,
  );
const sessionOf = async (taskId: string) =>
  (await server.must<{ items: { id: string; executor: { path: string } | null }[] }>(`GET /tasks/${taskId}/sessions`)).items[0]!;
const entriesOf = (sessionId: string, query = ''): Promise<Entries> =>
  server.must<Entries>(`GET /sessions/${sessionId}/entries?limit=200${query}`);

describe('a run', () => {
  it('can be seen afterwards: its entries, its turn in the timeline, its last message as a comment, and as a file', async () => {
    const agentId = await hire({
      adapter_config: { script: [{ think: 'hm' }, { say: 'I look.' }, { tool: 'ls' }, { say: 'Do' }, { say: 'ne.' }] },
    });
    const taskId = await assign(agentId);
    const run = await runThat(taskId, 'completed');
    const session = await sessionOf(taskId);
    const { items } = await entriesOf(session.id);
    expect(items.map(({ seq, kind, title, status, body }) => [seq, kind, title, status, kind === 'prompt' ? 'told' : body])).toEqual([
      [1, 'prompt', null, null, 'told'],
      [2, 'thought', null, null, 'hm'],
      [3, 'message', null, null, 'I look.'],
      [4, 'tool', 'ls', 'completed', ''],
      [5, 'message', null, null, 'Done.'],
    ]);
    const told = await server.must<Entry>(`GET /sessions/${session.id}/entries/1`);
    const { prompt } = await server.must<{ prompt: { preamble: string; turn: string } }>(`GET /runs/${run.id}`);
    expect(told.body).toBe(`${prompt.preamble}\n\n${prompt.turn}`);
    const timeline = await server.must<{ items: Record<string, unknown>[] }>(`GET /tasks/${taskId}/timeline`);
    expect(timeline.items.find(({ kind }) => kind === 'turn')).toMatchObject({
      run_id: run.id,
      session_id: session.id,
      from_seq: 1,
      to_seq: 5,
      tools: 1,
      duration_ms: expect.any(Number) as number,
    });
    const comments = await server.must<{ items: { source: string; body: string }[] }>(`GET /tasks/${taskId}/comments`);
    expect(comments.items.map(({ source, body }) => [source, body])).toEqual([['session', 'Done.']]);
    const file = await fetch(`${server.url}/api/v1/runs/${run.id}/transcript.ndjson`, {
      headers: { authorization: `Bearer ${server.token}` },
    });
    expect(file.headers.get('content-type')).toMatch(/^application\/x-ndjson/);
    const lines = (await file.text())
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Entry);
    expect(lines.map(({ seq }) => seq)).toEqual([1, 2, 3, 4, 5]);
    expect(lines[0]!.body).toBe(told.body);
    expect(await server.must<Entries>(`GET /runs/${run.id}/entries`)).toMatchObject({ items, next_cursor: null });
  });

  it('is refused what is no place, no session, or no business of one’s own', async () => {
    const session = await sessionOf(await assignDone());
    expect(await server.call(`GET /sessions/${session.id}/entries?after_rev=x`)).toMatchObject({
      status: 400,
      body: { code: 'validation_failed' },
    });
    expect(await server.call(`GET /sessions/${session.id}/entries?after_rev=1&before_seq=2`)).toMatchObject({ status: 400 });
    expect(await server.call(`GET /sessions/${session.id}/entries?other=1`)).toMatchObject({ status: 400 });
    expect(await server.call(`GET /sessions/${session.id}/entries/99`)).toMatchObject({ status: 404 });
    expect(await server.call(`GET /sessions/${session.id}/entries/x`)).toMatchObject({ status: 400 });
    expect(await server.call(`GET /sessions/${workspace}/entries`)).toMatchObject({ status: 404 });
    expect(await server.call(`GET /runs/${workspace}/transcript.ndjson`)).toMatchObject({ status: 404 });
  });

  it('is gone with its task', async () => {
    const taskId = await assignDone();
    const session = await sessionOf(taskId);
    expect((await entriesOf(session.id)).items.length).toBeGreaterThan(0);
    await server.must(`DELETE /tasks/${taskId}`);
    expect(await server.call(`GET /sessions/${session.id}/entries`)).toMatchObject({ status: 404 });
    expect((await db.query(`select from session_entries where session_id = $1`, [session.id])).rowCount).toBe(0);
  });
});

async function assignDone(): Promise<string> {
  const taskId = await assign(await hire({ adapter_config: { script: [{ say: 'done' }] } }));
  await runThat(taskId, 'completed');
  return taskId;
}

describe('a secret that was handed to an agent', () => {
  const SECRET = 'p4ss/w0rd+"quoted" & long';
  const FORMS = [
    SECRET,
    JSON.stringify(SECRET).slice(1, -1),
    Buffer.from(SECRET).toString('base64'),
    encodeURIComponent(SECRET),
    SECRET.slice(0, 12),
    SECRET.slice(12),
  ];
  const show = (text: string) => ({ content: [{ type: 'content', content: { type: 'text', text } }] });
  const tool = (fields: object) => ({ update: { toolCallId: 'c1', ...fields } });
  const script = [
    { think: `thinking of ${SECRET}` },
    { say: `it is ${SECRET.slice(0, 12)}` },
    { say: `${SECRET.slice(12)}, in base64 ${Buffer.from(SECRET).toString('base64')}` },
    tool({
      sessionUpdate: 'tool_call',
      title: `use ${SECRET}`,
      status: 'pending',
      rawInput: { auth: SECRET, url: `/?a=${encodeURIComponent(SECRET)}` },
    }),
    tool({ sessionUpdate: 'tool_call_update', status: 'completed', ...show(`output ${SECRET}`) }),
    { update: { sessionUpdate: 'plan', entries: [{ content: `hide ${SECRET}`, status: 'pending', priority: 'low' }] } },
    { ask_permission: { title: `may I ${SECRET}` } },
    { stderr: `stderr ${SECRET}` },
    { raw: `noise ${SECRET}` },
  ];

  /** Every text of every table but where people put the secret themselves, and where it is sealed. */
  async function everythingStored(): Promise<string> {
    const { rows: tables } = await db.query<{ name: string }>(
      `select table_name as name from information_schema.tables where table_schema = 'public' and table_type = 'BASE TABLE'`,
    );
    let all = '';
    for (const { name } of tables.filter(({ name }) => name !== 'workspace_secrets')) {
      const { rows } = await db.query<{ row: object }>(`select to_jsonb(t) - 'adapter_config' as row from ${name} t`);
      all += rows.map(({ row }) => `${JSON.stringify(row)}\n`).join('');
    }
    return all;
  }

  it('is masked wherever we store or show: entries, payloads, events, comments, logs and export', async () => {
    await server.must(`PUT /workspaces/${workspace}/secrets/DEPLOY_KEY`, { value: SECRET });
    const env = { DEPLOY: { secret: 'DEPLOY_KEY' } };
    const config = { env, permission_policy: 'allow' };
    const good = await assign(await hire({ adapter_config: { ...config, script: [...script, { say: `last words: ${SECRET}` }] } }));
    const failing = { fail: { code: -32603, message: `refused ${SECRET}`, data: { detail: SECRET } } };
    const bad = await assign(await hire({ adapter_config: { ...config, script: [...script, failing] } }));
    const dead = await assign(await hire({ adapter_config: { ...config, script: [...script, { exit: { code: 3 } }] } }));
    const busy = await assign(
      await hire({
        adapter_config: {
          ...config,
          script: [tool({ sessionUpdate: 'tool_call', title: `use ${SECRET}`, status: 'in_progress' }), { hang: true }],
        },
      }),
    );
    const runs = [await runThat(good, 'completed'), await runThat(bad, 'failed'), await runThat(dead, 'failed')];

    const seenAt = await waitFor(
      async () =>
        (await db.query<{ current_tool: string }>(`select current_tool from runs where task_id = $1 and current_tool is not null`, [busy]))
          .rows[0],
      20_000,
      'the tool it is busy with to be seen',
    );
    expect(seenAt.current_tool).toBe('use [secret:DEPLOY_KEY]');

    const shown: string[] = [await everythingStored(), server.log.join('\n')];
    for (const taskId of [good, bad, dead]) {
      const session = await sessionOf(taskId);
      shown.push(JSON.stringify(await entriesOf(session.id)), JSON.stringify(await server.must(`GET /tasks/${taskId}/timeline`)));
      shown.push(JSON.stringify(await server.must(`GET /tasks/${taskId}/comments`)));
    }
    for (const { id } of runs) {
      shown.push(JSON.stringify(await server.must(`GET /runs/${id}`)), JSON.stringify(await server.must(`GET /runs/${id}/events`)));
      const file = await fetch(`${server.url}/api/v1/runs/${id}/transcript.ndjson`, {
        headers: { authorization: `Bearer ${server.token}` },
      });
      shown.push(await file.text());
    }
    shown.push(JSON.stringify(await server.must(`GET /workspaces/${workspace}/events?limit=200`)));
    shown.push(JSON.stringify(await server.must(`GET /workspaces/${workspace}/inbox`)));
    await server.must(`PATCH /tasks/${busy}`, { state: 'cancelled' });
    for (const text of shown) for (const form of FORMS) expect(text).not.toContain(form);

    const { items } = await entriesOf((await sessionOf(good)).id);
    const MASK = '[secret:DEPLOY_KEY]';
    expect(items.filter(({ body, title }) => body.includes(MASK) || title?.includes(MASK)).map(({ kind }) => kind)).toEqual([
      'thought',
      'message',
      'tool',
      'plan',
      'permission',
      'message',
    ]);
    expect(items[2]!.body).toBe(`it is ${MASK}, in base64 ${MASK}`);
    const comments = await server.must<{ items: { body: string }[] }>(`GET /tasks/${good}/comments`);
    expect(comments.items[0]!.body).toContain(`last words: ${MASK}`);
    const failed = await server.must<{ error_message: string }>(`GET /runs/${runs[1]!.id}`);
    expect(JSON.parse(failed.error_message)).toEqual({ code: -32603, message: `refused ${MASK}`, data: { detail: MASK } });
    const exited = await server.must<{ error_message: string }>(`GET /runs/${runs[2]!.id}`);
    expect(JSON.parse(exited.error_message)).toMatchObject({
      kind: 'process_exit',
      exit_code: 3,
      stderr_tail: expect.stringContaining(`stderr ${MASK}`) as string,
    });
  });
});

describe('an agent that says more than anybody wants to hear', () => {
  const FLOODING_AGENT = join(import.meta.dirname, '..', 'support', 'agents', 'flooding-agent.mjs');
  const mostMemory = (): number => Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${server.pid}/status`, 'utf8'))![1]) * 1024;

  it.each([
    ['5 MB at once', 'chunk', 4],
    ['100 MB in a turn', 'turn', 1_003],
    ['60,000 updates of tools', 'tools', 703],
  ])(
    'completes its run all the same, within the caps and bounded memory: %s',
    async (_what, mode, entries) => {
      const agentId = await hire({ adapter: 'custom', adapter_config: { command: [process.execPath, FLOODING_AGENT, mode] } });
      const taskId = await assign(agentId);
      const run = await waitFor(
        async () => {
          const last = await lastRun(taskId);
          return last?.status === 'completed' && last;
        },
        60_000,
        'the run to be completed',
      );
      const [sums] = (
        await db.query<{ n: number; kept: number; longest: number }>(
          `select count(*)::int as n, sum(octet_length(body))::int as kept, max(octet_length(body)) as longest from session_entries where run_id = $1`,
          [run.id],
        )
      ).rows;
      expect(sums!.n).toBe(entries);
      expect(sums!.kept).toBeLessThanOrEqual(65 * 1024 * 1024);
      expect(sums!.longest).toBeLessThanOrEqual(256 * 1024);
      const comments = await server.must<{ items: { body: string }[] }>(`GET /tasks/${taskId}/comments`);
      // The 5 MB and what follows them are one message to who hears both.
      expect(comments.items[0]!.body).toMatch(mode === 'chunk' ? /^x{32768}$/ : /^That was all\.$/);
      expect(mostMemory()).toBeLessThan(700 * 1024 * 1024);
    },
    90_000,
  );
});

describe('kill -9 in the middle of a talking agent', () => {
  const words = (entries: readonly Entry[]): number[] =>
    entries.filter(({ kind }) => kind === 'message').flatMap(({ body }) => [...body.matchAll(/word (\d+) /g)].map(([, n]) => Number(n)));

  it('costs at most 250 ms of talk; nothing is doubled after the resume, and readers by revision converge on the table', async () => {
    const random = seeded(7);
    for (let round = 0; round < faults(5); round++) {
      const agentId = await hire({ adapter: 'custom', adapter_config: { command: [process.execPath, TALKING_AGENT, '300', '5'] } });
      const taskId = await assign(agentId);
      const session = await waitFor(
        async () => (await lastRun(taskId))?.status === 'running' && (await sessionOf(taskId)),
        10_000,
        'the run',
      );
      const known = new Map<number, Entry>();
      let rev = 0;
      const poll = async (): Promise<void> => {
        const { items, last_rev } = await entriesOf(session.id, `&after_rev=${rev}`);
        for (const entry of items) known.set(entry.seq, entry);
        rev = last_rev;
      };
      await waitFor(async () => (await poll(), words([...known.values()]).length > 0), 10_000, 'the first word');
      const until = performance.now() + 300 + random() * 700;
      // What the machine itself keeps everybody waiting, for a beat of our own and for an answer of the server, is not ours.
      let waited = 0;
      let beat = performance.now();
      const beats = setInterval(() => {
        waited = Math.max(waited, performance.now() - beat - 10);
        beat = performance.now();
      }, 10);
      while (performance.now() < until) {
        const asked = performance.now();
        await poll();
        waited = Math.max(waited, performance.now() - asked);
      }
      clearInterval(beats);
      const killedAt = Date.now();
      await server.end('SIGKILL');

      const path = (await db.query<{ path: string }>(`select path from executors_running where session_id = $1`, [session.id])).rows[0]!
        .path;
      const kept = words(
        (await db.query<Entry>(`select seq, kind, body from session_entries where session_id = $1 order by seq`, [session.id])).rows,
      );
      const said = readFileSync(join(path, 'said.log'), 'utf8')
        .trim()
        .split('\n')
        .map((line) => line.split(' ').map(Number) as [number, number]);
      const before = said.filter(([, at]) => at < killedAt - 250 - waited).length;
      expect(kept).toEqual(kept.map((_, index) => index + 1));
      expect(kept.length, `of ${before} words said 250 ms before, on a machine that waits ${Math.round(waited)} ms`).toBeGreaterThanOrEqual(
        before,
      );

      await server.boot();
      await runThat(taskId, 'failed');
      await server.must(`POST /tasks/${taskId}/sessions/${session.id}/resume`);
      await runThat(taskId, 'completed');
      await poll();
      const all = (await entriesOf(session.id)).items;
      expect([...known.values()].sort((a, b) => a.seq - b.seq)).toEqual(all);
      const heard = words(all);
      expect(new Set(heard).size).toBe(heard.length);
      expect(heard.slice(0, kept.length)).toEqual(kept);
      expect(heard.slice(kept.length)).toHaveLength(300);
      expect(all.filter(({ kind }) => kind === 'prompt')).toHaveLength(2);
    }
  }, 120_000);
});
