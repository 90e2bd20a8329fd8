import type { ErrorCode } from './codes.js';

export interface HintAbout {
  /** Null: there was no error, or nobody looked at it. */
  readonly code: string | null;
  readonly adapter: string;
  /** The retry is scheduled; nobody has to do anything. */
  readonly retrying: boolean;
  /** RFC 3339, UTC: when the limit ends, if that was told. */
  readonly retryAfter: string | null;
}

const HINTS: Readonly<Record<ErrorCode, (adapter: string) => string>> = {
  auth: (adapter) => `sign in to ${adapter}`,
  permission: (adapter) => `ask for access to ${adapter}`,
  quota: (adapter) => `check the plan and credit of ${adapter}`,
  invalid_model: () => 'change the model',
  config: (adapter) => `fix the configuration of ${adapter}`,
  missing_binary: (adapter) => `install ${adapter}`,
  environment: () => "repair the agent's machine",
  invalid_request: () => "read the error and change the agent's settings",
  context_length: () => 'start fresh',
  session_lost: () => 'start fresh',
  session_corrupted: () => 'start fresh',
  refusal: () => 'rephrase the task',
  protocol: (adapter) => `update ${adapter}`,
  timeout: () => 'look at what the agent was doing, then resume',
  process_crash: () => 'read the error, then resume',
  unknown_exit: () => 'read the error, then resume',
  unknown: () => 'read the error, then resume',
  network: () => 'check the connection, then resume',
  transport_lost: () => 'look at what the agent had done, then resume',
  overloaded: () => 'resume later',
  server_error: () => 'resume later',
  rate_limit: () => 'resume later',
};

/** In one line, who has to do what about a failure. Null where there is none. */
export function hintFor({ code, adapter, retrying, retryAfter }: HintAbout): string | null {
  if (code === null || !Object.hasOwn(HINTS, code)) return null;
  if (retrying) return 'nothing to do, retrying';
  if ((code === 'quota' || code === 'rate_limit') && retryAfter !== null) return `wait for ${shortTime(retryAfter)}`;
  return HINTS[code as ErrorCode](adapter);
}

/** `2026-12-01 14:00 UTC`. */
function shortTime(instant: string): string {
  return `${instant.slice(0, 10)} ${instant.slice(11, 16)} UTC`;
}
