import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { faults, mockScript, RealServer, waitFor } from '../support/real-server.js';

interface Attempt {
  claimed_at: string;
  finished_at: string | null;
  outcome: string | null;
  error_code: string | null;
  rule: string | null;
}
interface Run {
  id: string;
  status: string;
  reason: string;
  agent_id: string;
  retry_count: number;
  waiting_on: string | null;
  waiting_until: string | null;
  error_message: string | null;
  error_class: string | null;
  error_code: string | null;
  hint: string | null;
  cancel_reason: string | null;
  claimed_at: string | null;
  attempts: Attempt[];
}

const ROOT = join(import.meta.dirname, '..', '..');
const OVERLOADED = { code: -32603, message: 'Internal error: API Error: 529 Overloaded', data: { errorKind: 'server_error' } };
const failOnce = { fail: OVERLOADED, when: { attempt: 1 } };
const failAlways = { fail: OVERLOADED };

let server: RealServer;
let workspaceId: string;
const newWorkspace = async (): Promise<string> => (await server.must<{ id: string }>('POST /workspaces', { name: 'Acme' })).id;
beforeAll(async () => {
  server = await RealServer.start({ env: { OFFICE_RETRY_DELAYS_SEC: '1,1', OFFICE_RESET_MARGIN_SEC: '0', OFFICE_MAX_EXECUTIONS: '6' } });
  workspaceId = await newWorkspace();
});
afterAll(() => server?.dispose());

const hire = async (about: object = {}, workspace = workspaceId): Promise<string> =>
  (await server.must<{ id: string }>(`POST /workspaces/${workspace}/agents`, { name: 'Ada', role: 'worker', adapter: 'mock', ...about }))
    .id;
const assign = async (agentId: string, steps: readonly object[], workspace = workspaceId): Promise<string> =>
  (
    await server.must<{ id: string }>(`POST /workspaces/${workspace}/tasks`, {
      title: 'Work',
      description: mockScript(...steps),
      assignee_agent_instance_id: agentId,
    })
  ).id;
const runsOf = async (taskId: string, workspace = workspaceId): Promise<Run[]> =>
  (await server.must<{ items: Run[] }>(`GET /workspaces/${workspace}/runs?task_id=${taskId}`)).items;
const runOf = async (taskId: string, workspace = workspaceId): Promise<Run | undefined> => {
  const [last] = await runsOf(taskId, workspace);
  return last === undefined ? undefined : server.must<Run>(`GET /runs/${last.id}`);
};
const runThat = (taskId: string, status: string, workspace = workspaceId): Promise<Run> =>
  waitFor(
    async () => {
      const run = await runOf(taskId, workspace);
      return run?.status === status && run;
    },
    20_000,
    `the run of ${taskId} to be ${status}`,
  );
const failures = async (agentId: string): Promise<unknown> => {
  const { consecutive_failures, open_failures } = await server.must(`GET /agents/${agentId}`);
  return [consecutive_failures, open_failures];
};

describe('an agent whose provider is overloaded for a moment', () => {
  it('is tried again on its own row, in time, and nobody hears of it', async () => {
    const agentId = await hire();
    const taskId = await assign(agentId, [failOnce, { say: 'done' }]);
    const run = await runThat(taskId, 'completed');
    expect(await runsOf(taskId)).toHaveLength(1);
    expect(run).toMatchObject({ retry_count: 1, error_message: null, hint: null });
    expect(run.attempts.map(({ outcome, error_code }) => [outcome, error_code])).toEqual([
      ['error', 'overloaded'],
      ['turn_ended', null],
    ]);
    const late = Date.parse(run.attempts[1]!.claimed_at) - Date.parse(run.attempts[0]!.finished_at!) - 1_000;
    expect(late).toBeGreaterThanOrEqual(-5);
    expect(late).toBeLessThan(1_000);
    expect(await failures(agentId)).toEqual([0, 0]);
  });

  it('shows its retry with the time and that nobody has to do anything', async () => {
    const agentId = await hire();
    const taskId = await assign(agentId, [failOnce, { say: 'done' }]);
    // First its old process has to be gone: until then the task is busy.
    const run = await waitFor(
      async () => {
        const now = await runOf(taskId);
        return now?.waiting_on === 'retry_scheduled' && now;
      },
      20_000,
      'the retry to wait',
    );
    expect(run).toMatchObject({
      status: 'scheduled_retry',
      error_class: 'transient',
      error_code: 'overloaded',
      hint: 'nothing to do, retrying',
    });
    expect(Date.parse(run.waiting_until!)).toBeGreaterThan(0);
    await runThat(taskId, 'completed');
  });

  it('fails, counted once, after two retries', async () => {
    const agentId = await hire();
    const run = await runThat(await assign(agentId, [failAlways]), 'failed');
    expect(run).toMatchObject({ retry_count: 2, error_class: 'transient', hint: 'resume later' });
    expect(run.attempts).toHaveLength(3);
    expect(await failures(agentId)).toEqual([1, 1]);
  });

  it.each([
    ['output', { say: 'I begin.' }],
    ['a tool call', { tool: 'look around' }],
  ])('fails at once after %s', async (_what, step) => {
    const agentId = await hire();
    const run = await runThat(await assign(agentId, [step, failAlways]), 'failed');
    expect(run).toMatchObject({ retry_count: 0, error_class: 'transient' });
    expect(await failures(agentId)).toEqual([1, 1]);
  });
});

