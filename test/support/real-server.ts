import { spawn, type ChildProcess } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';

const ROOT = join(import.meta.dirname, '..', '..');
/** What `npm start` ends in, flags and all. */
const PROGRAM = /exec node (.+)$/.exec(JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')).scripts.start)![1]!.split(' ');
const READY_MS = 30_000;

export interface RealServerOptions {
  /** Unset: the embedded PostgreSQL. */
  readonly databaseUrl?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** A folder of an earlier server, to start again on; the caller then removes it. */
  readonly home?: string;
}

export interface Reply<Body> {
  readonly status: number;
  readonly body: Body;
}

/** The program itself, as a person would start it: a process with a data dir of its own, reached over HTTP only. */
export class RealServer {
  /** Everything it has written, a line each. */
  readonly log: string[] = [];
  url = '';
  token = '';
  private child!: ChildProcess;
  private ended!: Promise<number | string>;

  private constructor(
    readonly home: string,
    private readonly options: RealServerOptions,
  ) {}

  static async start(options: RealServerOptions = {}): Promise<RealServer> {
    const server = new RealServer(options.home ?? mkdtempSync(join(tmpdir(), 'office-server-')), options);
    await server.boot();
    return server;
  }

  get dataDir(): string {
    return join(this.home, 'data');
  }

  get workDir(): string {
    return join(this.home, 'work');
  }

  get pid(): number {
    return this.child.pid!;
  }

  get alive(): boolean {
    return this.child.exitCode === null && this.child.signalCode === null;
  }

  /** Starts (again). Resolves when the doors are open. */
  async boot(): Promise<void> {
    const { databaseUrl, env } = this.options;
    const child = spawn(process.execPath, PROGRAM, {
      cwd: ROOT,
      env: {
        PATH: process.env.PATH,
        HOME: this.home,
        OFFICE_PORT: '0',
        OFFICE_DATA_DIR: this.dataDir,
        OFFICE_WORK_DIR: this.workDir,
        ...(databaseUrl === undefined ? {} : { OFFICE_DATABASE_URL: databaseUrl }),
        ...env,
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.child = child;
    this.ended = new Promise((resolve) => child.once('exit', (code, signal) => resolve(signal ?? code ?? 0)));
    const from = this.log.length;
    for (const stream of [child.stdout, child.stderr]) {
      let rest = '';
      stream.setEncoding('utf8').on('data', (text: string) => {
        const lines = (rest + text).split('\n');
        rest = lines.pop()!;
        this.log.push(...lines);
      });
    }
    const opened = await waitFor(
      () => {
        if (!this.alive) throw new Error(`the server ended: ${this.log.slice(from).join('\n')}`);
        return this.log.slice(from).find((line) => line.includes('"msg":"office is open"'));
      },
      READY_MS,
      'the office to open',
    );
    this.url = (JSON.parse(opened) as { url: string }).url;
    this.token = this.options.env?.OFFICE_ADMIN_TOKEN ?? readFileSync(join(this.dataDir, 'admin-token'), 'utf8').trim();
  }

  /** Ends it and answers how it ended: an exit code or a signal's name. */
  async end(signal: NodeJS.Signals): Promise<number | string> {
    this.child.kill(signal);
    return this.ended;
  }

  signal(signal: NodeJS.Signals): void {
    this.child.kill(signal);
  }

  /** `call('POST /workspaces', {...})`; the path is below `/api/v1`. */
  async call<Body = Record<string, unknown>>(route: string, body?: unknown, headers: Record<string, string> = {}): Promise<Reply<Body>> {
    const [method, path] = route.split(' ') as [string, string];
    const answer = await fetch(`${this.url}/api/v1${path}`, {
      method,
      headers: { authorization: `Bearer ${this.token}`, ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...headers },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await answer.text();
    return { status: answer.status, body: (text === '' ? undefined : JSON.parse(text)) as Body };
  }

  /** As `call`, but anything else than success is an error of the test. */
  async must<Body = Record<string, unknown>>(route: string, body?: unknown): Promise<Body> {
    const reply = await this.call<Body>(route, body);
    if (reply.status >= 300) throw new Error(`${route}: ${reply.status} ${JSON.stringify(reply.body)}`);
    return reply.body;
  }

  /** Ends it however it stands and removes what it left, unless its home was given. */
  async dispose(): Promise<void> {
    if (this.alive) {
      this.child.kill('SIGTERM');
      const stubborn = setTimeout(() => this.child.kill('SIGKILL'), 20_000);
      await this.ended;
      clearTimeout(stubborn);
    }
    if (this.options.home === undefined) rmSync(this.home, { recursive: true, force: true, maxRetries: 5 });
  }
}

/** Waits for a fact: asks until it is there (neither undefined nor false) or `ms` have passed. */
export async function waitFor<Fact>(ask: () => Fact | Promise<Fact>, ms: number, what: string): Promise<Exclude<Fact, undefined | false>> {
  const until = performance.now() + ms;
  for (;;) {
    const fact = await ask();
    if (fact !== undefined && fact !== false) return fact as Exclude<Fact, undefined | false>;
    if (performance.now() > until) throw new Error(`waited ${ms} ms for ${what}`);
    await pause(20);
  }
}

/** Processes that carry this text in their environment: agents of a workspace, say, wherever they went. Linux only. */
export function processesWith(marker: string): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => {
      try {
        return (
          readFileSync(`/proc/${pid}/environ`, 'latin1').includes(marker) &&
          !/^\d+ \(.*\) Z/s.test(readFileSync(`/proc/${pid}/stat`, 'latin1'))
        );
      } catch {
        return false;
      }
    })
    .map(Number);
}

/** A task description that steers the mock agent. */
export const mockScript = (...steps: readonly object[]): string => `\`\`\`mock\n${JSON.stringify(steps)}\n\`\`\``;

/** The whole counts of an issue, or a tenth. */
export const faults = (full: number): number => (process.env.OFFICE_FAULTS === 'full' ? full : Math.max(1, Math.ceil(full / 10)));

/** Random numbers that can be had again: mulberry32. */
export function seeded(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
