import type { AgentRole, Capability } from './capabilities.js';

export interface Granter {
  readonly id: string;
  readonly role: AgentRole;
  /** What its run was given and it would still be given now: what is granted outlives the run. */
  readonly holds: readonly Capability[];
}

export interface Grantee {
  /** Null: it does not exist yet. */
  readonly before: { readonly id: string; readonly role: AgentRole; readonly holds: readonly Capability[] } | null;
  readonly after: { readonly role: AgentRole; readonly holds: readonly Capability[] };
}

/**
 * May an agent make, or make of another, this one? It grants nothing it lacks, touches nobody who holds what it lacks, does
 * not change its own standing, and makes no second CEO (contract 12).
 */
export function mayGrant(granter: Granter, { before, after }: Grantee): boolean {
  const lacks = (holds: readonly Capability[]): boolean => holds.some((capability) => !granter.holds.includes(capability));
  if (after.role === 'ceo' && before?.role !== 'ceo') return false;
  if (before !== null && lacks(before.holds)) return false;
  if (lacks(after.holds)) return false;
  return before?.id !== granter.id || (before.role === after.role && sameSet(before.holds, after.holds));
}

const sameSet = (left: readonly Capability[], right: readonly Capability[]): boolean =>
  left.length === right.length && left.every((capability) => right.includes(capability));
