import type { LoggerService } from '@nestjs/common';
import { join } from 'node:path';
import type { Clock } from '../../clock/clock.js';
import { StartError } from '../../errors/start-error.js';
import { reachDatabase } from '../reach-database.js';
import { stopLeftover } from './leftover-postmaster.js';
import { postgresAccount } from './postgres-account.js';
import { postgresBinaries } from './postgres-binaries.js';
import { DATABASE_USER, makeCluster } from './postgres-cluster.js';
import { freePort, Postmaster, PostmasterFailure } from './postmaster.js';

export const DATABASE = 'office';
export const CLUSTER = 'postgres';
const START_PATIENCE_MS = 20_000;
const RESTART_DELAYS_MS = [100, 500, 1_000, 2_000, 5_000, 10_000, 30_000];
/** Up for so long, it counts as healthy: the next death is restarted at once again. */
const HEALTHY_AFTER_MS = 60_000;

export interface EmbeddedPostgresOptions {
  /** The cluster is kept in `postgres/` in here. Whoever calls holds the lock of this folder. */
  readonly dataDir: string;
  /** Of the database user; kept by the caller, for good. */
  readonly password: string;
  /** Server settings on top of ours. Production has none: durability is not to be traded away. */
  readonly settings?: Readonly<Record<string, string | number>>;
  readonly clock: Clock;
  readonly logger: LoggerService;
}

/**
 * The PostgreSQL that comes with the office: a real server of its own, on a free port of 127.0.0.1, started again on the
 * same port whenever it dies. It never ends this process; a database that stays away is an outage like any other.
 */
export class EmbeddedPostgres {
  private readonly stopping = new AbortController();
  private watching: Promise<void> = Promise.resolve();
  /** Of starting it again, since it was last healthy. */
  private attempts = 0;

  private constructor(
    private readonly options: EmbeddedPostgresOptions,
    private readonly port: number,
    private postmaster: Postmaster,
  ) {}

  get url(): string {
    return this.urlOf(DATABASE);
  }

  get pid(): number | undefined {
    return this.postmaster.pid;
  }

  static async start(options: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
    const { clock, logger } = options;
    const since = clock.monotonicMs();
    try {
      await makeIfMissing(options);
      const embedded = await EmbeddedPostgres.firstLaunch(options);
      await embedded.makeDatabase();
      embedded.watching = embedded.watch();
      logger.log({ port: embedded.port, pid: embedded.pid, ms: Math.round(clock.monotonicMs() - since) }, 'embedded PostgreSQL started');
      return embedded;
    } catch (cause) {
      if (cause instanceof StartError) throw cause;
      throw new StartError(`The embedded PostgreSQL does not start: ${(cause as Error).message}`, { cause });
    }
  }

  /** On a port that nobody takes from under us; and what was killed a moment ago gets the time to go. */
  private static async firstLaunch(options: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
    const { clock } = options;
    for (const since = clock.monotonicMs(); ; await clock.sleep(100)) {
      const port = await freePort();
      try {
        return new EmbeddedPostgres(options, port, await launch(options, port));
      } catch (error) {
        const mayPass = error instanceof PostmasterFailure && error.reason !== 'other';
        if (!mayPass || clock.monotonicMs() - since > START_PATIENCE_MS) throw error;
      }
    }
  }

  async stop(): Promise<void> {
    this.stopping.abort();
    await this.postmaster.stop();
    await this.watching;
  }

  urlOf(database: string): string {
    return `postgres://${DATABASE_USER}:${this.options.password}@127.0.0.1:${this.port}/${database}`;
  }

  private async makeDatabase(): Promise<void> {
    try {
      const client = await reachDatabase(this.urlOf('postgres'));
      try {
        const { rowCount } = await client.query('select from pg_database where datname = $1', [DATABASE]);
        if (rowCount === 0) await client.query(`create database ${DATABASE}`);
      } finally {
        await client.end();
      }
    } catch (error) {
      await this.postmaster.stop();
      throw error;
    }
  }

  private async watch(): Promise<void> {
    const { clock, logger } = this.options;
    while (!this.stopping.signal.aborted) {
      const up = clock.monotonicMs();
      const lastWords = await this.postmaster.ended;
      if (this.stopping.signal.aborted) return;
      if (clock.monotonicMs() - up > HEALTHY_AFTER_MS) this.attempts = 0;
      logger.error({ last_words: lastWords }, 'embedded PostgreSQL died');
      await this.revive();
    }
  }

  /** Starts it again until it comes up, or nobody wants it any more. */
  private async revive(): Promise<void> {
    const { clock, logger } = this.options;
    const died = clock.monotonicMs();
    const postmaster = await this.untilUp();
    if (postmaster === null) return;
    this.postmaster = postmaster;
    // Stopped while it was coming up.
    if (this.stopping.signal.aborted) return postmaster.stop();
    logger.log({ port: this.port, pid: this.pid, ms: Math.round(clock.monotonicMs() - died) }, 'embedded PostgreSQL is back');
  }

  private async untilUp(): Promise<Postmaster | null> {
    const { clock, logger } = this.options;
    let told = '';
    for (let failures = 0; ; failures++) {
      await clock.sleep(RESTART_DELAYS_MS[Math.min(this.attempts++, RESTART_DELAYS_MS.length - 1)]!, this.stopping.signal);
      if (this.stopping.signal.aborted) return null;
      try {
        return await launch(this.options, this.port);
      } catch (error) {
        const why = (error as Error).message;
        // Not the first time: what it left behind may only have needed a moment to go.
        if (failures === 0 || why === told) continue;
        logger.error({ why }, 'embedded PostgreSQL does not start again, still trying');
        told = why;
      }
    }
  }
}

/** In `launch` there is no making: a cluster that went away under a living office is a disaster, no reason for an empty one. */
async function makeIfMissing({ dataDir, password }: EmbeddedPostgresOptions): Promise<void> {
  const clusterDir = join(dataDir, CLUSTER);
  const account = await postgresAccount(clusterDir);
  const { initdb } = await postgresBinaries(account);
  await makeCluster(clusterDir, { initdb, account, password });
}

async function launch({ dataDir, settings = {}, clock }: EmbeddedPostgresOptions, port: number): Promise<Postmaster> {
  const clusterDir = join(dataDir, CLUSTER);
  const account = await postgresAccount(clusterDir);
  const { postgres } = await postgresBinaries(account);
  await stopLeftover(clusterDir, clock);
  return Postmaster.start({ postgres, account, clusterDir, port, settings }, clock);
}
