import { spawn, type ChildProcess } from 'node:child_process';
import type { Duplex, Readable, Writable } from 'node:stream';
import type { ProcessExit } from '../domain/error-payload.js';

/**
 * Waits for a word on descriptor 3 and only then becomes the program, under the same pid. Until then nothing of the agent
 * runs, so that its process group can be recorded first; if the office dies meanwhile, the gate reads the end and exits.
 */
const GATE = 'IFS= read -r word <&3 && [ "$word" = go ] || exit 125; exec "$@" 3<&-';

export interface Program {
  /** Absolute path, then arguments. No shell interprets them. */
  readonly argv: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  readonly identity: { readonly uid: number; readonly gid: number } | null;
}

/** A program that leads a process group and session of its own, and starts when told to. */
export class GatedProcess {
  exit: ProcessExit | null = null;
  /** Resolves when the leader has ended, whoever still holds its pipes. */
  readonly exited: Promise<ProcessExit>;

  private constructor(
    private readonly child: ChildProcess,
    readonly pid: number,
  ) {
    this.exited = new Promise((resolve) => {
      child.once('exit', (code, signal) => {
        this.exit = { code, signal };
        resolve(this.exit);
      });
    });
    // Writing to a program that has gone is no news: its exit is.
    for (const stream of child.stdio) stream?.on('error', () => undefined);
  }

  /** Rejects when the system could not make the process. */
  static start(program: Program): Promise<GatedProcess> {
    return new Promise((resolve, reject) => {
      const child = spawn('/bin/sh', ['-c', GATE, 'gate', ...program.argv], {
        cwd: program.cwd,
        env: program.env,
        detached: true,
        stdio: ['pipe', 'pipe', 'pipe', 'pipe'],
        ...(program.identity === null ? {} : { uid: program.identity.uid, gid: program.identity.gid }),
      });
      child.once('error', reject);
      if (child.pid === undefined) return;
      child.off('error', reject).on('error', () => undefined);
      resolve(new GatedProcess(child, child.pid));
    });
  }

  get stdin(): Writable {
    return this.child.stdin!;
  }

  get stdout(): Readable {
    return this.child.stdout!;
  }

  get stderr(): Readable {
    return this.child.stderr!;
  }

  /** Lets the program begin. */
  go(): void {
    const gate = this.child.stdio[3] as Duplex;
    gate.resume().end('go\n');
  }

  /** Lets go of every pipe, whoever holds the other ends. */
  release(): void {
    for (const stream of this.child.stdio) stream?.destroy();
  }
}
