import { createHash } from 'node:crypto';
import type { Writable } from 'node:stream';
import type { ClientBase, QueryResultRow } from 'pg';
import { QueryFailedError } from 'typeorm';

const names = new Map<string, string>();

function statementName(sql: string): string {
  let name = names.get(sql);
  if (name === undefined) {
    name = `office_${createHash('sha256').update(sql).digest('hex').slice(0, 24)}`;
    names.set(sql, name);
  }
  return name;
}

/** The socket of a connection, which its types do not tell of. */
type Wire = ClientBase & { readonly connection: { readonly stream: Writable } };

/** What is asked of the connection until this turn of the event loop ends goes out in one write: a write costs more than most statements do. */
export function inOneWrite(client: ClientBase): void {
  const { stream } = (client as Wire).connection;
  stream.cork();
  process.nextTick(() => stream.uncork());
}

/**
 * A statement whose plan the connection keeps. For the few large statements of the hot paths: planning one costs more
 * than running it. The text must be a constant of the program, since its name lives as long as the connection.
 */
export async function prepared<Row>(client: ClientBase, sql: string, parameters: readonly unknown[]): Promise<Row[]> {
  inOneWrite(client);
  try {
    const { rows } = await client.query<Row & QueryResultRow>({ name: statementName(sql), text: sql, values: parameters as unknown[] });
    return rows;
  } catch (error) {
    throw new QueryFailedError(sql, undefined, error as Error);
  }
}
