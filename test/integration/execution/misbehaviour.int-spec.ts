import { afterAll, describe, expect, it } from 'vitest';
import { childrenOf, ExecutionRoom, isAlive, processesOf, waitFor, type Deeds } from './execution-room.js';

const room = new ExecutionRoom();
afterAll(() => room.close());

/** At the end of its stdin. */
const STAYS = [['hang']] as const;

describe('an agent that ends badly', () => {
  it('is let go when it ends its turn and does not exit', async () => {
    const agent = await room.launch({ deeds: { end: STAYS } });
    expect(await agent.outcome()).toMatchObject({ kind: 'turn_ended' });
    expect(processesOf(agent.executionId)).not.toEqual([]);
    await agent.stop();
    expect(processesOf(agent.executionId)).toEqual([]);
    await agent.gone();
    expect(agent.all('outcome')).toHaveLength(1);
  });

  it('is killed when it ignores SIGTERM', async () => {
    const agent = await room.launch({ deeds: { start: [['ignore', 'SIGTERM']], end: STAYS } });
    await agent.outcome();
    await agent.stop();
    await agent.gone();
    expect(processesOf(agent.executionId)).toEqual([]);
  });

  it('has failed when it exits 0 after an error frame, with the frame as payload', async () => {
    const error = { code: -32603, message: 'Internal error', data: { details: 'quota' } };
    const agent = await room.launch({
      deeds: {
        'session/prompt': [
          ['error', error],
          ['exit', 0],
        ],
      },
    });
    expect(await agent.payload()).toBe(JSON.stringify(error));
    await agent.gone();
  });

  it('has failed with its last word when that answered nothing', async () => {
    const error = { code: -32700, message: 'Parse error' };
    const agent = await room.launch({
      deeds: {
        'session/prompt': [
          ['frame', { id: null, error }],
          ['exit', 1],
        ],
      },
    });
    expect(await agent.payload()).toBe(JSON.stringify(error));
  });

  it('has failed when it exits before the first frame', async () => {
    const agent = await room.launch({
      deeds: {
        start: [
          ['stderr', 'no key\u0000\n'],
          ['exit', 3],
        ],
      },
    });
    expect(await agent.failure()).toEqual({ kind: 'process_exit', exit_code: 3, signal: null, stderr_tail: 'no key\uFFFD\n' });
    expect(await agent.outcome()).toMatchObject({ evidence: { phase: 'initialize', outputSeen: false, exit: { code: 3, signal: null } } });
    await agent.gone();
  });

  it('has failed when it is killed in mid turn', async () => {
    const agent = await room.launch({ deeds: { 'session/prompt': [['say', 'working'], ['hang']] } });
    await agent.until('update');
    process.kill((await agent.until('launched')).processGroup, 'SIGKILL');
    expect(await agent.failure()).toMatchObject({ kind: 'process_exit', exit_code: null, signal: 'SIGKILL' });
    expect(await agent.outcome()).toMatchObject({ evidence: { phase: 'prompt', outputSeen: true, effectSeen: false } });
    await agent.gone();
  });

  it('has failed when it exits with status 0 in mid turn', async () => {
    const agent = await room.launch({ deeds: { 'session/prompt': [['exit', 0]] } });
    expect(await agent.failure()).toMatchObject({ kind: 'process_exit', exit_code: 0 });
  });

  it('has failed when it closes its stdout and lives on', async () => {
    const agent = await room.launch({ deeds: { 'session/prompt': [['stderr', 'gone deaf'], ['close_stdout'], ['hang']], end: STAYS } });
    expect(await agent.failure()).toEqual({ kind: 'transport_closed', stderr_tail: 'gone deaf' });
    await agent.gone();
    expect(processesOf(agent.executionId)).toEqual([]);
  });

  it('has ended its turn whatever its exit status says afterwards', async () => {
    const agent = await room.launch({
      deeds: {
        'session/prompt': [
          ['say', 'x'],
          ['reply', { stopReason: 'end_turn' }],
          ['exit', 7],
        ],
      },
    });
    expect(await agent.outcome()).toMatchObject({ kind: 'turn_ended', lastMessage: 'x' });
    await agent.gone();
    expect(agent.all('outcome')).toHaveLength(1);
  });
});

