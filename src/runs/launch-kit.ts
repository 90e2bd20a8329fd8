import type { McpOffer } from '../execution/domain/mcp-server.js';
import type { ClaimedRun } from './claim.js';

/** What an agent is handed to reach the office with. */
export interface LaunchKitContents {
  readonly env: Readonly<Record<string, string>>;
  readonly mcp: McpOffer;
}

/**
 * Furnishes a claimed run before it is launched: a token, where to use it, skills in its folder. Declared here, filled above
 * (`runtime/`), so that whoever launches knows nothing of tokens.
 */
export abstract class LaunchKit {
  /** Fills the run's folder, which is new and the office's own: no agent has seen it. False: what belongs there is still to be written. */
  abstract furnish(run: ClaimedRun): Promise<boolean>;

  /** The run's folder exists, or its session has lost it and the launch will say so. */
  abstract pack(run: ClaimedRun, folder: { readonly furnished: boolean }): Promise<LaunchKitContents>;
}
