import { randomBytes } from 'node:crypto';
import { link, open, readdir, rm } from 'node:fs/promises';
import { connect, createServer, type Server } from 'node:net';
import { join } from 'node:path';

const NAME = /^lock\.(\d{1,15})$/;
const UNFINISHED = /^lock-[0-9a-f]+$/;
const ANSWER_MS = 1_000;

/** Somebody else holds the folder. `pid` is theirs as they see it, or null when they are too busy to say. */
export class FolderLocked extends Error {
  constructor(readonly pid: number | null) {
    super(`the folder is held by ${pid === null ? 'another process' : `process ${pid}`}`);
    this.name = 'FolderLocked';
  }
}

/**
 * A folder held by one process. The lock is a listening socket: the kernel lets go of it at the very moment its process
 * dies, however it dies, and a connection tells for certain whether it lives. A process number could not: those are used
 * again, and mean nothing to another container on the same folder.
 *
 * Taking over from the dead must never let two through, so no name is used twice: `lock.7` is linked, already
 * listening, only by whoever found `lock.6` dead, and only one can link it. Older names go when a newer one is there.
 */
export class FolderLock {
  private constructor(private readonly server: Server) {}

  /** Throws `FolderLocked`, or what the file system has against it. Holding a lock does not keep the process alive. */
  static async take(dir: string): Promise<FolderLock> {
    const folder = await open(dir, 'r');
    // An address has room for a hundred characters; this way the folder's own path may be of any length.
    const at = process.platform === 'linux' ? `/proc/self/fd/${folder.fd}` : dir;
    const unfinished = `lock-${randomBytes(6).toString('hex')}`;
    try {
      const generation = 1 + (await lastDead(dir, at));
      const server = await listen(join(at, unfinished));
      try {
        await link(join(dir, unfinished), join(dir, `lock.${generation}`));
        if ((await generations(dir)).at(-1) !== generation) throw new FolderLocked(null);
      } catch (error) {
        server.close();
        const { code } = error as NodeJS.ErrnoException;
        // Somebody was faster: the number is taken, or they have tidied our socket away.
        throw code === 'EEXIST' || code === 'ENOENT' ? new FolderLocked(null) : error;
      }
      await removeOlder(dir, generation);
      return new FolderLock(server);
    } finally {
      await rm(join(dir, unfinished), { force: true });
      await folder.close();
    }
  }

  /** Lets go. The name stays, for the next holder to count from. */
  release(): Promise<void> {
    return new Promise((resolve) => this.server.close(() => resolve()));
  }
}

/** The number of the last holder, who is dead; 0 when there was none. */
async function lastDead(dir: string, at: string): Promise<number> {
  for (;;) {
    const last = (await generations(dir)).at(-1) ?? 0;
    if (last === 0) return 0;
    const holder = await ask(join(at, `lock.${last}`));
    if (holder === 'dead') return last;
    if (holder !== 'gone') throw new FolderLocked(holder.pid);
  }
}

async function generations(dir: string): Promise<number[]> {
  const numbers = (await readdir(dir)).map((name) => Number(NAME.exec(name)?.[1]));
  return numbers.filter((number) => !Number.isNaN(number)).sort((a, b) => a - b);
}

async function removeOlder(dir: string, generation: number): Promise<void> {
  for (const name of await readdir(dir)) {
    if (Number(NAME.exec(name)?.[1]) < generation || UNFINISHED.test(name)) await rm(join(dir, name), { force: true });
  }
}

/** `gone`: the name went away since it was read, because somebody took over. Anything but a refusal means that it is held. */
function ask(address: string): Promise<{ pid: number | null } | 'dead' | 'gone'> {
  return new Promise((resolve) => {
    let said = '';
    const socket = connect(address);
    const finish = (holder: { pid: number | null } | 'dead' | 'gone'): void => {
      socket.destroy();
      resolve(holder);
    };
    const alive = (): void => finish({ pid: /^\d+$/.test(said.trim()) ? Number(said) : null });
    socket.setTimeout(ANSWER_MS, alive);
    socket.on('data', (chunk) => (said += chunk.toString()));
    socket.once('end', alive);
    socket.once('error', ({ code }: NodeJS.ErrnoException) => {
      if (code === 'ECONNREFUSED') finish('dead');
      else if (code === 'ENOENT') finish('gone');
      else alive();
    });
  });
}

function listen(address: string): Promise<Server> {
  return new Promise((resolve, reject) => {
    const server = createServer((socket) => {
      socket.on('error', () => socket.destroy());
      socket.end(`${process.pid}`, () => socket.destroy());
    });
    server.once('error', reject);
    server.listen(address, () => {
      server.unref();
      resolve(server);
    });
  });
}
