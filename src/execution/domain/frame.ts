import { rawMember } from './json-member.js';
import { shallow } from './shallow.js';

export type Update = Readonly<Record<string, unknown>>;

/** The agent's answer to the one request of ours that is open. `line` and `raw` are its text as it stood. */
export type Answer =
  | { readonly kind: 'result'; readonly value: Readonly<Record<string, unknown>>; readonly line: string }
  | { readonly kind: 'error'; readonly raw: string }
  | { readonly kind: 'malformed'; readonly line: string };

export type RequestId = string | number | null;

/** What one line of an agent's stdout is. */
export type Frame =
  | { readonly kind: 'update'; readonly sessionId: string | null; readonly update: Update }
  | { readonly kind: 'request'; readonly id: RequestId; readonly method: string; readonly params: unknown }
  | { readonly kind: 'cancel_request'; readonly params: unknown }
  | { readonly kind: 'notification' }
  | { readonly kind: 'answer'; readonly answer: Answer }
  /** An error that answers nothing of ours, such as the answer to a line the agent could not read. */
  | { readonly kind: 'stray_error'; readonly raw: string }
  | { readonly kind: 'stray_answer' }
  | { readonly kind: 'noise' };

const NOISE: Frame = { kind: 'noise' };

/** Reads one line. `openId` is the id of our open request. Lenient about everything but the envelope (field case F98). */
export function readFrame(line: string, openId: number | null): Frame {
  if (!/^\s*\{/.test(line)) return NOISE;
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    return NOISE;
  }
  const frame = value as Record<string, unknown>;
  if (frame['jsonrpc'] !== '2.0') return NOISE;
  if (typeof frame['method'] === 'string') return readCall(frame, frame['method']);
  if (!('id' in frame) || 'method' in frame) return NOISE;
  return readAnswer(line, frame, openId);
}

function readCall(frame: Record<string, unknown>, method: string): Frame {
  const { id, params } = frame;
  if ('id' in frame) {
    const proper = id === null || typeof id === 'string' || Number.isFinite(id);
    return proper ? { kind: 'request', id: id as RequestId, method, params: shallow(params) } : NOISE;
  }
  if (method === '$/cancel_request') return { kind: 'cancel_request', params: shallow(params) };
  if (method !== 'session/update') return { kind: 'notification' };
  if (!isRecord(params) || !isRecord(params['update'])) return NOISE;
  const { sessionId } = params;
  return {
    kind: 'update',
    sessionId: typeof sessionId === 'string' ? sessionId : null,
    update: shallow(params['update']) as Update,
  };
}

function readAnswer(line: string, frame: Record<string, unknown>, openId: number | null): Frame {
  const { error, result } = frame;
  const failed = error !== undefined && error !== null;
  if (openId === null || frame['id'] !== openId) {
    return failed ? { kind: 'stray_error', raw: rawMember(line, 'error') ?? line } : { kind: 'stray_answer' };
  }
  if (failed) return { kind: 'answer', answer: { kind: 'error', raw: rawMember(line, 'error') ?? line } };
  // An empty result is what a request without an answer of its own may bring (session/load, session/set_mode).
  if ('result' in frame && (result === null || isRecord(result))) {
    return { kind: 'answer', answer: { kind: 'result', value: (shallow(result ?? {}) ?? {}) as Record<string, unknown>, line } };
  }
  return { kind: 'answer', answer: { kind: 'malformed', line } };
}

export const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
