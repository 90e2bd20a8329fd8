import { OfficeError } from '../platform/errors/office-error.js';
import type { Seat } from './domain/gate.js';

/** Outside the transaction, which is to stay: throws `approvals_pending` with whom it waits for. */
export function assertApproved(missing: readonly Seat[]): void {
  const refusal = approvalsPending(missing);
  if (refusal !== null) throw refusal;
}

/** With whom a task waits that may not be done yet; null: with nobody. */
export function approvalsPending(missing: readonly Seat[]): OfficeError | null {
  if (missing.length === 0) return null;
  const approvers = missing.map(({ stepId, agentId, userId, name }) => ({ step_id: stepId, agent_id: agentId, user_id: userId, name }));
  return new OfficeError('approvals_pending', { approvers });
}