describe('an agent that hangs', () => {
  const hangs: [string, string, Deeds, Record<string, unknown>][] = [
    [
      'at initialize',
      'initialize',
      { initialize: [['stderr', 'hm'], ['hang']] },
      { kind: 'start_timeout', phase: 'initialize', limit_ms: 700, stderr_tail: 'hm' },
    ],
    [
      'at session/new',
      'session',
      { 'session/new': [['hang']] },
      { kind: 'start_timeout', phase: 'session', limit_ms: 700, stderr_tail: '' },
    ],
    [
      'after the prompt',
      'prompt',
      { 'session/prompt': [['stderr', 'retrying'], ['hang']] },
      { kind: 'no_first_event', limit_ms: 300, stderr_tail: 'retrying' },
    ],
  ];
  it.each(hangs)('%s has failed at its deadline, and is gone', async (_where, phase, deeds, payload) => {
    const agent = await room.launch({ deeds: { ...deeds, end: STAYS }, limits: { startMs: 700, firstContentMs: 300 } });
    expect(await agent.failure()).toEqual(payload);
    expect(await agent.outcome()).toMatchObject({ kind: 'error', evidence: { phase } });
    await agent.gone();
    expect(processesOf(agent.executionId)).toEqual([]);
  });

  it('is not saved by bookkeeping', async () => {
    const chatter = { sessionUpdate: 'usage_update', used: 8_000, size: 9_000 };
    const agent = await room.launch({
      deeds: { 'session/prompt': [['update', chatter], ['update', { sessionUpdate: 'session_info_update', title: 'x' }], ['hang']] },
      limits: { firstContentMs: 300 },
    });
    expect(await agent.failure()).toMatchObject({ kind: 'no_first_event' });
    expect(agent.all('update').map(({ content }) => content)).toEqual([false, false]);
  });

  it('after its first content has all the time of the run, and then has timed out', async () => {
    const agent = await room.launch({
      deeds: { 'session/prompt': [['say', 'x'], ['hang']] },
      limits: { firstContentMs: 300, runMs: 1_200 },
    });
    expect(await agent.outcome()).toMatchObject({ kind: 'timed_out', evidence: { outputSeen: true } });
    expect(await agent.failure()).toMatchObject({ kind: 'run_timeout', limit_ms: 1_200 });
    await agent.gone();
  });
});

describe('an agent with children', () => {
  it('has its outcome although a grandchild holds its stdout, and takes it along', async () => {
    const agent = await room.launch({
      deeds: {
        'session/prompt': [
          ['child', { hold: true, deaf: true }],
          ['say', 'x'],
          ['reply', { stopReason: 'end_turn' }],
        ],
      },
    });
    expect(await agent.outcome()).toMatchObject({ kind: 'turn_ended' });
    await agent.stop();
    expect(processesOf(agent.executionId)).toEqual([]);
    await agent.gone();
  });

  it('has failed soon after its exit although a grandchild holds its stdout', async () => {
    const agent = await room.launch({
      deeds: {
        'session/prompt': [
          ['child', { hold: true, deaf: true }],
          ['say', 'last words'],
          ['exit', 4],
        ],
      },
    });
    expect(await agent.failure()).toMatchObject({ kind: 'process_exit', exit_code: 4 });
    expect(agent.said).toBe('last words');
    await agent.gone();
    expect(processesOf(agent.executionId)).toEqual([]);
  });

  it('takes along what left its process group', async () => {
    const agent = await room.launch({
      deeds: {
        'session/prompt': [
          ['child', { setsid: true, deaf: true }],
          ['say', 'x'],
          ['reply', { stopReason: 'end_turn' }],
        ],
      },
    });
    await agent.outcome();
    await waitFor('the grandchild', () => processesOf(agent.executionId).length >= 2);
    await agent.stop();
    expect(processesOf(agent.executionId)).toEqual([]);
  });

  it('takes along what left its group and forgot its environment, as long as it was its child', async () => {
    const agent = await room.launch({
      deeds: {
        'session/prompt': [
          ['child', { setsid: true, deaf: true, bare: true }],
          ['say', 'x'],
          ['reply', { stopReason: 'end_turn' }],
        ],
      },
    });
    await agent.outcome();
    const { processGroup } = await agent.until('launched');
    const child = await waitFor('the grandchild', () => childrenOf(processGroup)[0]);
    await agent.stop();
    expect(isAlive(child)).toBe(false);
  });

  it('that exited long before leaves nothing behind', async () => {
    const agent = await room.launch({
      deeds: {
        'session/prompt': [
          ['child', { setsid: true, deaf: true }],
          ['child', { deaf: true }],
          ['exit', 1],
        ],
      },
    });
    await agent.gone();
    expect(processesOf(agent.executionId)).toEqual([]);
  });
});
