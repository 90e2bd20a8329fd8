import { storableText } from '../../platform/text/storable.js';
import { cutMiddle, lastBytes, LINE_CUT, PAYLOAD_CUT } from './cut-text.js';

export const STDERR_TAIL_BYTES = 64 * 1024;
const SUMMARY_CHARACTERS = 200;

/** An error as it stood on the agent's line, within the bounds of contract 7. */
export const errorPayload = (raw: string): string => cutMiddle(raw, PAYLOAD_CUT);

export interface ProcessExit {
  readonly code: number | null;
  readonly signal: string | null;
}

const payload = (fields: Readonly<Record<string, unknown>>): string => JSON.stringify(fields);
const tail = (stderr: string): string => lastBytes(storableText(stderr), STDERR_TAIL_BYTES);
const line = (text: string): string => cutMiddle(text, LINE_CUT);

/** Payloads of failures that came without an error frame. Each is a JSON object whose `kind` says what happened. */
export const failurePayload = {
  processExit: (exit: ProcessExit, stderr: string): string =>
    payload({ kind: 'process_exit', exit_code: exit.code, signal: exit.signal, stderr_tail: tail(stderr) }),
  malformedFrame: (text: string): string => payload({ kind: 'malformed_frame', line: line(text) }),
  frameTooLarge: (limitBytes: number, head: string): string =>
    payload({ kind: 'frame_too_large', limit_bytes: limitBytes, line_head: storableText(head) }),
  noFirstEvent: (limitMs: number, stderr: string): string =>
    payload({ kind: 'no_first_event', limit_ms: limitMs, stderr_tail: tail(stderr) }),
  startTimeout: (phase: string, limitMs: number, stderr: string): string =>
    payload({ kind: 'start_timeout', phase, limit_ms: limitMs, stderr_tail: tail(stderr) }),
  runTimeout: (limitMs: number, stderr: string): string => payload({ kind: 'run_timeout', limit_ms: limitMs, stderr_tail: tail(stderr) }),
  transportClosed: (stderr: string): string => payload({ kind: 'transport_closed', stderr_tail: tail(stderr) }),
  emptyTurn: (): string => payload({ kind: 'empty_turn' }),
  refusal: (message: string | null): string => payload({ kind: 'refusal', message }),
  unexpectedCancel: (message: string | null): string => payload({ kind: 'unexpected_cancel', message }),
  folderGone: (path: string): string => payload({ kind: 'folder_gone', path: storableText(path) }),
  spawnFailed: (command: readonly string[], problem: string): string =>
    payload({ kind: 'spawn_failed', command: storableText(command[0] ?? ''), problem: storableText(problem) }),
  protocolVersion: (offered: unknown): string => payload({ kind: 'protocol_version', offered: Number(offered), supported: 1 }),
  settingNotOffered: (setting: string, value: string, offered: readonly string[]): string =>
    payload({
      kind: 'setting_not_offered',
      setting,
      value: storableText(value),
      offered: offered.slice(0, 50).map((o) => storableText(o)),
    }),
  internal: (problem: string): string => payload({ kind: 'internal', problem: line(problem) }),
} as const;

/**
 * What a payload says, in one line of at most 200 characters: its `message`, with `data.message` or `data.details` when the
 * message says only "Internal error", else the payload itself. Storable; never splits a character; takes any text.
 */
export function summary(errorText: string): string {
  const said = messageOf(errorText) ?? errorText;
  // A prefix is enough for 200 characters unless it is nearly all blank, and keeps a long payload cheap.
  const flat = storableText(said.slice(0, 20_000))
    .replace(/[\s\p{Cc}]+/gu, ' ')
    .trim();
  const characters = Array.from(flat);
  return characters.length <= SUMMARY_CHARACTERS ? flat : `${characters.slice(0, SUMMARY_CHARACTERS - 1).join('')}…`;
}

function messageOf(errorText: string): string | null {
  if (!errorText.trimStart().startsWith('{')) return null;
  let error: unknown;
  try {
    error = JSON.parse(errorText);
  } catch {
    return null;
  }
  const { message, data } = error as { message?: unknown; data?: unknown };
  if (typeof message !== 'string' || message.trim() === '') return null;
  if (!/^internal error[.:\s]*$/i.test(message.trim())) return message;
  const detail = detailOf(data);
  return detail === null ? message : `${message.trim().replace(/[.:\s]+$/, '')}: ${detail}`;
}

function detailOf(data: unknown): string | null {
  if (typeof data !== 'object' || data === null) return null;
  const { message, details } = data as { message?: unknown; details?: unknown };
  if (typeof message === 'string' && message !== '') return message;
  return typeof details === 'string' && details !== '' ? details : null;
}
