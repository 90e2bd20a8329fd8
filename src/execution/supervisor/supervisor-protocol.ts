import type { AgentTree } from '../process/agent-tree.js';

/** One JSON object a line, from the server to its supervisor. The end of the pipe means that the server is gone. */
export type ToSupervisor =
  /** Written to disk before it is acknowledged, all of them in one write. */
  | { readonly say: 'register'; readonly number: number; readonly trees: readonly AgentTree[] }
  | { readonly say: 'unregister'; readonly executionId: string }
  /** From now on the lease lasts this long. `enforce`: end every tree by yourself when it is over. */
  | { readonly say: 'lease'; readonly expiresInMs: number; readonly enforce: boolean };

/** And back. Whatever it says, the trees of the message are watched from now on, until they are unregistered. */
export interface FromSupervisor {
  /** `refused`: the lease is over, so that nothing may run under it; what was registered is being ended. `unrecorded`: not on disk. */
  readonly say: 'registered' | 'refused' | 'unrecorded';
  readonly number: number;
  readonly problem?: string;
}

/** What a supervisor leaves on disk for the next boot, should neither it nor the server live to end its trees. */
export interface RecordedTrees {
  /** The machine's boot. After another one nothing of this is left. */
  readonly machineBoot: string;
  readonly trees: readonly AgentTree[];
}
