import { afterAll, describe, expect, it } from 'vitest';
import { ExecutionRoom, processesOf } from './execution-room.js';

const room = new ExecutionRoom();
afterAll(() => room.close());

describe('a turn', () => {
  it('is told from launch to gone, once each and in order', async () => {
    const agent = await room.launch();
    expect(await agent.outcome()).toEqual({ kind: 'turn_ended', stopReason: 'end_turn', usage: null, lastMessage: 'hello' });
    expect(room.runtime.getExecution(agent.executionId)).toMatchObject({ state: 'idle', acpSessionId: 's1', adapter: 'custom' });
    await agent.stop();
    await agent.gone();
    expect(agent.events.map(({ type }) => type)).toEqual(['launched', 'session_ready', 'update', 'outcome', 'gone']);
    expect(agent.all('session_ready')[0]).toEqual({
      type: 'session_ready',
      acpSessionId: 's1',
      loaded: false,
      loadFailure: null,
      promptSent: 'You are an agent.\n\nDo it.',
    });
    expect(processesOf(agent.executionId)).toEqual([]);
    expect(room.runtime.getExecution(agent.executionId)).toBeNull();
  });
});