describe('a failure that lasts', () => {
  it('fails at once and says who must act', async () => {
    const agentId = await hire();
    const run = await runThat(await assign(agentId, [{ fail: { code: -32000, message: 'Authentication required' } }]), 'failed');
    expect(run).toMatchObject({ retry_count: 0, error_class: 'hard', error_code: 'auth', hint: 'sign in to mock' });
    expect(run.error_message).toContain('Authentication required');
  });

  it('is told to the coordinator, once', async () => {
    const office = await newWorkspace();
    const chief = await hire({ name: 'Chief', role: 'ceo' }, office);
    const agentId = await hire({}, office);
    // The coordinator plays the same script of the task; by its own turn there is nothing to fail at.
    const taskId = await assign(
      agentId,
      [{ fail: { code: -32000, message: 'Authentication required' }, when: { turn: 1, attempt: 1 } }],
      office,
    );
    await waitFor(async () => (await runsOf(taskId, office)).length === 2, 20_000, 'the coordinator to be woken');
    const runs = await runsOf(taskId, office);
    expect(runs.map(({ agent_id, reason }) => [agent_id, reason])).toEqual([
      [chief, 'agent_error'],
      [agentId, 'task_assigned'],
    ]);
    await runThat(taskId, 'failed', office);
    // The coordinator failed too, and nobody is told of that.
    expect(await runsOf(taskId, office)).toHaveLength(2);
  });
});

describe('while a retry waits', () => {
  const slow = async (): Promise<RealServer> => RealServer.start({ env: { OFFICE_RETRY_DELAYS_SEC: '3,3', OFFICE_DRAIN_SEC: '1' } });

  it(
    'a server that is killed comes back and retries once; reassigned, cancelled and paused work does not run',
    { timeout: 90_000 },
    async () => {
      const before = server;
      server = await slow();
      const office = await newWorkspace();
      try {
        const steps = [failOnce, { say: 'done' }];
        const [survivor, moved, closed, paused] = await Promise.all(
          ['survivor', 'moved', 'closed', 'paused'].map(async (name) => {
            const agentId = await hire({ name }, office);
            return { agentId, taskId: await assign(agentId, steps, office) };
          }),
        );
        const other = await hire({ name: 'other' }, office);
        await server.must(`POST /agents/${other}/pause`, {});
        for (const { taskId } of [survivor!, moved!, closed!, paused!]) await runThat(taskId, 'scheduled_retry', office);
        await server.must(`PATCH /tasks/${moved!.taskId}`, { assignee_agent_instance_id: other });
        await server.must(`POST /runs/${(await runOf(closed!.taskId, office))!.id}/cancel`);
        await server.must(`POST /agents/${paused!.agentId}/pause`, {});
        await server.end('SIGKILL');
        await server.boot();

        const run = await runThat(survivor!.taskId, 'completed', office);
        expect(run).toMatchObject({ retry_count: 1 });
        expect(run.attempts).toHaveLength(2);
        expect(await runsOf(survivor!.taskId, office)).toHaveLength(1);
        await server.must(`POST /agents/${other}/unpause`, {});
        const ofMoved = await waitFor(
          async () => {
            const runs = await runsOf(moved!.taskId, office);
            return runs.some(({ agent_id, status }) => agent_id === other && status === 'completed') && runs;
          },
          20_000,
          'the new assignee to finish',
        );
        expect(ofMoved.find(({ agent_id }) => agent_id === moved!.agentId)).toMatchObject({ status: 'cancelled' });
        expect(await runOf(closed!.taskId, office)).toMatchObject({ status: 'cancelled', cancel_reason: 'cancelled_by_person' });
        expect(await runOf(paused!.taskId, office)).toMatchObject({ status: 'scheduled_retry', waiting_on: 'agent_paused' });
        await server.must(`POST /agents/${paused!.agentId}/unpause`, {});
        await runThat(paused!.taskId, 'completed', office);
      } finally {
        await server.dispose();
        server = before;
      }
    },
  );
});

