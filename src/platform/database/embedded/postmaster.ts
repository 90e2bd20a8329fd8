import { spawn, type ChildProcess } from 'node:child_process';
import { createServer, type AddressInfo } from 'node:net';
import type { Clock } from '../../clock/clock.js';
import { clusterArgument, clusterMark } from './postgres-cluster.js';
import { lastWords, type Account } from './run-to-end.js';

const READY = 'database system is ready to accept connections';

export interface PostmasterSpec {
  readonly postgres: string;
  readonly account: Account | null;
  readonly clusterDir: string;
  readonly port: number;
  /** Put after ours, as `-c name=value`. */
  readonly settings: Readonly<Record<string, string | number>>;
}

/** Why it did not come up, as far as that decides what to try next. */
export class PostmasterFailure extends Error {
  readonly reason: 'port_taken' | 'cluster_busy' | 'other';

  constructor(log: string, clusterDir: string) {
    super(lastWords(log.replaceAll(clusterArgument(clusterDir), clusterDir)) || 'it said nothing');
    if (/could not bind|Address already in use/.test(log)) this.reason = 'port_taken';
    // Of a postmaster killed a moment ago: its children need up to a second to notice.
    else if (/lock file "postmaster\.pid"|pre-existing shared memory block/.test(log)) this.reason = 'cluster_busy';
    else this.reason = 'other';
  }
}

/** One run of the database server. */
export class Postmaster {
  private log = '';
  /** Resolves with its last words when it is gone, for whatever reason. */
  readonly ended: Promise<string>;

  private constructor(
    private readonly child: ChildProcess,
    private readonly clock: Clock,
  ) {
    child.stderr?.on('data', (chunk: Buffer) => (this.log = (this.log + chunk.toString()).slice(-8_192)));
    this.ended = new Promise((resolve) => {
      child.once('error', (error) => resolve(error.message));
      child.once('exit', (code, signal) => {
        const tell = (): void => resolve(`${signal ?? `exit code ${code}`}: ${lastWords(this.log)}`);
        // What it said last may still be in the pipe, but a child that it left behind can hold that open for as long as it likes.
        child.once('close', tell);
        clock.after(300, tell);
      });
    });
  }

  get pid(): number | undefined {
    return this.child.pid;
  }

  /** Returns when it takes connections, which after a crash may be a while; gives up when it has been silent for two minutes. */
  static async start(spec: PostmasterSpec, clock: Clock): Promise<Postmaster> {
    const settings = {
      listen_addresses: '127.0.0.1',
      unix_socket_directories: '',
      logging_collector: 'off',
      log_line_prefix: '',
      // What clients do wrong is told to clients. The rest is ours to hear.
      log_min_messages: 'log',
      cluster_name: 'agent-office',
      timezone: 'UTC',
      log_timezone: 'UTC',
      ...spec.settings,
    };
    const child = spawn(
      spec.postgres,
      [
        ['-D', clusterArgument(spec.clusterDir), '-p', String(spec.port), '-c', await clusterMark(spec.clusterDir)],
        Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]),
      ].flat(),
      {
        ...spec.account,
        cwd: spec.clusterDir,
        env: { LC_ALL: 'C', PATH: process.env['PATH'] },
        stdio: ['ignore', 'ignore', 'pipe'],
        // A group of its own: Ctrl-C in a terminal must not take the database away from an office that is still draining.
        detached: true,
      },
    );
    const postmaster = new Postmaster(child, clock);
    await postmaster.becomeReady(spec.clusterDir);
    return postmaster;
  }

  /** Fast, then hard. Resolves when it is gone. */
  async stop(): Promise<void> {
    for (const [signal, patienceMs] of [
      ['SIGINT', 10_000],
      ['SIGQUIT', 5_000],
      ['SIGKILL', 5_000],
    ] as const) {
      this.child.kill(signal);
      const patience = new AbortController();
      const gone = await Promise.race([this.ended.then(() => true), this.clock.sleep(patienceMs, patience.signal).then(() => false)]);
      patience.abort();
      if (gone) return;
    }
  }

  private async becomeReady(clusterDir: string): Promise<void> {
    const ready = new Promise<'ready'>((resolve) => {
      this.child.stderr?.on('data', () => {
        if (this.log.includes(READY)) resolve('ready');
      });
    });
    for (let before = -1; ; before = this.log.length) {
      const patience = new AbortController();
      const outcome = await Promise.race([
        ready,
        this.ended.then(() => 'ended' as const),
        this.clock.sleep(120_000, patience.signal).then(() => 'silent' as const),
      ]);
      patience.abort();
      if (outcome === 'ready') return;
      if (outcome === 'silent' && this.log.length !== before) continue;
      if (outcome === 'silent') await this.stop();
      const ended = await this.ended;
      throw new PostmasterFailure(this.log || ended, clusterDir);
    }
  }
}

/** A port nobody listens on at this moment. */
export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer()
      .once('error', reject)
      .listen(0, '127.0.0.1', () => {
        const { port } = server.address() as AddressInfo;
        server.close(() => resolve(port));
      });
  });
}
