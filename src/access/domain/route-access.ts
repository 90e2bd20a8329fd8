/** What a token may be used for. `admin` implies `write` implies `read`. */
export const SCOPES = ['read', 'write', 'admin'] as const;
export type Scope = (typeof SCOPES)[number];

export const ROLES = ['member', 'admin'] as const;
export type Role = (typeof ROLES)[number];

/** Kinds of rows a route may name, whose workspace the guard then finds (`access.repository.ts` maps each to its table). */
export const ROW_KINDS = [
  'workspaces',
  'agents',
  'tasks',
  'sessions',
  'runs',
  'repositories',
  'worktrees',
  'approvals',
  'skills',
  'workflows',
  'projects',
] as const;
export type RowKind = (typeof ROW_KINDS)[number];

/** Where a route says which workspace it is about: the row of this kind whose id is in that route parameter. */
export interface RowInPath {
  readonly kind: RowKind;
  readonly param: string;
}

/**
 * What a route demands of a person.
 * `public`: nothing, credentials are not even looked at. `person`: any valid token. `instance_admin`: and that flag.
 * `loopback_or_instance_admin`: a connection from this machine, else as `instance_admin`.
 * `member`, `workspace_admin`: that role, or a higher one, in the workspace of the row.
 */
export type RouteAccess =
  | { readonly who: 'public' | 'loopback_or_instance_admin' | 'person' | 'instance_admin' }
  | { readonly who: 'member' | 'workspace_admin'; readonly row: RowInPath };

/**
 * The one place that says which scope a call needs: reading `read`, changing `write`, what only admins may do `admin`.
 * Metrics need `read` only, so that no scraper has to be handed a token that can change things.
 */
export function neededScope(access: RouteAccess, method: string): Scope {
  if (access.who === 'workspace_admin' || access.who === 'instance_admin') return 'admin';
  return method === 'GET' || method === 'HEAD' ? 'read' : 'write';
}

export function holdsScope(held: readonly Scope[], needed: Scope): boolean {
  return held.some((scope) => SCOPES.indexOf(scope) >= SCOPES.indexOf(needed));
}
