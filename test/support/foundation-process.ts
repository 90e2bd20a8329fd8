import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { renameSync } from 'node:fs';
import { basename, join } from 'node:path';
import { build } from 'vite';

const ROOT = join(import.meta.dirname, '..', '..');
/** Inside `node_modules`, so that what is left outside of the bundle is found from there. */
const OUT = join(ROOT, 'node_modules', '.cache', 'office-test');

/** Some ordinary user that every system has. */
export const NOBODY = { uid: 65_534, gid: 65_534 };
export const isRoot = process.getuid?.() === 0;
export const nobodyCanRunNode = isRoot && spawnSync(process.execPath, ['--version'], NOBODY).status === 0;

/** Compiles a program of ours, named from the root, into a single file that plain Node starts at once. Answers its path. */
export async function compileProgram(source: string): Promise<string> {
  const name = basename(source, '.ts');
  const unfinished = `${name}.${process.pid}.mjs`;
  await build({
    configFile: false,
    logLevel: 'error',
    root: ROOT,
    build: {
      ssr: join(ROOT, source),
      outDir: OUT,
      emptyOutDir: false,
      target: 'node20',
      rollupOptions: { output: { entryFileNames: unfinished } },
    },
  });
  // Whole or not at all: another test file may be starting the same program now.
  renameSync(join(OUT, unfinished), join(OUT, `${name}.mjs`));
  return join(OUT, `${name}.mjs`);
}

interface Said {
  readonly ready?: true;
  /** How long the foundation took to open. */
  readonly ms?: number;
  readonly host?: { readonly id: string; readonly bootId: string };
  readonly databaseUrl?: string;
  readonly written?: number;
  /** Of a line of log; `pid` and what else it told stand beside it. */
  readonly phrase?: string;
  readonly pid?: number;
}

export interface Ready {
  readonly ms: number;
  readonly host: { readonly id: string; readonly bootId: string };
  readonly databaseUrl: string;
}

/** A real process that holds a foundation (`foundation-holder.ts`). */
export class FoundationProcess {
  readonly said: Said[] = [];
  stderr = '';
  readonly exited: Promise<number | NodeJS.Signals | null>;
  private readonly child: ChildProcess;
  private heard: () => void = () => undefined;

  constructor(program: string, env: Readonly<Record<string, string>>, identity: { uid: number; gid: number } | null = null) {
    this.child = spawn(process.execPath, [program], {
      ...identity,
      env: { PATH: process.env['PATH'], ...env },
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let rest = '';
    this.child.stdout?.on('data', (chunk: Buffer) => {
      const lines = (rest + chunk.toString()).split('\n');
      rest = lines.pop()!;
      this.said.push(...lines.map((line) => JSON.parse(line) as Said));
      this.heard();
    });
    this.child.stderr?.on('data', (chunk: Buffer) => (this.stderr += chunk.toString()));
    this.exited = new Promise((resolve) => this.child.once('close', (code, signal) => resolve(code ?? signal)));
    void this.exited.then(() => this.heard());
  }

  /** The number of the last row that it was told had been committed. */
  get written(): number {
    return this.said.findLast(({ written }) => written !== undefined)?.written ?? 0;
  }

  /** What it logged, phrase by phrase. */
  get logged(): string[] {
    return this.said.flatMap(({ phrase }) => phrase ?? []);
  }

  async ready(): Promise<Ready> {
    return (await this.until(() => this.said.find(({ ready }) => ready))) as Ready;
  }

  /** Waits for what it says to make `found` answer something. Rejects when it ends first. */
  async until<T>(found: () => T | undefined | false): Promise<T> {
    for (;;) {
      const answer = found();
      if (answer !== undefined && answer !== false) return answer;
      if (this.child.exitCode !== null || this.child.signalCode !== null) throw new Error(`it ended: ${this.stderr}`);
      await new Promise<void>((resolve) => (this.heard = resolve));
    }
  }

  /** Kills it with everything of its process group, which its PostgreSQL is not in. */
  async killGroup(): Promise<void> {
    process.kill(-this.child.pid!, 'SIGKILL');
    await this.exited;
  }

  async kill(signal: NodeJS.Signals): Promise<number | NodeJS.Signals | null> {
    this.child.kill(signal);
    return this.exited;
  }
}
