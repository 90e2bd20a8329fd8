import type { Reading } from '../platform/database/reading.js';
import type { UsageView } from '../workspaces/usage.view.js';

/** What runs, sessions and the inbox know of an agent. */
export interface AgentReading {
  /** Its failed runs that nobody has dismissed: the inbox's own count. */
  readonly openFailures: number;
  readonly liveSessions: number;
  readonly lastRun: LastRun | null;
}

export interface LastRun {
  readonly id: string;
  readonly status: string;
  readonly failureKind: string | null;
  readonly finishedAt: Date | null;
  /** By the database's clock; null while it has not ended. */
  readonly finishedSecondsAgo: number | null;
}

export const NOTHING_READ: AgentReading = { openFailures: 0, liveSessions: 0, lastRun: null };

/** Declared here, filled above (`inbox/`), so that the staff directory knows nothing of runs. */
export abstract class AgentReadings {
  /** One statement for all of them. Agents there is nothing to say of may be missing from the answer. */
  abstract of(db: Reading, workspaceId: string, agentIds: readonly string[]): Promise<ReadonlyMap<string, AgentReading>>;

  /** What all its runs have used; null where none told. */
  abstract usageOf(db: Reading, workspaceId: string, agentId: string): Promise<UsageView | null>;
}
