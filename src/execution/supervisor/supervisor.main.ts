import { setTimeout as sleep } from 'node:timers/promises';
import { createInterface } from 'node:readline';
import { endTrees, type AgentTree, type Ticks } from '../process/agent-tree.js';
import type { FromSupervisor, ToSupervisor } from './supervisor-protocol.js';
import { TreeRecord } from './tree-record.js';

/**
 * The supervisor: a small process beside each server, in a session of its own, that outlives it for a few seconds. It
 * ends every agent when the server is gone (its stdin ends) or has lost its lease (frozen), within 5 s. Argument: the
 * file for its record. It takes no part in anything else and needs nothing but Node.
 */
const ticks: Ticks = { monotonicMs: () => performance.now(), sleep: (ms) => sleep(ms) };
const LOST = { termMs: 1_500, deadlineMs: 4_500, mode: 'lax' } as const;
// Other hosts take over when the lease is over: there is no time to be polite.
const OVER = { termMs: 500, deadlineMs: 4_500, mode: 'lax' } as const;

const file = new TreeRecord(process.argv[2]!);
const trees = new Map<string, AgentTree>();
let leaseTimer: NodeJS.Timeout | undefined;
let leaseOver = false;

// Whoever stops the service as a whole signals us too; what ends us is the end of the pipe.
for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, () => undefined);
process.stdout.on('error', () => undefined);

const answer = (message: FromSupervisor): boolean => process.stdout.write(`${JSON.stringify(message)}\n`);

/** Why what is watched now could not be written; null when it was. A full disk must not end the watch. */
function record(): string | null {
  try {
    file.write([...trees.values()]);
    return null;
  } catch (error) {
    return String(error);
  }
}

function hear(message: ToSupervisor): void {
  if (message.say === 'lease') return setLease(message.expiresInMs, message.enforce);
  if (message.say === 'unregister') {
    // Should that fail, the next boot looks for something that is gone.
    if (trees.delete(message.executionId)) record();
    return;
  }
  for (const tree of message.trees) trees.set(tree.executionId, tree);
  const problem = record();
  if (problem !== null) answer({ say: 'unrecorded', number: message.number, problem });
  else answer({ say: leaseOver ? 'refused' : 'registered', number: message.number });
  if (leaseOver) void endAll(OVER);
}

function setLease(expiresInMs: number, enforce: boolean): void {
  clearTimeout(leaseTimer);
  leaseOver = false;
  if (!enforce) return;
  leaseTimer = setTimeout(() => {
    leaseOver = true;
    void endAll(OVER);
  }, expiresInMs);
}

/** Ends all there are now, and forgets those that are gone. */
async function endAll(limits: typeof LOST | typeof OVER): Promise<void> {
  const present = [...trees.values()];
  if (present.length === 0 || !(await endTrees(present, ticks, limits))) return;
  for (const { executionId } of present) trees.delete(executionId);
  record();
}

for await (const line of createInterface({ input: process.stdin })) hear(JSON.parse(line) as ToSupervisor);
clearTimeout(leaseTimer);
await endAll(LOST);
// What is left on record could not be ended; the next boot tries again.
process.exit(0);
