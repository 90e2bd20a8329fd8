import { readdirSync, readlinkSync } from 'node:fs';
import { afterAll, describe, expect, it } from 'vitest';
import { ExecutionRoom, processesOf, waitFor } from './execution-room.js';

const room = new ExecutionRoom();
afterAll(() => room.close());

/** Speaks just enough of the protocol, and starts in two milliseconds. */
const SHELL_AGENT = `
while read -r line; do
  case "$line" in
    *'"initialize"'*) echo '{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":1}}' ;;
    *'"session/new"'*) echo '{"jsonrpc":"2.0","id":1,"result":{"sessionId":"s1"}}' ;;
    *'"session/prompt"'*)
      echo '{"jsonrpc":"2.0","method":"session/update","params":{"update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"x"}}}}'
      echo '{"jsonrpc":"2.0","id":2,"result":{"stopReason":"end_turn"}}' ;;
  esac
done`;

const descriptors = (): string[] =>
  readdirSync('/proc/self/fd').flatMap((fd) => {
    try {
      return [readlinkSync(`/proc/self/fd/${fd}`).replace(/\d+/, 'N')];
    } catch {
      return [];
    }
  });
const resources = (): number => process.getActiveResourcesInfo().length;

describe('200 launches and stops', () => {
  it('leave no descriptor, timer, process or event behind', { timeout: 120_000 }, async () => {
    const once = async (): Promise<string> => {
      const agent = await room.launch({ config: { command: ['/bin/sh', '-c', SHELL_AGENT] } });
      expect(await agent.outcome()).toMatchObject({ kind: 'turn_ended', lastMessage: 'x' });
      await agent.stop();
      await agent.gone();
      return agent.executionId;
    };
    await Promise.all([once(), once()]);
    const before = { descriptors: descriptors().length, resources: resources() };
    const ids: string[] = [];
    for (let round = 0; round < 25; round++) ids.push(...(await Promise.all(Array.from({ length: 8 }, once))));
    expect(ids).toHaveLength(200);
    expect(ids.filter((id) => processesOf(id).length > 0)).toEqual([]);
    expect(ids.map((id) => room.runtime.getExecution(id))).toEqual(Array.from({ length: 200 }, () => null));
    expect(room.runtime.executions()).toEqual([]);
    await waitFor('descriptors to be given back', () => descriptors().length <= before.descriptors);
    await waitFor('timers to be given back', () => resources() <= before.resources);
  });
});