describe('a limit with an end', () => {
  const limit = (seconds: number) => ({
    fail: { code: -32603, message: 'usage limit', data: { type: 'usage_limit_reached', resets_in_seconds: seconds } },
    when: { turn: 1 },
  });
  const holds = async (office: string) =>
    (await server.must<{ items: { id: string; waiting_runs: number; held_until: string }[] }>(`GET /workspaces/${office}/provider-holds`))
      .items;
  const behind = async (office: string, howMany: number): Promise<string[]> =>
    Promise.all(Array.from({ length: howMany }, async () => assign(await hire({}, office), [{ sleep_ms: 300 }, { say: 'done' }], office)));

  it('is one attempt, ever, where nobody wants to wait', async () => {
    const office = await newWorkspace();
    const agentId = await hire({}, office);
    const run = await runThat(await assign(agentId, [limit(2)], office), 'failed', office);
    expect(run).toMatchObject({ retry_count: 0, error_class: 'hard', error_code: 'quota' });
    expect(run.hint).toMatch(/^wait for \d{4}-\d\d-\d\d \d\d:\d\d UTC$/);
    expect(run.attempts).toHaveLength(1);
    expect(await holds(office)).toEqual([]);
  });

  it('holds whoever is behind it, lets one go first, then the others', async () => {
    const office = await newWorkspace();
    await server.must(`PATCH /workspaces/${office}/settings`, { wait_for_reset: 'on' });
    await runThat(await assign(await hire({}, office), [limit(3)], office), 'failed', office);
    const [hold] = await holds(office);
    const tasks = await behind(office, 3);
    const waiting = await waitFor(
      async () => {
        const runs = await Promise.all(tasks.map((taskId) => runOf(taskId, office)));
        return runs.every((run) => run !== undefined) && (runs as Run[]);
      },
      5_000,
      'the runs to be there',
    );
    expect(waiting.map(({ waiting_on, waiting_until }) => [waiting_on, waiting_until])).toEqual(
      waiting.map(() => ['provider_limited', hold!.held_until]),
    );
    const runs = await Promise.all(tasks.map((taskId) => runThat(taskId, 'completed', office)));
    const claims = runs.map(({ attempts }) => attempts[0]!).toSorted((a, b) => a.claimed_at.localeCompare(b.claimed_at));
    expect(Date.parse(claims[0]!.claimed_at)).toBeGreaterThanOrEqual(Date.parse(hold!.held_until));
    expect(Date.parse(claims[1]!.claimed_at)).toBeGreaterThanOrEqual(Date.parse(claims[0]!.finished_at!));
    expect(await holds(office)).toEqual([]);
  });

  it('survives a restart and ends at once when a person lifts it; others do not notice it', { timeout: 60_000 }, async () => {
    const office = await newWorkspace();
    await server.must(`PATCH /workspaces/${office}/settings`, { wait_for_reset: 'on' });
    await runThat(await assign(await hire({}, office), [limit(3_600)], office), 'failed', office);
    const tasks = await behind(office, faults(10));
    await server.end('SIGKILL');
    await server.boot();
    const began = performance.now();
    const elsewhere = await hire({ adapter_config: { env: { API_KEY: 'another' } } }, office);
    await runThat(await assign(elsewhere, [{ say: 'done' }], office), 'completed', office);
    expect(performance.now() - began).toBeLessThan(10_000);
    const [hold] = await holds(office);
    expect(hold!.waiting_runs).toBe(tasks.length);
    expect(await server.must(`DELETE /workspaces/${office}/provider-holds/${hold!.id}`)).toEqual({ id: hold!.id, lifted: true });
    for (const taskId of tasks) await runThat(taskId, 'completed', office);
    expect((await server.call(`DELETE /workspaces/${office}/provider-holds/${hold!.id}`)).body).toEqual({ id: hold!.id, lifted: false });
  });
});

