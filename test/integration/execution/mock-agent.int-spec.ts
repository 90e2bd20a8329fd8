import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { ExecutionRoom, processesOf, waitFor } from './execution-room.js';

const room = new ExecutionRoom();
afterAll(() => room.close());

const block = (script: unknown): string => `Do this:\n\`\`\`mock\n${JSON.stringify(script)}\n\`\`\`\n`;
const prompted = (script: unknown) => ({ spec: { prompt: { preamble: 'P', turn: block(script) } } });

describe('the mock agent', () => {
  it('says hello without a script', async () => {
    const agent = await room.mock(undefined);
    expect(await agent.outcome()).toEqual({
      kind: 'turn_ended',
      stopReason: 'end_turn',
      usage: null,
      lastMessage: 'Hello from the mock agent.',
    });
    await agent.stop();
    await agent.gone();
  });

  it('does its steps in order', async () => {
    const agent = await room.mock(
      [
        { think: 'hm' },
        { tool: 'grep' },
        { write_file: { path: 'out/{{task_id}}.txt', content: 'by {{run_id}}' } },
        { stderr: 'diagnostics' },
        { update: { sessionUpdate: 'plan', entries: [] } },
        { raw: 'not a frame' },
        { say: 'for {{workspace_id}} and {{agent_id}}' },
        { sleep_ms: 1 },
        { stop: 'max_tokens', usage: { inputTokens: 1, outputTokens: 2, totalTokens: 3 } },
        { say: 'never' },
      ],
      { spec: { env: { HOME: room.home, OFFICE_TASK_ID: 'T', OFFICE_RUN_ID: 'R', OFFICE_WORKSPACE_ID: 'W', OFFICE_AGENT_ID: 'A' } } },
    );
    expect(await agent.outcome()).toEqual({
      kind: 'turn_ended',
      stopReason: 'max_tokens',
      usage: { inputTokens: 1, outputTokens: 2, totalTokens: 3 },
      lastMessage: 'for W and A',
    });
    expect(agent.all('update').map(({ update }) => update['sessionUpdate'])).toEqual([
      'agent_thought_chunk',
      'tool_call',
      'tool_call_update',
      'tool_call',
      'tool_call_update',
      'plan',
      'agent_message_chunk',
    ]);
    expect(readFileSync(join(room.folder, 'out/T.txt'), 'utf8')).toBe('by R');
    await agent.stop();
  });

  it('obeys the prompt before its configuration, and a script of any size', async () => {
    const agent = await room.mock([{ say: 'configured' }], prompted([{ say: 'x'.repeat(300_000) }]));
    const outcome = await agent.outcome();
    expect('lastMessage' in outcome && outcome.lastMessage).toBe('x'.repeat(32 * 1024));
    await agent.stop();
    const configured = await room.mock([{ say: 'y'.repeat(300_000) }]);
    expect(await configured.outcome()).toMatchObject({ kind: 'turn_ended' });
    await configured.stop();
  });

  it('fails as it is told: the prompt, the launch, the session', async () => {
    const error = { code: -32001, message: 'no', data: { a: 1 } };
    const prompt = await room.mock([{ fail: error }]);
    const launch = await room.mock([{ fail_launch: { ...error, at: 'initialize' } }]);
    const session = await room.mock(undefined, prompted([{ fail_launch: error }]));
    for (const [agent, phase] of [
      [prompt, 'prompt'],
      [launch, 'initialize'],
      [session, 'session'],
    ] as const) {
      expect(await agent.payload()).toBe(JSON.stringify(error));
      expect(await agent.outcome()).toMatchObject({ evidence: { phase } });
      await agent.gone();
    }
  });

  it.each([
    ['a script that is none', { say: 'x' }, /list of steps/],
    ['a step that is unknown', [{ dance: true }], /unknown mock step: dance/],
    ['a block that is no JSON', undefined, /list of steps/],
  ])('refuses %s', async (_what, script, said) => {
    const agent =
      script === undefined
        ? await room.mock(undefined, { spec: { prompt: { preamble: '', turn: '```mock\n[{\n```' } } })
        : await room.mock(script);
    expect(await agent.payload()).toMatch(said);
  });

  it('is another agent at another attempt or turn', async () => {
    const script = [
      { fail: { code: 1, message: 'first' }, when: { attempt: [1] } },
      { say: 'turn one', when: { turn: [1] } },
      { say: 'turn two', when: { turn: [2] } },
    ];
    const env = (attempt: string) => ({ spec: { env: { HOME: room.home, OFFICE_RUN_ATTEMPT: attempt, OFFICE_SESSION_TURN: '1' } } });
    expect(await (await room.mock(script, env('1'))).payload()).toContain('first');
    const second = await room.mock(script, env('2'));
    expect(await second.outcome()).toMatchObject({ lastMessage: 'turn one' });
    await room.runtime.resume(second.executionId, 'again');
    expect(await second.outcome(2)).toMatchObject({ lastMessage: 'turn two' });
    await second.stop();
  });

  it('remembers its session in another process: history, and the script of its prompt', async () => {
    const first = await room.mock(
      undefined,
      prompted([
        { say: 'one', when: { turn: [1] } },
        { say: 'two', when: { turn: [2] } },
      ]),
    );
    await first.outcome();
    const { acpSessionId } = await first.until('session_ready');
    await first.stop();
    const second = await room.mock([{ say: 'configured' }], {
      spec: { acpSessionId, env: { HOME: room.home, OFFICE_SESSION_TURN: '2' }, prompt: { preamble: 'P', turn: 'go on' } },
    });
    expect(await second.until('session_ready')).toMatchObject({ acpSessionId, loaded: true, promptSent: 'go on' });
    expect(await second.outcome()).toMatchObject({ lastMessage: 'two' });
    await second.stop();
  });

  it('does not know a session of another home or folder, and forgets one when told', async () => {
    const first = await room.mock(undefined);
    const { acpSessionId } = await first.until('session_ready');
    await first.outcome();
    await first.stop();
    const elsewhere = await room.mock(undefined, { spec: { acpSessionId, cwd: room.root } });
    expect(await elsewhere.until('session_ready')).toMatchObject({ loaded: false, loadFailure: 'Resource not found' });
    const told = await room.mock([{ fail_load: { code: -32603, message: 'lost' } }], { spec: { acpSessionId } });
    expect(await told.until('session_ready')).toMatchObject({ loaded: false, loadFailure: 'lost' });
    await Promise.all([elsewhere.stop(), told.stop()]);
  });

  it('dies, hangs, ignores and leaves children as told', async () => {
    const exits = await room.mock([{ exit: { code: 5 } }]);
    const killed = await room.mock([{ exit: { signal: 'SIGKILL' } }]);
    expect(await exits.failure()).toMatchObject({ kind: 'process_exit', exit_code: 5 });
    expect(await killed.failure()).toMatchObject({ kind: 'process_exit', signal: 'SIGKILL' });
    const stubborn = await room.mock([
      { ignore_sigterm: true },
      { spawn_child: { hold_stdout: true } },
      { spawn_child: { setsid: true } },
      { say: 'x' },
      { hang: true },
    ]);
    await stubborn.until('update');
    await waitFor('its children', () => processesOf(stubborn.executionId).length === 3);
    await stubborn.stop();
    expect(processesOf(stubborn.executionId)).toEqual([]);
  });

  it('heeds a cancel while it sleeps', async () => {
    const agent = await room.mock([{ say: 'x' }, { sleep_ms: 60_000 }], { limits: { graceMs: 10_000 } });
    await agent.until('update');
    const start = performance.now();
    await agent.stop();
    expect(performance.now() - start).toBeLessThan(3_000);
  });

  it('asks for a permission and says what it was answered', async () => {
    const agent = await room.mock([{ ask_permission: { title: 'rm -rf' } }], { config: { permissionPolicy: 'allow' } });
    expect(await agent.outcome()).toMatchObject({ lastMessage: 'permission: yes' });
    await agent.stop();
  });

  it('calls the office with its key, tells the answer as a tool, and fails on another than expected', async () => {
    const heard: { request: IncomingMessage; body: string }[] = [];
    const server = createServer((request, response) => {
      let body = '';
      request.on('data', (chunk: Buffer) => (body += chunk.toString()));
      request.on('end', () => {
        heard.push({ request, body });
        response.writeHead(201, { 'content-type': 'application/json' }).end('{"ok":true}');
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const env = { HOME: room.home, OFFICE_API_URL: `http://127.0.0.1:${port}/api/v1`, OFFICE_API_KEY: 'key', OFFICE_TASK_ID: 'T' };
    const call = { method: 'POST', path: '/runtime/tasks/{{task_id}}/status', body: { status: 'done' } };
    const agent = await room.mock([{ call: { ...call, expect: 201 } }, { call: { ...call, expect: 409 } }], { spec: { env } });
    expect(await agent.payload()).toContain('POST /runtime/tasks/T/status answered 201, not 409');
    expect(heard[0]!.request.url).toBe('/api/v1/runtime/tasks/T/status');
    expect(heard[0]!.request.headers.authorization).toBe('Bearer key');
    expect(heard[0]!.body).toBe('{"status":"done"}');
    expect(agent.all('update')[1]!.update).toMatchObject({ status: 'completed', rawOutput: { status: 201, body: '{"ok":true}' } });
    server.closeAllConnections();
    server.close();
  });
});
