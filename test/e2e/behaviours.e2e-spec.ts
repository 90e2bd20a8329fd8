import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { mockScript, processesWith, RealServer, waitFor } from '../support/real-server.js';

interface Run {
  id: string;
  status: string;
  waiting_on: string | null;
  error_message: string | null;
  error_summary: string | null;
  failure_kind: string | null;
  cancel_reason: string | null;
  session_id: string;
}

let server: RealServer;
let workspaceId: string;
beforeAll(async () => {
  server = await RealServer.start({
    env: { OFFICE_FIRST_EVENT_TIMEOUT_SEC: '5', OFFICE_RUN_TIMEOUT_SEC: '12', OFFICE_MAX_EXECUTIONS: '6' },
  });
  workspaceId = (await server.must<{ id: string }>('POST /workspaces', { name: 'Acme' })).id;
});
afterAll(() => server?.dispose());

const hire = async (about: object = {}): Promise<string> =>
  (await server.must<{ id: string }>(`POST /workspaces/${workspaceId}/agents`, { name: 'Ada', role: 'worker', adapter: 'mock', ...about }))
    .id;
const assign = async (agentId: string, ...steps: object[]): Promise<string> =>
  (
    await server.must<{ id: string }>(`POST /workspaces/${workspaceId}/tasks`, {
      title: 'Work',
      ...(steps.length === 0 ? {} : { description: mockScript(...steps) }),
      assignee_agent_instance_id: agentId,
    })
  ).id;
const runOf = async (taskId: string): Promise<Run | undefined> => {
  const { items } = await server.must<{ items: Run[] }>(`GET /workspaces/${workspaceId}/runs?task_id=${taskId}&limit=1`);
  return items[0] === undefined ? undefined : server.must<Run>(`GET /runs/${items[0].id}`);
};
const over = (taskId: string, ms = 30_000): Promise<Run> =>
  waitFor(
    async () => {
      const run = await runOf(taskId);
      return run !== undefined && !['queued', 'running', 'scheduled_retry'].includes(run.status) && run;
    },
    ms,
    `the run of ${taskId} to end`,
  );
const sessionState = async (run: Run): Promise<unknown> => (await server.must(`GET /sessions/${run.session_id}`)).state;
const custom = (...command: string[]) => hire({ adapter: 'custom', adapter_config: { command } });
const gone = (run: Run): Promise<unknown> =>
  waitFor(() => processesWith(`OFFICE_RUN_ID=${run.id}`).length === 0, 13_000, 'its processes to be gone');

describe.concurrent('an agent that', () => {
  it.each([
    ['does its work', [{ say: 'hi' }], 'completed', null],
    ['leaves a grandchild that holds its stdout', [{ spawn_child: { hold_stdout: true } }, { say: 'hi' }], 'completed', null],
    ['prints garbage between its frames', [{ raw: 'not json' }, { raw: '{"half":' }, { say: 'hi' }], 'completed', null],
    ['has no word to say for SIGTERM after its turn', [{ ignore_sigterm: true }, { say: 'hi' }], 'completed', null],
    ['answers with an error and exits 0', [{ fail: { code: -32603, message: 'No.' } }, { exit: { code: 0 } }], 'failed', '"message":"No."'],
    ['dies in its turn', [{ say: 'hi' }, { exit: { code: 7 } }], 'failed', '"kind":"process_exit","exit_code":7'],
    ['is killed in its turn', [{ say: 'hi' }, { exit: { signal: 'SIGKILL' } }], 'failed', '"signal":"SIGKILL"'],
    ['never says anything', [{ hang: true }], 'failed', '"kind":"no_first_event"'],
    ['says nothing at all and ends its turn', [{ stop: 'end_turn' }], 'failed', '"kind":"empty_turn"'],
    ['refuses', [{ say: 'I will not' }, { stop: 'refusal' }], 'failed', '"kind":"refusal"'],
    ['stops for a reason nobody knows', [{ say: 'hi' }, { stop: 'because' }], 'failed', '"kind":"malformed_frame"'],
    ['runs out of tokens', [{ say: 'hi' }, { stop: 'max_tokens' }], 'completed', null],
    ['talks for ever', [{ say: 'hi' }, { hang: true }], 'timed_out', '"kind":"run_timeout"'],
    ['fails to open a session', [{ fail_launch: { code: -32000, message: 'sign in', at: 'session' } }], 'failed', 'sign in'],
  ] as const)('%s', async (_name, steps, status, said) => {
    const agentId = await hire();
    const taskId = await assign(agentId, ...steps);
    const run = await over(taskId);
    expect(run.status, run.error_message ?? '').toBe(status);
    expect(run.error_message ?? '').toContain(said ?? '');
    expect(run.error_message === null).toBe(said === null);
    expect(await sessionState(run)).toBe(status === 'completed' ? 'IDLE' : 'FAILED');
    expect(await server.must(`GET /agents/${agentId}`)).toMatchObject({ consecutive_failures: status === 'completed' ? 0 : 1 });
    await gone(run);
  });

  it.each([
    ['dies before its first frame', ['/bin/false'], '"kind":"process_exit","exit_code":1'],
    ['hangs at initialize', ['/bin/sleep', '100'], '"kind":"start_timeout","phase":"initialize"'],
    ['only echoes what we say', ['/bin/cat'], 'Method not found'],
    ['does not exist', ['/no/such/program'], '"kind":"spawn_failed"'],
  ] as const)('%s', async (_name, command, said) => {
    const run = await over(await assign(await custom(...command)));
    expect(run).toMatchObject({ status: 'failed', failure_kind: 'error' });
    expect(run.error_message).toContain(said);
    await gone(run);
  });
});

