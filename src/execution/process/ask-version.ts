import { spawn } from 'node:child_process';
import type { Clock } from '../../platform/clock/clock.js';
import { storableText } from '../../platform/text/storable.js';
import { signalGroup } from './process-group.js';

const DEADLINE_MS = 5_000;
const KEPT_BYTES = 4096;
/** What an ended program has written is read by then, even if a child of it holds the pipe. */
const DRAIN_MS = 200;

/** What `program --version` says, or why it says nothing. The program and its children are gone afterwards. */
export function askVersion(
  program: string,
  env: Readonly<Record<string, string>>,
  user: { readonly uid: number; readonly gid: number } | null,
  clock: Clock,
): Promise<{ version: string } | { problem: string } | Record<string, never>> {
  return new Promise((resolve) => {
    const child = spawn(program, ['--version'], { cwd: '/', env, detached: true, stdio: ['ignore', 'pipe', 'ignore'], ...user });
    let said = Buffer.alloc(0);
    let problem: string | null = null;
    const late = clock.after(DEADLINE_MS, () => {
      problem = `did not answer --version within ${DEADLINE_MS / 1000} s`;
      signalGroup(child.pid!, 'SIGKILL');
    });
    let over = false;
    const end = (): void => {
      if (over) return;
      over = true;
      late.cancel();
      // The leader is gone, but not what it left behind; nor do we wait for that to let go of the pipe.
      if (child.pid !== undefined) signalGroup(child.pid, 'SIGKILL');
      child.stdout?.destroy();
      const version = storableText(said.toString('utf8')).split('\n')[0]!.trim().slice(0, 100);
      resolve(problem !== null ? { problem } : version === '' ? {} : { version });
    };
    child.once('error', (error) => {
      problem = error.message;
      end();
    });
    child.once('exit', () => clock.after(DRAIN_MS, end));
    child.once('close', end);
    child.stdout?.on('data', (chunk: Buffer) => {
      if (said.length < KEPT_BYTES) said = Buffer.concat([said, chunk.subarray(0, KEPT_BYTES)]);
    });
  });
}
