import type { IdempotentRequest } from './call.js';
import type { Fields, RunIdentity, RunRequirement } from './domain/run-access.js';
import type { FoundRow } from './domain/run-verdict.js';

/** What the guards have found out about an agent's request so far. Nothing else may put it there. */
export interface RunAdmission {
  readonly run: RunIdentity;
  readonly requirement: RunRequirement;
  /** Path and body as they came, unread. */
  readonly fields: Fields;
  readonly found: readonly FoundRow[];
  readonly idempotency: IdempotentRequest | null;
}

const admissions = new WeakMap<object, RunAdmission>();

export const admitRun = (request: object, admission: RunAdmission): void => void admissions.set(request, admission);

/** Null: no run has been found behind the request, so there is no log to write its refusal into. */
export const knownRun = (request: object): RunAdmission | null => admissions.get(request) ?? null;

export function runAdmissionOf(request: object): RunAdmission {
  const admission = admissions.get(request);
  if (!admission) throw new Error('the request of an agent was never admitted');
  return admission;
}
