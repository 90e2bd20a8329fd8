import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

const PROGRAM = join(import.meta.dirname, '..', '..', 'dist', 'src', 'main.js');

export type LogLine = Readonly<Record<string, unknown>>;

/** A whole office as `npm start` runs it, in a process of its own, on a free port. Needs `npm run build`. */
export class FrontDeskProcess {
  stdout = '';
  stderr = '';
  readonly exited: Promise<number | NodeJS.Signals | null>;
  private readonly child: ChildProcess;
  private heard: () => void = () => undefined;

  constructor(env: Readonly<Record<string, string>>) {
    if (!existsSync(PROGRAM)) throw new Error('build the office first: npm run build');
    this.child = spawn(process.execPath, [PROGRAM], {
      env: { PATH: process.env['PATH'], OFFICE_PORT: '0', ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.child.stdout?.on('data', (chunk: Buffer) => {
      this.stdout += chunk.toString();
      this.heard();
    });
    this.child.stderr?.on('data', (chunk: Buffer) => (this.stderr += chunk.toString()));
    this.exited = new Promise((resolve) => this.child.once('close', (code, signal) => resolve(code ?? signal)));
    void this.exited.then(() => this.heard());
  }

  /** Every line of its log so far. Throws when one is no JSON. */
  get log(): LogLine[] {
    const lines = this.stdout.split('\n').slice(0, -1);
    return lines.map((line) => JSON.parse(line) as LogLine);
  }

  /** Resolves with the first line that says this; rejects when the process ends without. */
  async said(phrase: string): Promise<LogLine> {
    for (;;) {
      const line = this.log.find(({ msg }) => msg === phrase);
      if (line) return line;
      if (this.child.exitCode !== null || this.child.signalCode !== null)
        throw new Error(`ended without "${phrase}": ${this.stderr}${this.stdout}`);
      await new Promise<void>((resolve) => (this.heard = resolve));
    }
  }

  async url(): Promise<string> {
    return String((await this.said('office is open')).url);
  }

  kill(signal: NodeJS.Signals): Promise<number | NodeJS.Signals | null> {
    this.child.kill(signal);
    return this.exited;
  }
}

export const adminTokenIn = async (dataDir: string): Promise<string> => (await readFile(join(dataDir, 'admin-token'), 'utf8')).trim();
