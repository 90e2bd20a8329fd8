import { holdsScope, neededScope } from './route-access.js';
import type { Role, RouteAccess, Scope } from './route-access.js';

export type Verdict = 'allowed' | 'unauthenticated' | 'forbidden' | 'not_found';

/** A call as far as the verdict cares. */
export interface Caller {
  readonly method: string;
  /** The connection comes from this machine and nobody passed it on. */
  readonly fromThisMachine: boolean;
  /** Whoever the credential belongs to; null when there is none, or a bad one: the two are never told apart. */
  readonly person: { readonly scopes: readonly Scope[]; readonly isInstanceAdmin: boolean } | null;
  /** The person's role in the workspace of the row the route names; null when there is no such row, or no role. */
  readonly role: Role | null;
}

/**
 * May this call go through this door? Identity first, then existence (someone without a role in a workspace is told
 * that nothing of it exists, whatever the token's scope), then role, then scope.
 */
export function judge(access: RouteAccess, caller: Caller): Verdict {
  if (access.who === 'public') return 'allowed';
  if (access.who === 'loopback_or_instance_admin' && caller.fromThisMachine) return 'allowed';
  if (caller.person === null) return 'unauthenticated';
  if ('row' in access) {
    if (caller.role === null) return 'not_found';
    if (access.who === 'workspace_admin' && caller.role !== 'admin') return 'forbidden';
  } else if (access.who !== 'person' && !caller.person.isInstanceAdmin) return 'forbidden';
  return holdsScope(caller.person.scopes, neededScope(access, caller.method)) ? 'allowed' : 'forbidden';
}
