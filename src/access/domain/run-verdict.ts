import type { Capability } from './capabilities.js';
import type { NamedKind, Reference, RunIdentity } from './run-access.js';

export type RunRefusal =
  'missing_runtime_token' | 'invalid_runtime_token' | 'capability_denied' | 'workspace_out_of_scope' | 'task_out_of_scope' | 'not_found';

/** What the database knows of a row that a request named; nothing: it is not in the run's workspace. */
export interface FoundRow {
  readonly kind: NamedKind;
  readonly id: string;
  /** False: it was deleted. */
  readonly there: boolean;
}

/** The questions in the order they are asked (contract 12): token, capability, workspace, task scope, existence. Null is yes. */

export const judgeToken = (authorization: string | undefined, run: RunIdentity | null): RunRefusal | null => {
  if (authorization === undefined || authorization.trim() === '') return 'missing_runtime_token';
  return run === null ? 'invalid_runtime_token' : null;
};

export const judgeCapability = ({ capabilities }: RunIdentity, needed: Capability | null): RunRefusal | null =>
  needed === null || capabilities.includes(needed) ? null : 'capability_denied';

/** Whatever is not in the run's own workspace is out of scope, whether it exists elsewhere or not. */
export function judgeWorkspace(run: RunIdentity, references: readonly Reference[], found: readonly FoundRow[]): RunRefusal | null {
  const isOurs = ({ kind, id }: Reference): boolean =>
    kind === 'workspace' ? same(id, run.workspaceId) : found.some((row) => row.kind === kind && same(row.id, id));
  return references.every(isOurs) ? null : 'workspace_out_of_scope';
}

export function judgeTaskScope({ allowedTaskIds }: RunIdentity, references: readonly Reference[]): RunRefusal | null {
  if (allowedTaskIds === '*') return null;
  const isAllowed = ({ id }: Reference): boolean => allowedTaskIds.some((allowed) => same(allowed, id));
  return references.every((reference) => !reference.changes || isAllowed(reference)) ? null : 'task_out_of_scope';
}

export const judgeExistence = (found: readonly FoundRow[]): RunRefusal | null => (found.every(({ there }) => there) ? null : 'not_found');

const same = (left: string, right: string): boolean => left.toLowerCase() === right.toLowerCase();
