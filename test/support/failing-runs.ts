import type { Evidence, Outcome } from '../../src/execution/agent-runtime.js';
import type { ClaimedRun } from '../../src/runs/claim.js';

export const OVERLOADED = '{"code":-32603,"message":"Internal error: API Error: 529 Overloaded","data":{"errorKind":"server_error"}}';
export const BAD_KEY = '{"code":-32603,"message":"Internal error: Invalid API key · Fix external API key"}';

/** What is known of an invocation of this run that did nothing at all, unless said otherwise. */
export const evidenceOf = (run: ClaimedRun, about: Partial<Evidence> = {}): Evidence => ({
  executionId: run.executionId,
  acpSessionId: run.acpSessionId ?? `acp-${run.sessionId}`,
  phase: 'prompt',
  outputSeen: false,
  effectSeen: false,
  exit: null,
  stderrTail: '',
  stdoutNoise: '',
  record: null,
  ...about,
});

export const failureOf = (run: ClaimedRun, payload = OVERLOADED, about: Partial<Evidence> = {}): Outcome => ({
  kind: 'error',
  payload,
  evidence: evidenceOf(run, about),
});
