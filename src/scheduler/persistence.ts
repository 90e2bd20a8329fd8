import { Injectable, Logger } from '@nestjs/common';
import { Clock } from '../platform/clock/clock.js';
import { DatabaseOutage } from '../platform/database/database-outage.js';
import { isPassing, isUnavailable } from '../platform/database/sqlstate.js';

/** Says the same thing to the database until it is heard. For facts that must not be lost because the database is away for a while. */
@Injectable()
export class Persistence {
  private readonly logger = new Logger(Persistence.name);
  private readonly abandoned = new AbortController();

  constructor(
    private readonly clock: Clock,
    private readonly outage: DatabaseOutage,
  ) {}

  /**
   * Repeats `work` while the database does not answer or a lock does not come. Any other error (a bug of ours) is repeated
   * `attempts` times with growing pauses and then thrown. `work` must be safe to repeat.
   */
  async untilHeard<T>(work: () => Promise<T>, attempts = 3): Promise<T> {
    for (let failures = 0; ;) {
      try {
        const answer = await work();
        this.outage.recovered();
        return answer;
      } catch (error) {
        if (isUnavailable(error)) {
          const pause = this.outage.failed(error);
          if (this.abandoned.signal.aborted) throw error;
          await this.clock.sleep(pause, this.abandoned.signal);
          continue;
        }
        if (isPassing(error)) {
          if (this.abandoned.signal.aborted) throw error;
          await this.clock.sleep(500 + 500 * Math.random(), this.abandoned.signal);
          continue;
        }
        failures++;
        if (failures >= attempts) throw error;
        this.logger.warn({ err: error, failures }, 'database write refused, trying again');
        await this.clock.sleep(100 * 2 ** failures);
      }
    }
  }

  /** The server has to go although the database is away: from now on an outage is thrown. The next boot settles what is left. */
  abandon(): void {
    this.abandoned.abort();
  }
}
