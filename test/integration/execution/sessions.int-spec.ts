import { afterAll, describe, expect, it } from 'vitest';
import { ExecutionRoom } from './execution-room.js';

const room = new ExecutionRoom();
afterAll(() => room.close());

const DONE = ['reply', { stopReason: 'end_turn' }] as const;
const resume = { acpSessionId: 'old' };

describe('a session that is loaded', () => {
  it('gets the turn alone, and its replayed history is neither told nor content', async () => {
    const agent = await room.launch({
      spec: resume,
      deeds: {
        'session/load': [
          ['update', { sessionUpdate: 'agent_message_chunk', content: { type: 'text', text: 'history' } }, 'old'],
          ['reply', {}],
        ],
        'session/prompt': [['echo'], DONE],
      },
    });
    expect(await agent.until('session_ready')).toMatchObject({
      acpSessionId: 'old',
      loaded: true,
      loadFailure: null,
      promptSent: 'Do it.',
    });
    expect(await agent.failure()).toEqual({ kind: 'empty_turn' });
    expect(agent.all('update')).toEqual([]);
  });

  it('keeps its id although the answer names none, and is prompted under it', async () => {
    const agent = await room.launch({
      spec: resume,
      deeds: { 'session/load': [['reply', null]], 'session/prompt': [['update', { sessionUpdate: 'plan' }, 'old'], DONE] },
    });
    expect(await agent.outcome()).toMatchObject({ kind: 'turn_ended' });
    expect(room.runtime.getExecution(agent.executionId)?.acpSessionId).toBe('old');
    await agent.stop();
  });

  it('falls back to a new one, once, with the preamble, when the agent does not know it', async () => {
    const agent = await room.launch({
      spec: resume,
      deeds: { 'session/load': [['error', { code: -32603, message: 'Internal error', data: { details: 'No previous sessions' } }]] },
    });
    expect(await agent.until('session_ready')).toEqual({
      type: 'session_ready',
      acpSessionId: 's1',
      loaded: false,
      loadFailure: 'Internal error: No previous sessions',
      promptSent: 'You are an agent.\n\nDo it.',
    });
    expect(await agent.outcome()).toMatchObject({ kind: 'turn_ended' });
    await agent.stop();
  });

  it('is not even tried with an agent that cannot', async () => {
    const agent = await room.launch({
      spec: resume,
      deeds: { initialize: [['reply', { protocolVersion: 1 }]], 'session/load': [['exit', 9]] },
    });
    expect(await agent.until('session_ready')).toMatchObject({ loaded: false, loadFailure: 'the agent does not offer session/load' });
    await agent.stop();
  });

  it('fails and keeps its id when the load takes too long', async () => {
    const agent = await room.launch({ spec: resume, deeds: { 'session/load': [['hang']] }, limits: { startMs: 700 } });
    expect(await agent.failure()).toMatchObject({ kind: 'start_timeout', phase: 'session' });
    expect(await agent.outcome()).toMatchObject({ evidence: { acpSessionId: 'old', phase: 'session' } });
    await agent.gone();
  });

  it('fails and makes no new one when the agent dies over it', async () => {
    const agent = await room.launch({ spec: resume, deeds: { 'session/load': [['exit', 1]] } });
    expect(await agent.failure()).toMatchObject({ kind: 'process_exit', exit_code: 1 });
    expect(agent.all('session_ready')).toEqual([]);
  });

  it('fails with the error of the new one when that cannot be made either', async () => {
    const error = { code: -32000, message: 'Authentication required' };
    const agent = await room.launch({ spec: resume, deeds: { 'session/load': [['error', error]], 'session/new': [['error', error]] } });
    expect(await agent.payload()).toBe(JSON.stringify(error));
  });
});

describe('another turn of an idle agent', () => {
  it('is a further outcome of the same process', async () => {
    const agent = await room.launch({ deeds: { 'session/prompt': [['echo'], ['say', 'x'], DONE] } });
    await agent.outcome();
    await room.runtime.resume(agent.executionId, 'And again.');
    expect(room.runtime.getExecution(agent.executionId)?.state).toBe('prompting');
    expect(await agent.outcome(2)).toMatchObject({ kind: 'turn_ended' });
    await agent.stop();
    await agent.gone();
    expect(agent.events.map(({ type }) => type).filter((type) => type !== 'update')).toEqual([
      'launched',
      'session_ready',
      'outcome',
      'outcome',
      'gone',
    ]);
  });

  it('is refused while one is open, after the end, and of an id that nobody knows', async () => {
    const agent = await room.launch({ deeds: { 'session/prompt': [['say', 'x'], ['hang']] } });
    await agent.until('update');
    await expect(room.runtime.resume(agent.executionId, 'x')).rejects.toMatchObject({ code: 'execution_not_idle' });
    await agent.stop();
    await agent.gone();
    await expect(room.runtime.resume(agent.executionId, 'x')).rejects.toMatchObject({ code: 'execution_not_found' });
    expect(() => room.runtime.subscribeEvents('nobody')).toThrow('execution_not_found');
  });

  it('fails when the agent dies in it', async () => {
    const agent = await room.launch();
    await agent.outcome();
    await room.runtime.resume(agent.executionId, 'again');
    process.kill((await agent.until('launched')).processGroup, 'SIGKILL');
    const second = await agent.outcome(2);
    // The turn may have been quicker than the signal.
    expect(['error', 'turn_ended']).toContain(second.kind);
    await agent.gone();
  });
});

