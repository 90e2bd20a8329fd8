import type { Logger } from '@nestjs/common';
import type { Clock } from '../../platform/clock/clock.js';
import { nextStop, type OpenRequest, type StopMeans } from '../domain/stop-ladder.js';
import type { AgentProcess } from './agent-process.js';
import { Relatives } from './agent-tree.js';
import { livingGroups, signalGroup, terminateGroup } from './process-group.js';

const SHORTEST_LOOK_MS = 10;
const LONGEST_LOOK_MS = 100;
const STUBBORN_LOOK_MS = 1_000;
const LONGEST_PAUSE_MS = 60_000;

export interface AgentTalk {
  /** What the agent owes us at this moment. */
  open(): OpenRequest;
  /** Asks it to end the turn. Resolves when it has answered the prompt. */
  cancel(): Promise<unknown>;
}

/**
 * Ends an agent for good. It does not give up when something goes wrong on the way: `gone` would be a lie, and the
 * supervisor has its eye on what is left.
 */
export async function endAgent(
  agent: AgentProcess,
  talk: AgentTalk,
  graceMs: number,
  { clock, logger }: { readonly clock: Clock; readonly logger: Logger },
): Promise<void> {
  for (let pause = STUBBORN_LOOK_MS; ; pause = Math.min(2 * pause, LONGEST_PAUSE_MS)) {
    try {
      return await climb(agent, talk, graceMs, clock);
    } catch (error) {
      logger.error({ err: error, execution_id: agent.tree.executionId, process_group: agent.tree.group }, 'agent not ended yet');
    }
    await clock.sleep(pause);
  }
}

/**
 * Ends an agent and all it started, step by step (contract 5, "Stopping"). Resolves when no process of its group is left,
 * nor any that left the group: however long that takes, since the folder it works in must not be given to another before.
 */
async function climb(agent: AgentProcess, talk: AgentTalk, graceMs: number, clock: Clock): Promise<void> {
  const { group } = agent.tree;
  const relatives = new Relatives([agent.tree]);
  if (agent.exit === null) await relatives.look([group]);
  // One that has ended already can neither be talked to nor close anything.
  let means: StopMeans | null = agent.exit === null ? null : 'close_stdin';
  while ((await livingGroups([group])).length > 0) {
    const step = nextStop(means, talk.open(), graceMs);
    means = step?.means ?? 'kill';
    await apply(means, step?.waitMs ?? STUBBORN_LOOK_MS);
    if (agent.exit !== null && (means === 'cancel' || means === 'close_stdin')) means = 'close_stdin';
  }
  for (let pause = SHORTEST_LOOK_MS; await relatives.kill(); pause = Math.min(2 * pause, STUBBORN_LOOK_MS)) await clock.sleep(pause);

  async function apply(how: StopMeans, waitMs: number): Promise<void> {
    if (how === 'cancel') return within(waitMs, talk.cancel());
    if (how === 'close_stdin') {
      agent.stdin.end();
      return within(waitMs);
    }
    if (how === 'terminate') {
      await relatives.look(agent.exit === null ? [group] : []);
      terminateGroup(group);
    } else {
      signalGroup(group, 'SIGKILL');
    }
    return untilGone(waitMs);
  }

  /** Until the leader has ended, `done` is settled, or the time is over. */
  async function within(waitMs: number, done?: Promise<unknown>): Promise<void> {
    const over = new AbortController();
    await Promise.race([agent.exited, ...(done ? [done] : []), clock.sleep(waitMs, over.signal)]);
    over.abort();
  }

  async function untilGone(waitMs: number): Promise<void> {
    const start = clock.monotonicMs();
    for (let pause = SHORTEST_LOOK_MS; clock.monotonicMs() - start < waitMs; pause = Math.min(2 * pause, LONGEST_LOOK_MS)) {
      if ((await livingGroups([group])).length === 0) return;
      await clock.sleep(pause);
    }
  }
}