describe.concurrent('a hostile payload', () => {
  const hostile = ['NUL \u0000 here', 'lone \uD800 surrogate', '\u202E RTL', '\u001B[31m ANSI', '😀'.repeat(1_000)];
  it.each(hostile)('fails its own run and nothing else: %j', async (text) => {
    const neighbour = await assign(await hire(), { sleep_ms: 100 }, { say: 'unmoved' });
    const run = await over(await assign(await hire(), { say: text }, { fail: { code: -32603, message: text, data: { deep: text } } }));
    expect(run.status).toBe('failed');
    expect(run.error_message).not.toContain('\u0000');
    expect(run.error_message!.isWellFormed()).toBe(true);
    expect((await over(neighbour)).status).toBe('completed');
  });

  it('takes a 10 MB error and keeps its ends', async () => {
    const run = await over(await assign(await custom(process.execPath, '-e', BIG_ERROR)));
    expect(run.status).toBe('failed');
    expect(Buffer.byteLength(run.error_message!)).toBeLessThan(1_048_576);
    expect(run.error_message).toContain('begin');
    expect(run.error_message).toContain('end"');
    expect(run.error_summary!.length).toBeLessThanOrEqual(200);
  });

  it('survives a 50 MB frame and JSON that is 100,000 deep', async () => {
    const deep = `{"jsonrpc":"2.0","method":"session/update","params":${'['.repeat(100_000)}${']'.repeat(100_000)}}`;
    const run = await over(await assign(await hire(), { raw: deep.slice(0, 60_000) }, { say: 'still here' }));
    expect(run.status).toBe('completed');
    const big = await over(await assign(await custom(process.execPath, '-e', BIG_FRAME)));
    expect(big.status).toBe('completed');
    expect(server.alive).toBe(true);
  });
});

/** A minimal agent: answers initialize and session/new, and the prompt with what `answer` says. */
const agentThat = (answer: string): string => `
  const send = (m) => process.stdout.write(JSON.stringify({ jsonrpc: '2.0', ...m }) + '\\n');
  require('readline').createInterface({ input: process.stdin }).on('line', (line) => {
    const { id, method, params } = JSON.parse(line);
    if (method === 'initialize') send({ id, result: { protocolVersion: 1, agentCapabilities: {} } });
    if (method === 'session/new') send({ id, result: { sessionId: 's1' } });
    if (method === 'session/prompt') { ${answer} }
  });`;
const BIG_ERROR = agentThat(`send({ id, error: { code: -32603, message: 'begin ' + 'x'.repeat(10_000_000) + ' end' } });`);
const BIG_FRAME = agentThat(`
  send({ method: 'session/update', params: { sessionId: 's1', update: { sessionUpdate: 'agent_message_chunk', content: { type: 'text', text: 'y'.repeat(50_000_000) } } } });
  send({ id, result: { stopReason: 'end_turn' } });`);

