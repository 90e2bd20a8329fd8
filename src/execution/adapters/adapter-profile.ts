import type { LaunchSpec } from '../agent-runtime.js';
import type { TurnSigns } from '../domain/turn-record.js';
import type { ErrorRecord } from '../domain/turn-verdict.js';

/** A program that speaks ACP over stdio. */
export interface AgentProgram {
  readonly argv: readonly string[];
  /** Where it comes from, and the version of it that the tests know. Null: somebody's own. */
  readonly from: { readonly npm: string; readonly version: string } | null;
}

/** All the office knows of one kind of agent. Outside `adapters/` no agent has a name. */
export interface AdapterProfile {
  readonly id: string;
  /** Best first; the first that is found on PATH is used. None: its configuration names one. */
  readonly programs: readonly AgentProgram[];
  /** Names (or `PREFIX_*`) of the office's own environment that this agent may see, beside those every agent may. */
  readonly passes: readonly string[];
  /** The same, of what leads into somebody's home: not for agents with a home of their own. */
  readonly homes?: readonly string[];
  /** What its environment holds unless its configuration says otherwise: no self-updates, bounded retries inside. */
  readonly sets?: Readonly<Record<string, string>>;
  /** What a person does when no program is found. */
  readonly install: string;
  /** What a person does when it is not signed in. */
  readonly signIn: string;
  /** It opens a session for anybody and asks who it is only in the first turn. */
  readonly admitsAnybody?: boolean;
  /** The mode in which it asks before it acts, where that is not the one it begins with. Chosen unless its configuration says otherwise. */
  readonly askingMode?: string;
  /** Where it looks for skills, within the folder it works in. */
  readonly skillsFolder: string;
  /** What the agent says of itself as if it were a message: whole chunks that are no output. */
  readonly notices?: readonly RegExp[];
  /** What its error messages put before the text that it also said as a message. */
  readonly errorPrefixes?: readonly string[];
  /** Members of a tool's input that say nothing of what is asked permission for: ids, times, the model's own comment. */
  readonly incidentalInput?: readonly string[];
  /** Finds the failure in a turn that the agent ended as if all were well; null when all was. */
  readonly telltale?: (signs: TurnSigns) => ErrorRecord | null;
  /** `_meta` of `initialize`. */
  readonly initializeMeta?: (spec: LaunchSpec) => Readonly<Record<string, unknown>>;
}

/** Node programs behind a company's proxy need these to trust it. */
export const TRUST = ['NODE_EXTRA_CA_CERTS', 'SSL_CERT_FILE', 'SSL_CERT_DIR'] as const;

export const installOf = (npm: string): string => `npm install -g ${npm}`;
