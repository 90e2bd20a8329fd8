import type { AgentRole, Capability } from './capabilities.js';

/** Whose token came with an agent's request, as far as it could be believed. Everything in it was frozen by the run's first claim. */
export interface RunIdentity {
  readonly runId: string;
  readonly generation: number;
  readonly workspaceId: string;
  readonly agentId: string;
  /** Null: a run without a task. */
  readonly taskId: string | null;
  readonly sessionId: string;
  readonly role: AgentRole;
  readonly capabilities: readonly Capability[];
  /** The tasks it may change: its own, or every one of the workspace. */
  readonly allowedTaskIds: readonly string[] | '*';
  /** Seconds since 1970. */
  readonly expiresAt: number;
}

export const allowedTasks = (role: AgentRole, capabilities: readonly Capability[], taskId: string | null): readonly string[] | '*' => {
  if (role === 'ceo' && capabilities.includes('assign_tasks')) return '*';
  return taskId === null ? [] : [taskId];
};

/** Kinds of rows an agent may name in a request. */
export const NAMED_KINDS = ['workspace', 'task', 'agent', 'skill', 'project'] as const;
export type NamedKind = (typeof NAMED_KINDS)[number];

/**
 * Where a request names a row. `field` is a part of the path or of the body; a list of ids names each of them.
 * `changes`: a task the agent must be allowed to change. `orOwn`: left out, it is the run's own task.
 * `kindIn`: the field that says which kind it is. `memory`: a memory path, which names a workspace and an owner.
 */
export type NamedRow =
  | {
      readonly field: string;
      readonly kind: Exclude<NamedKind, 'workspace'>;
      readonly changes?: true;
      readonly orOwn?: true;
      readonly isTarget?: true;
    }
  | { readonly field: string; readonly kindIn: string }
  | { readonly field: string; readonly kind: 'memory' };

/** What a route, or a tool, demands of a run. */
export interface RunRequirement {
  /** What the run's log calls it. */
  readonly action: string;
  /** Null: whoever runs may. */
  readonly capability: Capability | null;
  readonly names: readonly NamedRow[];
}

/** A row that a request named. `id` is whatever was sent. */
export interface Reference {
  readonly kind: NamedKind;
  readonly id: string;
  readonly changes: boolean;
}

export type Fields = Readonly<Record<string, unknown>>;

/** Every row that a request names. What is no text, in a body, is left for its validation to refuse. */
export function referencesOf(names: readonly NamedRow[], fields: Fields, own: { readonly taskId: string | null }): Reference[] {
  return names.flatMap((named) => {
    const value = fields[named.field];
    if ('kindIn' in named) {
      const kind = NAMED_KINDS.find((known) => known !== 'workspace' && known === fields[named.kindIn]);
      return kind === undefined ? [] : textsOf(value).map((id) => ({ kind, id, changes: false }));
    }
    if (named.kind === 'memory') return memoryReferences(value);
    const ids = value === undefined && named.orOwn === true && own.taskId !== null ? [own.taskId] : textsOf(value);
    return ids.map((id) => ({ kind: named.kind, id, changes: named.changes === true }));
  });
}

/** What a request is about, for the run's log. */
export function targetOf(
  names: readonly NamedRow[],
  fields: Fields,
  own: { readonly taskId: string | null },
): { type: string | null; id: string | null } {
  for (const named of names) {
    const value = fields[named.field];
    if ('kindIn' in named) {
      const [kind] = textsOf(fields[named.kindIn]);
      const [id] = textsOf(value);
      if (kind !== undefined && id !== undefined) return { type: kind.slice(0, LOGGED), id: id.slice(0, LOGGED) };
    } else if (named.kind === 'memory') {
      const [path] = textsOf(value);
      return { type: 'memory', id: path?.slice(0, LOGGED) ?? null };
    } else if (named.isTarget === true) {
      const [id] = value === undefined && named.orOwn === true ? [own.taskId ?? undefined] : textsOf(value);
      return { type: named.kind, id: id?.slice(0, LOGGED) ?? null };
    }
  }
  return { type: null, id: null };
}

const LOGGED = 600;

const OWNERS: Readonly<Record<string, NamedKind>> = { agents: 'agent', tasks: 'task', projects: 'project', skills: 'skill' };

/** `workspaces/{ws}/memory/{kind}/{id}/…`: as much of it as is there. Its shape is judged by whoever reads the whole. */
function memoryReferences(path: unknown): Reference[] {
  const [path_ = ''] = textsOf(path);
  const [workspaces, workspaceId, memory, namespace = '', ownerId] = path_.split('/');
  if (workspaces !== 'workspaces' || workspaceId === undefined) return [];
  const place: Reference = { kind: 'workspace', id: workspaceId, changes: false };
  const kind = memory === 'memory' && Object.hasOwn(OWNERS, namespace) ? OWNERS[namespace] : undefined;
  if (kind === undefined || ownerId === undefined) return [place];
  return [place, { kind, id: ownerId, changes: false }];
}

const textsOf = (value: unknown): string[] => [value].flat().filter((one): one is string => typeof one === 'string');
