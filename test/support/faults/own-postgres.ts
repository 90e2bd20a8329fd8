import { spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { appendFileSync, chmodSync, chownSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { DataSource } from 'typeorm';
import { databaseOptions } from '../../../src/database-options.js';
import { SystemClock } from '../../../src/platform/clock/system-clock.js';
import { postgresAccount } from '../../../src/platform/database/embedded/postgres-account.js';
import { postgresBinaries } from '../../../src/platform/database/embedded/postgres-binaries.js';
import { freePort, Postmaster } from '../../../src/platform/database/embedded/postmaster.js';

export interface OwnPostgresOptions {
  /** `embedded`, or a folder with `initdb` and `postgres`. */
  readonly binaries?: string;
  readonly settings?: Readonly<Record<string, string | number>>;
  /** Where the cluster goes; a folder of its own otherwise. */
  readonly home?: string;
  /** Networks that may come in besides 127.0.0.1. */
  readonly networks?: readonly string[];
}

/** Where a machine keeps the programs of a PostgreSQL of this major version, if it does. */
export function binariesOf(version: number): string | null {
  const folders = [process.env[`OFFICE_TEST_POSTGRES_${version}`], `/usr/lib/postgresql/${version}/bin`, `/usr/pgsql-${version}/bin`];
  return folders.find((folder) => folder !== undefined && existsSync(join(folder, 'initdb'))) ?? null;
}

/** A PostgreSQL that a test may do anything to. Always on the same port. */
export class OwnPostgres {
  private constructor(
    private readonly home: string,
    readonly port: number,
    private readonly relaunch: () => Promise<Postmaster>,
    private postmaster: Postmaster,
    private readonly isOurHome: boolean,
  ) {}

  static async start({ binaries = 'embedded', settings = {}, home, networks = [] }: OwnPostgresOptions = {}): Promise<OwnPostgres> {
    const base = home ?? mkdtempSync(join(tmpdir(), 'office-pg-'));
    chmodSync(base, 0o755);
    const clusterDir = join(base, 'cluster');
    const account = await postgresAccount(clusterDir);
    const programs =
      binaries === 'embedded'
        ? await postgresBinaries(account)
        : { initdb: join(binaries, 'initdb'), postgres: join(binaries, 'postgres') };
    mkdirSync(clusterDir, { mode: 0o700 });
    if (account) chownSync(clusterDir, account.uid, account.gid);
    const made = spawnSync(
      programs.initdb,
      ['-D', clusterDir, '-U', 'office', '--auth=trust', '--encoding=UTF8', '--locale=C', '--no-sync'],
      {
        ...account,
        cwd: clusterDir,
        env: { LC_ALL: 'C', PATH: process.env['PATH'] },
      },
    );
    if (made.status !== 0) throw new Error(`initdb: ${String(made.stderr)}`);
    for (const network of networks) appendFileSync(join(clusterDir, 'pg_hba.conf'), `host all all ${network} trust\n`);
    const port = await freePort();
    const clock = new SystemClock();
    const start = (): Promise<Postmaster> =>
      Postmaster.start({ postgres: programs.postgres, account, clusterDir, port, settings: { max_connections: 120, ...settings } }, clock);
    return new OwnPostgres(base, port, start, await start(), home === undefined);
  }

  /** It has ended by itself, or been ended. */
  get gone(): boolean {
    try {
      process.kill(this.pid, 0);
      return false;
    } catch {
      return true;
    }
  }

  get pid(): number {
    return this.postmaster.pid!;
  }

  urlOf(database: string, host = '127.0.0.1'): string {
    return `postgres://office@${host}:${this.port}/${database}`;
  }

  /** A database of its own. Answers its name. */
  async create({ migrated = true } = {}): Promise<string> {
    const name = `office_${randomUUID().replaceAll('-', '')}`;
    const admin = new pg.Client({ connectionString: this.urlOf('postgres') });
    await admin.connect();
    await admin.query(`create database ${name}`);
    await admin.end();
    if (migrated) {
      const dataSource = await new DataSource(databaseOptions(this.urlOf(name), { poolSize: 1, statementTimeoutMs: 0 })).initialize();
      await dataSource.runMigrations();
      await dataSource.destroy();
    }
    return name;
  }

  /** As a power cut, though the disk keeps what it was told to. */
  async killNine(): Promise<void> {
    // Its children go by themselves when they see it gone; some are quicker with help.
    const children = readdirSync('/proc').filter((name) => /^\d+$/.test(name) && parentOf(name) === this.pid);
    process.kill(this.pid, 'SIGKILL');
    for (const child of children) {
      try {
        process.kill(Number(child), 'SIGKILL');
      } catch {
        // Gone already.
      }
    }
    await this.postmaster.ended;
  }

  async stop(): Promise<void> {
    await this.postmaster.stop();
  }

  /** After a stop or a kill. Tries again while what was killed lets go of its memory. */
  async startAgain(): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      try {
        this.postmaster = await this.relaunch();
        return;
      } catch (error) {
        if (attempt === 50) throw error;
        await new Promise((resolve) => setTimeout(resolve, 100));
      }
    }
  }

  async dispose(): Promise<void> {
    await this.postmaster.stop();
    if (this.isOurHome) rmSync(this.home, { recursive: true, force: true, maxRetries: 5 });
  }
}

function parentOf(pid: string): number {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]);
  } catch {
    return 0;
  }
}
