import type { LoggerService } from '@nestjs/common';
import pg from 'pg';
import { join } from 'node:path';
import type { Clock } from '../../clock/clock.js';
import { StartError } from '../../errors/start-error.js';
import { stopLeftover } from './leftover-postmaster.js';
import { postgresAccount } from './postgres-account.js';
import { postgresBinaries } from './postgres-binaries.js';
import { DATABASE_USER, makeCluster } from './postgres-cluster.js';
import { freePort, Postmaster, PostmasterFailure } from './postmaster.js';

const DATABASE = 'office';
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

  private constructor(
    private readonly options: EmbeddedPostgresOptions,
    private port: number,
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
    for (;;) {
      const port = await freePort();
      try {
        const embedded = new EmbeddedPostgres(options, port, await launch(options, port));
        await embedded.makeDatabase();
        embedded.watching = embedded.watch();
        logger.log({ port, pid: embedded.pid, ms: Math.round(clock.monotonicMs() - since) }, 'embedded PostgreSQL started');
        return embedded;
      } catch (error) {
        if (!(error instanceof PostmasterFailure)) throw asStartError(error);
        if (error.reason === 'other' || clock.monotonicMs() - since > START_PATIENCE_MS) {
          throw new StartError(`The embedded PostgreSQL does not start: ${error.message}`, { cause: error });
        }
        await clock.sleep(100);
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
    const client = new pg.Client({ connectionString: this.urlOf('postgres'), connectionTimeoutMillis: 10_000 });
    try {
      await client.connect();
      const { rowCount } = await client.query('select from pg_database where datname = $1', [DATABASE]);
      if (rowCount === 0) await client.query(`create database ${DATABASE}`);
    } catch (error) {
      await this.postmaster.stop();
      throw new StartError(`The embedded PostgreSQL lets nobody in: ${(error as Error).message}`, { cause: error });
    } finally {
      await client.end();
    }
  }

  private async watch(): Promise<void> {
    const { clock, logger } = this.options;
    for (let failures = 0; ;) {
      const up = clock.monotonicMs();
      const lastWords = await this.postmaster.ended;
      if (this.stopping.signal.aborted) return;
      if (clock.monotonicMs() - up > HEALTHY_AFTER_MS) failures = 0;
      logger.error({ last_words: lastWords }, 'embedded PostgreSQL died');
      const died = clock.monotonicMs();

      for (let told = ''; ; failures++) {
        await clock.sleep(RESTART_DELAYS_MS[Math.min(failures, RESTART_DELAYS_MS.length - 1)]!, this.stopping.signal);
        if (this.stopping.signal.aborted) return;
        try {
          this.postmaster = await launch(this.options, this.port);
          break;
        } catch (error) {
          const why = (error as Error).message;
          if (why !== told && failures > 1) logger.error({ why }, 'embedded PostgreSQL does not start again, still trying');
          told = why;
        }
      }
      // Stopped while it was coming up.
      if (this.stopping.signal.aborted) return this.postmaster.stop();
      failures++;
      logger.log({ port: this.port, pid: this.pid, ms: Math.round(clock.monotonicMs() - died) }, 'embedded PostgreSQL is back');
    }
  }
}

const asStartError = (cause: unknown): StartError =>
  cause instanceof StartError ? cause : new StartError(`The embedded PostgreSQL cannot be set up: ${(cause as Error).message}.`, { cause });

async function launch({ dataDir, password, settings = {}, clock }: EmbeddedPostgresOptions, port: number): Promise<Postmaster> {
  const clusterDir = join(dataDir, 'postgres');
  const account = await postgresAccount(clusterDir);
  const { initdb, postgres } = await postgresBinaries(account);
  await makeCluster(clusterDir, { initdb, account, password });
  await stopLeftover(clusterDir, clock);
  return Postmaster.start({ postgres, account, clusterDir, port, settings }, clock);
}