describe('a captured failure of a real agent', () => {
  it.each([
    ['claude', 'claude-agent-acp-fake-529-maxretries1', 'the error repeated as a message'],
    ['codex', 'codex-acp-fake-503', 'a notice at its start'],
    ['codex', 'codex-acp2-fake-503', 'an error in disguise'],
  ])('of %s is really retried (%s: %s)', async (adapter, capture) => {
    const agent = join(ROOT, 'test', 'support', 'agents', 'replay-agent.mjs');
    const command = [process.execPath, agent, join(ROOT, 'test', 'fixtures', 'acp', `${capture}.ndjson`)];
    const agentId = await hire({ adapter, adapter_config: { command } });
    const taskId = await assign(agentId, []);
    const run = await waitFor(
      async () => {
        const now = await runOf(taskId);
        return now !== undefined && now.retry_count >= 1 && now;
      },
      20_000,
      'a retry',
    );
    expect(run.attempts[0]).toMatchObject({ outcome: 'error', error_code: 'overloaded' });
    await server.call(`POST /runs/${run.id}/cancel`);
  });
});

describe('npm run classify', () => {
  const classify = (...args: string[]) =>
    spawnSync(process.execPath, [join(ROOT, 'dist', 'src', 'diagnosis', 'classify.main.js'), ...args], { encoding: 'utf8' });
  const classifyText = (command: string, input: string) =>
    spawnSync(process.execPath, [join(ROOT, 'dist', 'src', 'diagnosis', 'classify.main.js'), command, '-'], { encoding: 'utf8', input });
  const file = join(ROOT, 'test', 'fixtures', 'provider-errors.jsonl');

  it('prints one line for each payload and nothing else', () => {
    const { stdout, stderr, status } = classify('batch', file);
    const lines = stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, unknown>);
    expect([status, stderr, lines.length]).toEqual([0, '', 138]);
    for (const line of lines) expect(Object.keys(line)).toEqual(['id', 'class', 'code', 'retryable', 'rule']);
  });

  it('reads what editors and hands make of a file, and says of each line it cannot read which it is', () => {
    const lines = [
      '\uFEFF{"id":"a","provider":"claude","payload":"529 overloaded"}\r',
      '',
      '{"id":',
      '{"id":"b"}',
      '{"payload":"401 Unauthorized"}',
    ];
    const odd = classifyText('batch', lines.join('\n'));
    expect(
      odd.stdout
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line) as unknown),
    ).toEqual([
      { id: 'a', class: 'transient', code: 'overloaded', retryable: true, rule: 'claude.overloaded' },
      { id: 5, class: 'hard', code: 'auth', retryable: false, rule: 'auth.unauthorized' },
    ]);
    expect([odd.stderr, odd.status]).toEqual(['line 3 is no JSON\nline 4 has no payload\n', 1]);
    const unlabelled = classifyText('report', `${lines[0]}\n{"payload":"x","class":"terminal","code":"unknown"}\n`);
    expect([unlabelled.stderr, unlabelled.status]).toEqual(['line 1 has no class to compare with\n', 1]);
    expect(unlabelled.stdout).toContain('codes right: 1 of 1');
    expect(classifyText('batch', '')).toMatchObject({ stdout: '', stderr: '', status: 0 });
  });

  it('reports, explains, and says how it is called', () => {
    expect(classify('report').stdout).toContain('terminal called retryable: 0\n');
    expect(classify('explain', file).stdout).toContain('decided by claude.overloaded (exact)');
    expect(classify()).toMatchObject({ status: 1, stdout: '' });
  });
});