describe('a launch', () => {
  it('is refused for an id that is known and for an adapter that is not', async () => {
    const spec = room.spec();
    await room.runtime.launch(spec);
    await expect(room.runtime.launch(spec)).rejects.toMatchObject({ code: 'execution_exists' });
    await expect(room.runtime.launch({ ...room.spec(), adapter: 'nobody' })).rejects.toMatchObject({ code: 'adapter_unknown' });
    await room.runtime.stop(spec.executionId, 'test');
  });

  it('fails without a folder', async () => {
    const agent = await room.launch({ spec: { cwd: `${room.folder}/missing` } });
    expect(await agent.failure()).toEqual({ kind: 'folder_gone', path: `${room.folder}/missing` });
    expect(await agent.outcome()).toMatchObject({ evidence: { phase: 'spawn', exit: null } });
    await agent.gone();
  });

  it.each([
    ['a program that is not there', ['no-such-agent', '--acp'], /no such program: no-such-agent/],
    ['a path that depends on the folder', ['./agent.sh'], /no such program: \.\/agent\.sh/],
    ['nothing', undefined, /Set the agent's "command"/],
    ['an argument with a NUL', [process.execPath, 'a\u0000b'], /null bytes/],
    ['more than the system takes', [process.execPath, 'x'.repeat(200_000)], /E2BIG/],
  ])('fails with %s', async (_what, command, problem) => {
    const agent = await room.launch({ config: { command } as never });
    const failure = await agent.failure();
    expect(failure).toMatchObject({ kind: 'spawn_failed', command: command?.[0] ?? '' });
    expect(failure['problem']).toMatch(problem);
    await agent.gone();
  });

  it('gives the agent the environment of the allow-list, the caller and nothing of ours', async () => {
    const guarded = new ExecutionRoom({ ...process.env, OFFICE_ADMIN_TOKEN: 'secret', OFFICE_API_URL: 'ours', SOME_SECRET: 'secret' });
    const agent = await guarded.launch({
      spec: { env: { HOME: room.home, OFFICE_API_KEY: 'key' } },
      config: { env: { EXTRA: '$(touch x) ; "quoted"' } },
      deeds: { 'session/prompt': [['environment'], DONE] },
    });
    await agent.outcome();
    const env = JSON.parse(agent.said) as Record<string, string>;
    expect(env).toMatchObject({
      HOME: room.home,
      OFFICE_API_KEY: 'key',
      EXTRA: '$(touch x) ; "quoted"',
      OFFICE_EXECUTION_ID: agent.executionId,
    });
    const allowed = /^(PATH|HOME|LANG|TERM|TMPDIR|.*_proxy|.*_PROXY|PWD|OLDPWD|SHLVL|_|EXTRA|OFFICE_API_KEY|OFFICE_EXECUTION_ID)$/;
    expect(Object.keys(env).filter((name) => !allowed.test(name))).toEqual([]);
    await guarded.close();
  });

  it('says with which agent it runs, without a shell having read its arguments', async () => {
    const agent = await room.launch({ deeds: { 'session/prompt': [['say', '$HOME `id` $(id) "\'; exit 1'], DONE] } });
    expect(await agent.outcome()).toMatchObject({ lastMessage: '$HOME `id` $(id) "\'; exit 1' });
    await agent.stop();
  });

  it('offers the agent no files and no terminals', async () => {
    const agent = await room.launch({
      deeds: {
        initialize: [['reply', { protocolVersion: 1 }]],
        'session/prompt': [['ask_something', 'fs/read_text_file'], ['ask_something', 'terminal/create'], DONE],
      },
    });
    await agent.outcome();
    expect(agent.said.match(/-32601/g)).toHaveLength(2);
    await agent.stop();
  });

  it.runIf(process.getuid?.() === 0)('runs as the user it is told', async () => {
    const agent = await room.launch({
      spec: { identity: { uid: 61_234, gid: 61_234 }, cwd: '/' },
      deeds: { 'session/prompt': [['say', 'x'], ['hang']] },
    });
    await agent.until('update');
    const { processGroup } = await agent.until('launched');
    const status = await import('node:fs').then(({ readFileSync }) => readFileSync(`/proc/${processGroup}/status`, 'utf8'));
    expect(status).toMatch(/^Uid:\t61234\t61234\t61234\t61234$/m);
    expect(status).toMatch(/^Gid:\t61234\t61234\t61234\t61234$/m);
    expect(status).toMatch(/^Groups:\t *$/m);
    await agent.stop();
  });
});

describe('a model or mode', () => {
  const offer = {
    sessionId: 's1',
    modes: { currentModeId: 'auto', availableModes: [{ id: 'auto' }, { id: 'plan' }] },
    configOptions: [
      { id: 'model', category: 'model', type: 'select', currentValue: 'small', options: [{ value: 'small' }, { value: 'big' }] },
    ],
  };
  const deeds = {
    'session/new': [['reply', offer]],
    'session/set_mode': [['echo'], ['reply', {}]],
    'session/set_config_option': [['echo'], ['reply', {}]],
    'session/prompt': [['say', 'x'], DONE],
  };

  it('is set before the prompt', async () => {
    const agent = await room.launch({
      deeds: { ...deeds, 'session/set_config_option': [['error', { code: 1, message: 'model set to big' }]] },
      config: { mode: 'plan', model: 'big' },
    });
    expect(await agent.payload()).toContain('model set to big');
    expect(await agent.outcome()).toMatchObject({ evidence: { phase: 'session' } });
    const fine = await room.launch({ deeds, config: { mode: 'plan', model: 'big' } });
    expect(await fine.outcome()).toMatchObject({ kind: 'turn_ended' });
    await fine.stop();
  });

  it('that is not offered fails the launch instead of running on another', async () => {
    const agent = await room.launch({ deeds, config: { model: 'huge' } });
    expect(await agent.failure()).toEqual({ kind: 'setting_not_offered', setting: 'model', value: 'huge', offered: ['small', 'big'] });
    await agent.gone();
  });
});
