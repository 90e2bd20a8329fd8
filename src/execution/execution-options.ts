import type { Environment } from './domain/agent-environment.js';
import { MOCK_AGENT_ENTRY, SUPERVISOR_ENTRY } from './entries.js';

/** What this room is told by whoever assembles the office. */
export class ExecutionOptions {
  constructor(
    /** Absolute. The records of running agents are kept below it (`executions/`). */
    readonly stateDir: string,
    /** The office's own, of which agents see what is on the allow-list. */
    readonly environment: Environment = { ...process.env },
    readonly supervisorEntry: string = SUPERVISOR_ENTRY,
    readonly mockAgentEntry: string = MOCK_AGENT_ENTRY,
    /** How long an agent gets to say who it is. The slowest that is known takes 10 s on a busy machine. */
    readonly probeMs: number = 30_000,
  ) {}
}
