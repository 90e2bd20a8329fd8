import type { Type } from '@nestjs/common';
import type { Fields, NamedRow, RunIdentity, RunRequirement } from '../access/domain/run-access.js';
import type { Actor } from '../platform/actor.js';
import type { Tx } from '../platform/database/tx.js';
import type { OfficeError } from '../platform/errors/office-error.js';
import type { LockedTask } from '../tasks/task.repository.js';
import type { ActionName } from './domain/action-names.js';

/** One thing an agent may ask for, said once: its route, its tool, its guards and its place in the run's log follow from it. */
export interface ActionDeclaration extends RunRequirement {
  readonly action: ActionName;
  /** Below `/runtime`. Its parameters are fields, too, and are resolved by the guards; what stands for a `*` at its end is `path`. */
  readonly route: `${'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'} ${string}`;
  readonly status: 200 | 201 | 202;
  readonly summary: string;
  readonly names: readonly NamedRow[];
  /** Null: it takes none. */
  readonly body: Type<object> | null;
  readonly answer: Type<object>;
  /** A POST that creates or wakes: repeated with the same Idempotency-Key it acts once. */
  readonly idempotent?: true;
  /** It works on the run's own task, so that a run whose tools are those of its task has it too (`setMcpMode`). */
  readonly ofTask?: true;
}

/** One call of an action, within the transaction in which the run was found to be running still. */
export interface ActionCall<Body = object> {
  readonly tx: Tx;
  readonly run: RunIdentity;
  readonly actor: Actor & { readonly kind: 'agent' };
  /** Validated. */
  readonly body: Body;
  /** Parts of the path. Ids among them are of rows that are there. */
  readonly params: Fields;
  /** The task the action changes, locked; null where it changes none. */
  readonly task: LockedTask | null;
  /** What the run's log says it was about, where that is known only now. */
  readonly about: (type: string, id: string) => void;
}

/** A refusal that keeps what was written before it: a wake that was refused stays listed. */
export class RefusedWithEffect {
  constructor(readonly error: OfficeError) {}
}

/**
 * What an action does, whoever carried the request. A thrown `OfficeError` refuses and undoes everything; the answer is the
 * declared view.
 */
export abstract class RuntimeAction<Body extends object = object, View extends object = object> {
  abstract perform(call: ActionCall<Body>): Promise<View | RefusedWithEffect>;
}

/** `post_comment` is `postComment`. */
export const handlerName = ({ action }: ActionDeclaration): string =>
  action.replaceAll(/_(\w)/g, (_, letter: string) => letter.toUpperCase());

export type ActionClass = Type<RuntimeAction> & { readonly declared: ActionDeclaration };

export const actorOf = ({ agentId, runId }: RunIdentity): Actor & { readonly kind: 'agent' } => ({ kind: 'agent', id: agentId, runId });