describe('a person', () => {
  it('pauses an agent: its wakes wait, say so, and run after the pause, every one of them', async () => {
    const agentId = await hire();
    await server.must(`POST /agents/${agentId}/pause`, { reason: 'holiday' });
    const tasks = [await assign(agentId), await assign(agentId)];
    for (const taskId of tasks) expect(await runOf(taskId)).toMatchObject({ status: 'queued', waiting_on: 'agent_paused' });
    await server.must(`POST /tasks/${tasks[0]}/comments`, { body: 'still there?' });
    expect(await server.must(`GET /agents/${agentId}`)).toMatchObject({ status: 'paused', pause_reason: 'holiday' });
    await server.must(`POST /agents/${agentId}/unpause`);
    for (const taskId of tasks) expect((await over(taskId)).status).toBe('completed');
  });

  it('cancels a run that hangs and will not listen: cancelled, never shown as success, no process left', async () => {
    const agentId = await hire();
    const taskId = await assign(agentId, { ignore_sigterm: true }, { say: 'hi' }, { hang: true });
    const run = await waitFor(
      async () => {
        const now = await runOf(taskId);
        return now?.session_id != null && (await sessionState(now)) === 'RUNNING' && now;
      },
      10_000,
      'the turn to begin',
    );
    const { status, body } = await server.call(`POST /runs/${run.id}/cancel`);
    expect(status).toBe(202);
    expect(body).toMatchObject({ run_id: run.id, status: 'running' });
    const ended = await over(taskId, 15_000);
    expect(ended).toMatchObject({ status: 'cancelled', cancel_reason: 'cancelled_by_person' });
    expect(await sessionState(ended)).toBe('IDLE');
    await gone(ended);
    expect((await server.call(`POST /runs/${run.id}/cancel`)).status).toBe(409);
  });

  it('interrupts with a comment: the turn stops, the comment is answered next, in the same conversation', async () => {
    const agentId = await hire();
    const taskId = await assign(agentId, { say: 'first' }, { sleep_ms: 8_000, when: { turn: [1] } });
    await waitFor(async () => (await runOf(taskId))?.status === 'running', 10_000, 'the run');
    const first = await waitFor(
      async () => {
        const now = await runOf(taskId);
        return now?.session_id != null && (await sessionState(now)) === 'RUNNING' && now;
      },
      10_000,
      'the turn to begin',
    );
    await server.must(`POST /tasks/${taskId}/comments`, { body: 'wait, other way', interrupt: true });
    const second = await waitFor(
      async () => {
        const now = await runOf(taskId);
        return now !== undefined && now.id !== first.id && now.status === 'completed' && now;
      },
      25_000,
      'the next run to complete',
    );
    expect(second.session_id).toBe(first.session_id);
    expect(await server.must(`GET /runs/${first.id}`)).toMatchObject({ status: 'cancelled', cancel_reason: 'interrupted_by_comment' });
  });

  it('brings a failed pair back with a comment', async () => {
    const agentId = await hire();
    const taskId = await assign(agentId, { fail: { code: -32603, message: 'no' }, when: { turn: [1] } }, { say: 'better' });
    expect((await over(taskId)).status).toBe('failed');
    expect(await server.must(`GET /agents/${agentId}`)).toMatchObject({ open_failures: 1, consecutive_failures: 1 });
    await server.must(`POST /tasks/${taskId}/comments`, { body: 'try again' });
    await waitFor(async () => (await runOf(taskId))?.status === 'completed', 15_000, 'the second run');
    expect(await server.must(`GET /agents/${agentId}`)).toMatchObject({ open_failures: 0, consecutive_failures: 0 });
  });

  it('reassigns a task whose agent is at work: the old run ends cancelled, the new one is untouched', async () => {
    const [oldAgent, newAgent] = [await hire(), await hire()];
    const taskId = await assign(oldAgent, { say: 'mine' }, { sleep_ms: 3_000 }, { say: 'done' });
    const first = await waitFor(
      async () => {
        const now = await runOf(taskId);
        return now?.status === 'running' && now;
      },
      10_000,
      'the first run',
    );
    await server.must(`PATCH /tasks/${taskId}`, { assignee_agent_instance_id: newAgent, description: mockScript({ say: 'mine now' }) });
    const second = await waitFor(
      async () => {
        const now = await runOf(taskId);
        return now !== undefined && now.id !== first.id && now.status === 'completed' && now;
      },
      20_000,
      'the new agent’s run',
    );
    expect(await server.must(`GET /runs/${first.id}`)).toMatchObject({ status: 'cancelled', cancel_reason: 'assignee_changed' });
    expect(second.session_id).not.toBe(first.session_id);
  });
});
