import { createHash } from 'node:crypto';
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

/**
 * A statement whose plan the connection keeps. For the few large statements of the hot paths: planning one costs more
 * than running it. The text must be a constant of the program, since its name lives as long as the connection.
 */
export async function prepared<Row>(client: ClientBase, sql: string, parameters: readonly unknown[]): Promise<Row[]> {
  try {
    const { rows } = await client.query<Row & QueryResultRow>({ name: statementName(sql), text: sql, values: parameters as unknown[] });
    return rows;
  } catch (error) {
    throw new QueryFailedError(sql, undefined, error as Error);
  }
}
