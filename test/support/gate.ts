import type { OfficeApp } from './office-app.js';

/** A place in a transaction where a test holds it until it says so. */
export interface Gate {
  /** Resolves when the transaction is there. */
  readonly reached: Promise<void>;
  /** What the transaction awaits. */
  readonly pass: () => Promise<void>;
  readonly open: () => void;
}

export function gate(): Gate {
  let arrived!: () => void;
  let open!: () => void;
  const reached = new Promise<void>((resolve) => (arrived = resolve));
  const opened = new Promise<void>((resolve) => (open = resolve));
  return { reached, open, pass: () => (arrived(), opened) };
}

/** Resolves once that many statements of the office's database wait for a lock. The test's own timeout is the limit. */
export async function lockWaits(office: Pick<OfficeApp, 'rows'>, count = 1): Promise<void> {
  const waiting = () => office.rows(`select 1 from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`);
  while ((await waiting()).length < count) await new Promise((resolve) => setImmediate(resolve));
}
