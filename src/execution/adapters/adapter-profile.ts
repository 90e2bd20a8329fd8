import type { LaunchSpec } from '../agent-runtime.js';
import type { TurnSigns } from '../domain/turn-record.js';
import type { ErrorRecord } from '../domain/turn-verdict.js';

/** All the office knows of one kind of agent. Outside `adapters/` no agent has a name. */
export interface AdapterProfile {
  readonly id: string;
  /** Programs that speak ACP over stdio, best first; the first that is installed is used. */
  readonly commands: readonly (readonly string[])[];
  /** Names (or `PREFIX_*`) of the office's own environment that this agent may see, beside those every agent may. */
  readonly passes: readonly string[];
  /** What its environment holds unless its configuration says otherwise: no self-updates, bounded retries inside. */
  readonly sets?: Readonly<Record<string, string>>;
  /** Part of the office, so that it has no version of its own. */
  readonly ours?: boolean;
  /** What a person does when no command is found. */
  readonly install: string;
  /** What the agent says of itself as if it were a message: whole chunks that are no output. */
  readonly notices?: readonly RegExp[];
  /** What its error messages put before the text that it also said as a message. */
  readonly errorPrefixes?: readonly string[];
  /** Finds the failure in a turn that the agent ended as if all were well; null when all was. */
  readonly telltale?: (signs: TurnSigns) => ErrorRecord | null;
  /** Where it looks for skills, below the folder of its session. */
  readonly skillsFolder?: string;
  /** `_meta` of `initialize`. */
  readonly initializeMeta?: (spec: LaunchSpec) => Readonly<Record<string, unknown>>;
}

/** Node programs behind a company's proxy need these to trust it. */
export const TRUST = ['NODE_EXTRA_CA_CERTS', 'SSL_CERT_FILE', 'SSL_CERT_DIR'] as const;
