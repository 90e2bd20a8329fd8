import { Injectable, Logger } from '@nestjs/common';
import { Cron } from '@nestjs/schedule';
import { isUnavailable } from '../platform/database/sqlstate.js';
import { UnitOfWork } from '../platform/database/unit-of-work.js';
import { KEY_LIFETIME } from './idempotent-commands.service.js';

const BATCH = 1_000;
/** A tick that finds more leaves it to the next one. */
const BATCHES = 20;

const PRUNE = `
  delete from idempotency_keys where ctid in (
    select ctid from idempotency_keys where created_at <= now() - ${KEY_LIFETIME} order by created_at limit ${BATCH} for update skip locked)
  returning 1`;

/** The alarm clock that forgets keys whose day is over. */
@Injectable()
export class IdempotencyCron {
  private readonly logger = new Logger(IdempotencyCron.name);

  constructor(private readonly unitOfWork: UnitOfWork) {}

  @Cron('17 */10 * * * *', { name: 'idempotency-keys', waitForCompletion: true })
  async tick(): Promise<void> {
    try {
      const pruned = await this.sweep();
      if (pruned > 0) this.logger.debug({ pruned }, 'idempotency keys forgotten');
    } catch (error) {
      // The next tick comes anyway, and an absent database is already being reported by whoever waits for it.
      if (!isUnavailable(error)) this.logger.error({ err: error }, 'idempotency keys not pruned');
    }
  }

  /** Deletes what expired, a bounded number of small batches, on one server at a time. Answers how many went. */
  async sweep(): Promise<number> {
    let pruned = 0;
    for (let batch = 0; batch < BATCHES; batch++) {
      const gone = await this.unitOfWork.runForInstance(async (tx) => {
        const [lock] = await tx.query<{ held: boolean }>(
          `select pg_try_advisory_xact_lock(hashtextextended('idempotency-keys', 0)) as held`,
        );
        return lock?.held ? (await tx.query(PRUNE)).length : 0;
      });
      pruned += gone;
      if (gone < BATCH) break;
    }
    return pruned;
  }
}
