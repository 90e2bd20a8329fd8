import type { Role } from '../../access/domain/route-access.js';

/** A member as the rule sees them, of a workspace whose membership is locked. */
export interface Member {
  readonly userId: string;
  readonly role: Role;
}

/** True when giving `userId` this role (null: none at all) would leave the workspace without an admin. */
export const leavesNoAdmin = (members: readonly Member[], userId: string, role: Role | null): boolean =>
  role !== 'admin' && !members.some((member) => member.role === 'admin' && member.userId !== userId);
