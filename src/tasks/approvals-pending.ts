import { OfficeError } from '../platform/errors/office-error.js';
import type { Seat } from './domain/gate.js';

/** Outside the transaction, which is to stay: throws `approvals_pending` with whom it waits for. */
export function assertApproved(missing: readonly Seat[]): void {
  if (missing.length === 0) return;
  const approvers = missing.map(({ stepId, agentId, userId, name }) => ({ step_id: stepId, agent_id: agentId, user_id: userId, name }));
  throw new OfficeError('approvals_pending', { approvers });
}
