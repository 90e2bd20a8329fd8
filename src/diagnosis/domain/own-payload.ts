import type { ErrorCode } from './codes.js';

/** What of a payload of our own (contract 7: `{"kind": …}`) is an error record, and what it means when that says nothing. */
export interface OwnPayload {
  /** Id of the built-in row that decides when nothing in `evidence` does. */
  readonly rule: string;
  readonly code: ErrorCode;
  /** Text worth reading: a stderr tail, a problem. Empty where the payload holds the agent's own words. */
  readonly evidence: string;
  /** It stays this, whatever the evidence says. */
  readonly final: boolean;
}

type Fields = Readonly<Record<string, unknown>>;

const text = (value: unknown): string => (typeof value === 'string' ? value : '');

const READERS: Readonly<Record<string, (fields: Fields) => Omit<OwnPayload, 'rule'>>> = {
  process_exit: ({ signal, stderr_tail }) =>
    typeof signal === 'string'
      ? { code: 'process_crash', evidence: text(stderr_tail), final: true }
      : { code: 'unknown_exit', evidence: text(stderr_tail), final: false },
  transport_closed: ({ stderr_tail }) => ({ code: 'transport_lost', evidence: text(stderr_tail), final: false }),
  no_first_event: ({ stderr_tail }) => ({ code: 'timeout', evidence: text(stderr_tail), final: false }),
  start_timeout: ({ stderr_tail }) => ({ code: 'timeout', evidence: text(stderr_tail), final: false }),
  run_timeout: () => ({ code: 'timeout', evidence: '', final: true }),
  empty_turn: () => ({ code: 'unknown', evidence: '', final: true }),
  refusal: () => ({ code: 'refusal', evidence: '', final: true }),
  unexpected_cancel: () => ({ code: 'unknown', evidence: '', final: true }),
  malformed_frame: () => ({ code: 'protocol', evidence: '', final: true }),
  frame_too_large: () => ({ code: 'protocol', evidence: '', final: true }),
  protocol_version: () => ({ code: 'protocol', evidence: '', final: true }),
  setting_not_offered: ({ setting }) => ({ code: setting === 'model' ? 'invalid_model' : 'config', evidence: '', final: true }),
  repository_gone: () => ({ code: 'environment', evidence: '', final: true }),
  worktree_failed: () => ({ code: 'environment', evidence: '', final: true }),
  folder_gone: () => ({ code: 'environment', evidence: '', final: true }),
  spawn_failed: ({ problem }) => ({ code: 'missing_binary', evidence: text(problem), final: true }),
  launch_failed: ({ message }) => ({ code: 'config', evidence: text(message), final: true }),
  settlement_failed: () => ({ code: 'unknown', evidence: '', final: true }),
  interrupted: () => ({ code: 'unknown', evidence: '', final: true }),
  internal: () => ({ code: 'unknown', evidence: '', final: true }),
};

export function ownPayload(payload: string): OwnPayload | null {
  if (!payload.startsWith('{"kind":"')) return null;
  let fields: unknown;
  try {
    fields = JSON.parse(payload);
  } catch {
    return null;
  }
  const kind = (fields as { kind?: unknown }).kind;
  const reader = typeof kind === 'string' && Object.hasOwn(READERS, kind) ? READERS[kind] : undefined;
  return reader === undefined ? null : { rule: `office.${String(kind).replaceAll('_', '-')}`, ...reader(fields as Fields) };
}
