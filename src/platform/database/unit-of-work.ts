import { Injectable } from '@nestjs/common';
import type { ClientBase } from 'pg';
import { DataSource, QueryFailedError, type QueryRunner } from 'typeorm';
import { Clock } from '../clock/clock.js';
import { Nudges } from './nudges.js';
import { storableJson } from '../text/storable.js';
import { isRetryable, isUnavailable } from './sqlstate.js';
import { inOneWrite, prepared } from './prepared.js';
import { Tx, type Statement } from './tx.js';

const ATTEMPTS = 4;

/** What TypeORM's runner for PostgreSQL can do besides: with an error, the pool destroys the connection instead of keeping it. */
interface Droppable {
  releasePostgresConnection(error?: unknown): Promise<void>;
}

/**
 * One trip. READ COMMITTED: every connection is opened so (database-options.ts). And one plan for all values: PostgreSQL would
 * plan the large statements of the hot paths anew each time, whenever it finds that the values at hand are worth a little less
 * work than others, and planning one of them costs ten times what running it does.
 */
const BEGIN = 'begin; set local plan_cache_mode = force_generic_plan; set local enable_seqscan = off';

/** What went wrong in a transaction that could not be rolled back either. */
class HalfDone extends Error {
  constructor(
    readonly reason: unknown,
    readonly failure: unknown,
  ) {
    super('a transaction was left open');
  }
}

/**
 * Gapless and in commit order: the counter row is locked from here to the commit, so this must be the last statement (contract 11).
 * Where a workspace has no counter the number is null, which the table refuses: nobody reads the answer before the commit is sent.
 */
const APPEND_EVENTS = `
  with counter as (
    update office_event_counters set last_seq = last_seq + $2 where workspace_id = $1 returning last_seq
  )
  insert into office_events (workspace_id, seq, action, payload)
  select $1, (select last_seq from counter) - $2 + told.place, told.action, told.payload
    from unnest($3::text[], $4::jsonb[]) with ordinality as told(action, payload, place)`;

/**
 * Opens transactions. The work may run more than once (on a deadlock or a serialization failure), so it must do
 * nothing outside the database. A failed COMMIT whose outcome is unknown is never repeated here: whoever asked must
 * be able to ask again safely.
 */
@Injectable()
export class UnitOfWork {
  constructor(
    private readonly dataSource: DataSource,
    private readonly nudges: Nudges,
    private readonly clock: Clock,
  ) {}

  /** One transaction of one workspace; its events are appended last, its nudges go out after the commit. */
  async run<T>(workspaceId: string, work: (tx: Tx) => Promise<T>): Promise<T> {
    return this.attempt(workspaceId, work);
  }

  /** One transaction of the instance (people, hosts): no workspace, no events. */
  async runForInstance<T>(work: (tx: Tx) => Promise<T>): Promise<T> {
    return this.attempt(null, work);
  }

  /** One writing statement that is a whole change by itself and tells nobody: commits with itself, repeated on a deadlock. */
  async statement<Row>(sql: string, parameters: readonly unknown[] = []): Promise<Row[]> {
    return this.retrying(() => this.onConnection(async (runner) => prepared<Row>(await clientOf(runner), sql, parameters)));
  }

  /** Reads outside a transaction: one statement, its own snapshot. */
  async read<Row>(sql: string, parameters: readonly unknown[] = []): Promise<Row[]> {
    return this.onConnection(async (runner) => (await runner.query(sql, parameters as unknown[])) as Row[]);
  }

  /** As `read`, with the plan kept by the connection. */
  async readPrepared<Row>(sql: string, parameters: readonly unknown[] = []): Promise<Row[]> {
    return this.onConnection(async (runner) => prepared<Row>(await clientOf(runner), sql, parameters));
  }

  private async attempt<T>(workspaceId: string | null, work: (tx: Tx) => Promise<T>): Promise<T> {
    const [result, tx] = await this.retrying(() =>
      this.onConnection(async (runner) => {
        const client = await clientOf(runner);
        inOneWrite(client);
        const begun = send(client, BEGIN);
        try {
          const tx = new Tx(runner.manager, workspaceId, begun);
          const result = await work(tx);
          await begun;
          await close(tx, await clientOf(runner));
          return [result, tx] as const;
        } catch (error) {
          // Where nobody answers any more there is nobody to tell.
          if (!isUnavailable(error)) await rollBack(runner).catch((failure: unknown) => Promise.reject(new HalfDone(error, failure)));
          throw error;
        }
      }),
    );
    this.nudges.send(workspaceId, tx.nudges);
    return result;
  }

  /**
   * A connection that did not answer is destroyed, never handed on: its transaction may still be open on the other side, and
   * whoever got it next would write into it.
   */
  private async onConnection<T>(work: (runner: QueryRunner) => Promise<T>): Promise<T> {
    const runner = this.dataSource.createQueryRunner() as QueryRunner & Droppable;
    let broken: unknown;
    try {
      return await work(runner);
    } catch (error) {
      if (isUnavailable(error)) broken = error;
      if (!(error instanceof HalfDone)) throw error;
      broken = error.failure;
      throw error.reason;
    } finally {
      await runner.releasePostgresConnection(broken);
    }
  }

  private async retrying<T>(unit: () => Promise<T>): Promise<T> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await unit();
      } catch (error) {
        if (attempt === ATTEMPTS || !isRetryable(error)) throw error;
        await this.clock.sleep(5 * 2 ** attempt * (0.5 + Math.random()));
      }
    }
  }
}

const clientOf = async (runner: QueryRunner): Promise<ClientBase> => (await runner.connect()) as ClientBase;

/**
 * All that is left to write and the commit, in one trip. Where one of them fails PostgreSQL makes a rollback of the commit behind
 * it, so nothing has to be waited for before it is sent.
 */
async function close(tx: Tx, client: ClientBase): Promise<void> {
  const left = [...tx.closing, ...eventsOf(tx)];
  const answers = left.map(({ sql, parameters }) => prepared<unknown>(client, sql, parameters));
  const commit = send(client, 'commit');
  for (const outcome of await Promise.allSettled([...answers, commit])) if (outcome.status === 'rejected') throw outcome.reason;
  if ((await commit).command !== 'COMMIT')
    throw new Error('a statement of the transaction had failed, and its work went on as if it had not');
  const found = await Promise.all(answers);
  left.forEach(({ heard }, at) => heard?.(found[at]!));
}

function eventsOf(tx: Tx): Statement[] {
  if (tx.events.length === 0) return [];
  const actions = tx.events.map(({ action }) => action);
  const payloads = tx.events.map(({ payload }) => storableJson(payload));
  tx.nudge('events');
  return [{ sql: APPEND_EVENTS, parameters: [tx.workspaceId, tx.events.length, actions, payloads] }];
}

const rollBack = async (runner: QueryRunner): Promise<unknown> => send(await clientOf(runner), 'rollback');

/** A statement, or several, of the transaction's frame. TypeORM's own would take a trip for each. */
async function send(client: ClientBase, sql: string): Promise<{ readonly command: string }> {
  return client.query(sql).catch((error: unknown) => Promise.reject(new QueryFailedError(sql, undefined, error as Error)));
}
