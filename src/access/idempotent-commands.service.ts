import { Injectable } from '@nestjs/common';
import type { Tx } from '../platform/database/tx.js';
import { UnitOfWork } from '../platform/database/unit-of-work.js';
import { OfficeError } from '../platform/errors/office-error.js';
import { storableJson } from '../platform/text/storable.js';
import type { Call, IdempotentRequest } from './call.js';

/** How long a key is remembered. */
export const KEY_LIFETIME = `interval '24 hours'`;

const LOCK = `select pg_try_advisory_xact_lock(hashtextextended($1, 0)) as held`;
const REMEMBERED = `
  select request_hash, answer from idempotency_keys
   where principal = $1 and method = $2 and route = $3 and key = $4 and created_at > now() - ${KEY_LIFETIME}`;
// An expired row that was not pruned yet makes room.
const REMEMBER = `
  insert into idempotency_keys (principal, method, route, key, request_hash, answer) values ($1, $2, $3, $4, $5, $6)
  on conflict on constraint idempotency_keys_pkey
  do update set request_hash = excluded.request_hash, answer = excluded.answer, created_at = now()`;

/**
 * Runs a command once per Idempotency-Key: its effect and the answer to it are committed together, so a repetition can
 * neither act again nor be told something else.
 */
@Injectable()
export class IdempotentCommands {
  constructor(private readonly unitOfWork: UnitOfWork) {}

  /**
   * One transaction of the workspace (of the instance when null). `work` answers the view the route sends. What must not
   * be kept in it (a token's text) is left out by `keep`, and so out of a repeated answer.
   */
  once<View>(
    { idempotency }: Pick<Call, 'idempotency'>,
    workspaceId: string | null,
    work: (tx: Tx) => Promise<View>,
    keep: (view: View) => View = asIs,
  ): Promise<View> {
    const once = idempotency === null ? work : (tx: Tx) => this.repeatable(tx, idempotency, work, keep);
    return workspaceId === null ? this.unitOfWork.runForInstance(once) : this.unitOfWork.run(workspaceId, once);
  }

  private async repeatable<View>(
    tx: Tx,
    request: IdempotentRequest,
    work: (tx: Tx) => Promise<View>,
    keep: (view: View) => View,
  ): Promise<View> {
    const { principal, method, route, key, hash } = request;
    const identity = [principal, method, route, key];
    const [lock] = await tx.query<{ held: boolean }>(LOCK, [identity.join('\n')]);
    if (!lock?.held) throw new OfficeError('in_progress');

    const [before] = await tx.query<{ request_hash: Buffer; answer: string }>(REMEMBERED, identity);
    if (before && !before.request_hash.equals(hash)) throw new OfficeError('idempotency_key_reused');
    if (before) return JSON.parse(before.answer) as View;

    const view = await work(tx);
    // Kept as one JSON string, because jsonb would put the fields of an object in another order.
    await tx.query(REMEMBER, [...identity, hash, JSON.stringify(storableJson(keep(view) ?? null))]);
    return view;
  }
}

const asIs = <T>(value: T): T => value;
