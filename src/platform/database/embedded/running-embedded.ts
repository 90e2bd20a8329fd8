import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { StartError } from '../../errors/start-error.js';
import { DATABASE_USER } from './postgres-cluster.js';
import { CLUSTER, DATABASE } from './embedded-postgres.js';

/** The address of the embedded PostgreSQL that another process runs on this data dir: its port is in its own lock file. */
export async function runningEmbeddedUrl(dataDir: string): Promise<string> {
  try {
    const [, , , port] = (await readFile(join(dataDir, CLUSTER, 'postmaster.pid'), 'utf8')).split('\n');
    const password = (await readFile(join(dataDir, 'state', 'postgres-password'), 'utf8')).trim();
    return `postgres://${DATABASE_USER}:${password}@127.0.0.1:${Number(port)}/${DATABASE}`;
  } catch (cause) {
    throw new StartError(`The PostgreSQL of the server that runs on ${dataDir} is not found: ${(cause as Error).message}.`, { cause });
  }
}
