import { afterAll, describe, expect, it } from 'vitest';
import { ExecutionRoom, processesOf, type Asked } from './execution-room.js';

const room = new ExecutionRoom();
afterAll(() => room.close());

const STAYS = [['hang']] as const;

describe('stop', () => {
  it('asks a working agent first, and hears what it still says', async () => {
    const agent = await room.launch({
      deeds: {
        'session/prompt': [['say', 'a'], ['hang']],
        'session/cancel': [
          ['say', 'b'],
          ['frame', { id: 2, result: { stopReason: 'cancelled' } }],
        ],
      },
    });
    await agent.until('update');
    await agent.stop('reassigned');
    await agent.gone();
    expect(await agent.outcome()).toEqual({ kind: 'stopped', reason: 'reassigned' });
    expect(agent.said).toBe('ab');
  });

  it.each([
    ['end_turn', ['frame', { id: 2, result: { stopReason: 'end_turn' } }]],
    ['an error', ['frame', { id: 2, error: { code: -32603, message: 'aborted' } }]],
    ['its death', ['exit', 1]],
  ])('is a stop whatever the agent answers: %s', async (_what, answer) => {
    const agent = await room.launch({ deeds: { 'session/prompt': [['say', 'a'], ['hang']], 'session/cancel': [answer] } });
    await agent.until('update');
    await agent.stop();
    await agent.gone();
    expect(agent.all('outcome').map(({ outcome }) => outcome)).toEqual([{ kind: 'stopped', reason: 'test' }]);
  });

  it('is within its graces with an agent that heeds nothing, and is told when all is gone', async () => {
    const agent = await room.launch({
      deeds: { start: [['ignore', 'SIGTERM']], 'session/prompt': [['child', { deaf: true }], ['say', 'a'], ['hang']], end: STAYS },
    });
    await agent.until('update');
    const start = performance.now();
    await agent.stop();
    expect(performance.now() - start).toBeLessThan(3 * 300 + 700);
    expect(processesOf(agent.executionId)).toEqual([]);
    await agent.gone();
    expect(agent.events.slice(-2)).toEqual([{ type: 'outcome', outcome: { kind: 'stopped', reason: 'test' } }, { type: 'gone' }]);
  });

  const states: [string, Asked, 'launched' | 'session_ready' | null][] = [
    ['right after the launch', {}, null],
    ['at initialize', { deeds: { initialize: [['hang']] } }, 'launched'],
    ['at session/new', { deeds: { 'session/new': [['hang']] } }, 'launched'],
    ['at session/load', { spec: { acpSessionId: 'old' }, deeds: { 'session/load': [['hang']] } }, 'launched'],
    ['in a silent turn', { deeds: { 'session/prompt': [['hang']] } }, 'session_ready'],
  ];
  it.each(states)('%s ends in one outcome', async (_when, asked, after) => {
    const agent = await room.launch({ ...asked, deeds: { ...asked.deeds, end: STAYS } });
    if (after !== null) await agent.until(after);
    await agent.stop();
    await agent.gone();
    expect(agent.all('outcome').map(({ outcome }) => outcome)).toEqual([{ kind: 'stopped', reason: 'test' }]);
    expect(processesOf(agent.executionId)).toEqual([]);
  });

  it('twice, and together, is one stop for the first reason', async () => {
    const agent = await room.launch({ deeds: { 'session/prompt': [['say', 'a'], ['hang']] } });
    await agent.until('update');
    await Promise.all([agent.stop('first'), agent.stop('second'), agent.stop('third')]);
    await agent.stop('late');
    await agent.gone();
    expect(agent.all('outcome').map(({ outcome }) => outcome)).toEqual([{ kind: 'stopped', reason: 'first' }]);
    await room.runtime.stop('nobody', 'x');
  });

  it('after a failure waits for the end of what failed', async () => {
    const agent = await room.launch({
      deeds: { 'session/prompt': [['error', { code: 1, message: 'x' }]], start: [['ignore', 'SIGTERM']], end: STAYS },
    });
    await agent.outcome();
    await agent.stop();
    expect(processesOf(agent.executionId)).toEqual([]);
    await agent.gone();
    expect(agent.all('outcome')).toHaveLength(1);
  });

  it('at any moment of a short life leaves one outcome and no process', { timeout: 60_000 }, async () => {
    const agents = [];
    for (let ms = 0; ms < 300; ms += 15) {
      const agent = await room.launch({ limits: { graceMs: 100 } });
      room.clock.after(ms, () => void agent.stop());
      agents.push(agent);
      if (agents.length % 4 === 0) await Promise.all(agents.map((each) => each.gone()));
    }
    for (const agent of agents) {
      await agent.gone();
      expect(agent.all('outcome')).toHaveLength(1);
      expect(agent.all('gone')).toHaveLength(1);
      expect(processesOf(agent.executionId)).toEqual([]);
    }
  });
});

describe('the end of the office', () => {
  it('stops every agent and refuses to start more', async () => {
    const closing = new ExecutionRoom();
    const agents = await Promise.all(
      [{}, { deeds: { 'session/prompt': [['say', 'x'], ['hang']] } }].map((asked) => closing.launch(asked as Asked)),
    );
    await agents[0]!.outcome();
    await agents[1]!.until('update');
    const supervisor = closing.supervision.supervisorPid!;
    await closing.runtime.onApplicationShutdown();
    expect(agents.flatMap(({ executionId }) => processesOf(executionId))).toEqual([]);
    expect(() => process.kill(supervisor, 0)).toThrow('ESRCH');
    const late = await closing.launch();
    expect(await late.outcome()).toEqual({ kind: 'stopped', reason: 'shutdown' });
    await closing.close();
  });
});
