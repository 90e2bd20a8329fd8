import type { Evidence, Usage } from '../execution/agent-runtime.js';
import { cutBytes } from '../platform/text/storable.js';
import type { Result } from './domain/ending.js';

// As it is stored and shown: wire names.

export const usageRow = (usage: Usage | null): object | null =>
  usage === null
    ? null
    : {
        input_tokens: usage.inputTokens,
        output_tokens: usage.outputTokens,
        total_tokens: usage.totalTokens,
        ...(usage.cost === undefined ? {} : { cost: usage.cost }),
      };

/** What an attempt has used, however it ended. */
export const usageIn = (result: Result): object | null => usageRow('usage' in result ? (result.usage ?? null) : null);

export const evidenceRow = (evidence: Evidence | null): object | null =>
  evidence && {
    execution_id: evidence.executionId,
    acp_session_id: evidence.acpSessionId,
    phase: evidence.phase,
    output_seen: evidence.outputSeen,
    effect_seen: evidence.effectSeen,
    exit: evidence.exit,
    stderr_tail: evidence.stderrTail,
    stdout_noise: evidence.stdoutNoise,
    record: evidence.record,
  };

/** What is kept of a result that came too late: enough to see what happened, without the bulk. */
export function lateResult(result: Result): object {
  switch (result.kind) {
    case 'turn_ended':
      return { kind: result.kind, stop_reason: result.stopReason, usage: usageRow(result.usage), last_message: result.lastMessage };
    case 'error':
    case 'timed_out':
      return { kind: result.kind, payload: cutBytes(result.payload, 64 * 1024) };
    case 'stopped':
      return { kind: result.kind, reason: result.reason };
    case 'interrupted':
      return { kind: result.kind, cause: result.cause };
  }
}
