import { spawn } from 'node:child_process';

/** A user and a group to run as. */
export interface Account {
  readonly uid: number;
  readonly gid: number;
}

export interface HowToRun {
  readonly account: Account | null;
  readonly cwd?: string;
  /** An open file for stdin; none otherwise. */
  readonly stdin?: number;
  readonly deadlineMs: number;
}

export interface Ended {
  /** Null: a signal ended it, or it never started; `said` tells which. */
  readonly code: number | null;
  readonly stdout: string;
  /** The last words on stderr, in one line. */
  readonly said: string;
}

/** Runs a short-lived program to its end, or kills it at its deadline. Never throws: whoever asked knows what a failure means. */
export function runToEnd(file: string, args: readonly string[], how: HowToRun): Promise<Ended> {
  return new Promise((resolve) => {
    const child = spawn(file, args, {
      ...how.account,
      cwd: how.cwd ?? '/',
      // Where `useradd` is, which root's path may lack when root came by `su`.
      env: { LC_ALL: 'C', PATH: `${process.env['PATH'] ?? ''}:/usr/sbin:/sbin` },
      stdio: [how.stdin ?? 'ignore', 'pipe', 'pipe'],
    });
    let stdout = '';
    let stderr = '';
    child.stdout?.on('data', (chunk: Buffer) => (stdout = (stdout + chunk.toString()).slice(-16_384)));
    child.stderr?.on('data', (chunk: Buffer) => (stderr = (stderr + chunk.toString()).slice(-16_384)));
    // Not spawn's own `timeout`: when the program could not even be started, that one goes on and keeps us from ending.
    const deadline = setTimeout(() => child.kill('SIGKILL'), how.deadlineMs);
    const end = (code: number | null, said: string): void => {
      clearTimeout(deadline);
      resolve({ code, stdout, said });
    };
    child.once('error', (error) => end(null, error.message));
    child.once('close', (code, signal) => end(code, lastWords(stderr) || `ended by ${signal ?? `exit code ${code}`}`));
  });
}

/** The last lines of a log, in one. */
export const lastWords = (log: string): string =>
  log
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
    .slice(-3)
    .join(' | ')
    .slice(-600);
