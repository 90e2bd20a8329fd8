import { randomBytes, randomUUID } from 'node:crypto';
import { chmod, mkdir, readdir, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { StartError } from '../errors/start-error.js';
import { readOrMake } from './durable-file.js';
import { FolderLock, FolderLocked } from './folder-lock.js';

const STATE = 'state';

/** Which machine this is, for good, and which start of the server. */
export interface HostIdentity {
  readonly id: string;
  readonly bootId: string;
}

/**
 * The folder where a server keeps what must outlive it, held by one process at a time, whatever the database:
 *
 *     <data dir>/            0700
 *       admin-token          0600, made by the access room
 *       state/               0700: the lock, the host id, keys and passwords
 *       postgres/            0700, of the user PostgreSQL runs as: the embedded cluster, if any
 */
export class DataDir {
  private constructor(
    readonly path: string,
    readonly host: HostIdentity,
    private readonly lock: FolderLock,
  ) {}

  get statePath(): string {
    return join(this.path, STATE);
  }

  /** Makes what is missing and takes the lock. Throws a `StartError` when somebody else has it. */
  static async open(path: string): Promise<DataDir> {
    try {
      await makePrivate(path);
      const lock = await FolderLock.take(join(path, STATE));
      try {
        return new DataDir(path, { id: await hostId(join(path, STATE, 'host-id')), bootId: randomUUID() }, lock);
      } catch (error) {
        await lock.release();
        throw error;
      }
    } catch (cause) {
      if (cause instanceof StartError) throw cause;
      if (cause instanceof FolderLocked) {
        const who = cause.pid === null ? '' : ` (process ${cause.pid})`;
        throw new StartError(`Another server${who} is using the data dir ${path}. Stop it, or set OFFICE_DATA_DIR.`, { cause });
      }
      throw new StartError(`The data dir ${path} cannot be used: ${(cause as Error).message}.`, { cause });
    }
  }

  /** A random secret of so many bytes, made once and kept in `state/<name>`. */
  async stateSecret(name: string, bytes: number): Promise<Buffer> {
    const path = join(this.statePath, name);
    const secret = Buffer.from(await readOrMake(path, () => `${randomBytes(bytes).toString('base64url')}\n`), 'base64url');
    if (secret.length !== bytes) throw new StartError(`The file ${path} holds no secret of ${bytes} bytes.`);
    return secret;
  }

  /** Lets go of the lock. */
  close(): Promise<void> {
    return this.lock.release();
  }
}

async function hostId(path: string): Promise<string> {
  const id = (await readOrMake(path, () => `${randomUUID()}\n`)).trim();
  if (!/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(id)) throw new StartError(`The file ${path} holds no host id.`);
  return id;
}

async function makePrivate(path: string): Promise<void> {
  // The folders above it are not ours alone: agents may have to walk through them.
  await mkdir(dirname(path), { recursive: true });
  await mkdir(path, { mode: 0o700 }).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') throw error;
  });
  const { uid, mode } = await stat(path);
  const names = await readdir(path);
  // Ours to close: new, or a data dir already. A folder that others keep things in (`/tmp`, by a slip) is left as it is.
  const isOurs = uid === process.getuid?.() && (names.length === 0 || names.includes(STATE));
  if (isOurs && (mode & 0o077) !== 0) await chmod(path, 0o700);
  await mkdir(join(path, STATE), { recursive: true, mode: 0o700 });
  if (((await stat(join(path, STATE))).mode & 0o077) !== 0) await chmod(join(path, STATE), 0o700);
}
