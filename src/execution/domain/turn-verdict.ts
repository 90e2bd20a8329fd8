import { TURN_ENDS, type TurnEnd, type Usage } from '../agent-runtime.js';
import { errorPayload, failurePayload } from './error-payload.js';
import type { Answer } from './frame.js';
import type { TurnRecord, TurnSigns } from './turn-record.js';
import { isPositive, usageOf } from './usage.js';

/** A failure an agent reported as a normal end: the text it said, and the structured fields that gave it away. */
export interface ErrorRecord {
  readonly text: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

export type TurnVerdict =
  | { readonly kind: 'ended'; readonly stopReason: TurnEnd; readonly usage: Usage | null; readonly lastMessage: string | null }
  /** `excused`: texts of the turn that only repeat this error, and so are no output. */
  | {
      readonly kind: 'failed';
      readonly payload: string;
      readonly excused: readonly string[];
      readonly record: ErrorRecord | null;
    };

const failed = (payload: string, excused: readonly string[] = [], record: ErrorRecord | null = null): TurnVerdict => ({
  kind: 'failed',
  payload,
  excused,
  record,
});

const isTurnEnd = (reason: unknown): reason is TurnEnd => (TURN_ENDS as readonly unknown[]).includes(reason);

/** What a turn came to, from the answer to its prompt and from what it brought (contract 5). */
export function judgeTurn(
  answer: Answer,
  turn: TurnRecord,
  adapter: { readonly errorPrefixes?: readonly string[]; readonly telltale?: (signs: TurnSigns) => ErrorRecord | null },
): TurnVerdict {
  if (answer.kind === 'malformed') return failed(failurePayload.malformedFrame(answer.line));
  if (answer.kind === 'error') return failed(errorPayload(answer.raw), echoesOf(answer.raw, adapter.errorPrefixes ?? []));
  const reason = answer.value['stopReason'];
  const { lastMessage } = turn;
  if (reason === 'refusal') return failed(failurePayload.refusal(lastMessage));
  const usage = usageOf(answer.value);
  if (reason === 'cancelled') {
    // Some agents end a turn this way when a permission is refused; only then it is an end like any other.
    if (!turn.permissionRefused) return failed(failurePayload.unexpectedCancel(lastMessage));
    return { kind: 'ended', stopReason: 'end_turn', usage, lastMessage };
  }
  if (!isTurnEnd(reason)) return failed(failurePayload.malformedFrame(answer.line));
  const record = adapter.telltale?.(turn.signs(answer.value)) ?? null;
  if (record !== null) return failed(errorPayload(record.text), [record.text], record);
  if (reason === 'end_turn' && !turn.contentSeen && !turn.useSeen && !isPositive(usage)) return failed(failurePayload.emptyTurn());
  return { kind: 'ended', stopReason: reason, usage, lastMessage };
}

/** The texts by which an agent may have said its error before it sent it: the message, less each of its known prefixes. */
function echoesOf(raw: string, prefixes: readonly string[]): string[] {
  try {
    const { message } = JSON.parse(raw) as { message?: unknown };
    if (typeof message !== 'string') return [];
    return [message, ...prefixes.filter((prefix) => message.startsWith(prefix)).map((prefix) => message.slice(prefix.length))];
  } catch {
    return [];
  }
}
