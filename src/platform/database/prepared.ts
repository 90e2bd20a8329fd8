import { createHash } from 'node:crypto';

const names = new Map<string, string>();

/**
 * The name under which a connection keeps this text's plan. For the few large statements of the hot paths: planning one
 * costs more than running it. The text must be a constant of the program, since every name lives as long as a connection.
 */
export function statementName(sql: string): string {
  let name = names.get(sql);
  if (name === undefined) {
    name = `office_${createHash('sha256').update(sql).digest('hex').slice(0, 24)}`;
    names.set(sql, name);
  }
  return name;
}
