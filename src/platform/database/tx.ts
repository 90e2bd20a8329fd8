import type { ClientBase } from 'pg';
import type { EntityManager } from 'typeorm';
import type { OfficeEventName, OfficeEvents } from '../events/office-events.js';
import { prepared } from './prepared.js';

/** What other processes should look at once this has committed. The table is the truth; a nudge only saves a poll. */
export type Nudge = 'work' | 'stop' | 'events' | 'run_events' | 'transcript' | 'permission';

/**
 * An open transaction, handed to everything that writes. It touches one workspace (or none, for people and hosts),
 * collects what there is to tell, and the unit of work appends that as the last statement before the commit.
 */
export class Tx {
  readonly events: { action: OfficeEventName; payload: object }[] = [];
  readonly nudges = new Set<Nudge>();

  constructor(
    readonly manager: EntityManager,
    readonly workspaceId: string | null,
  ) {}

  /** Rows of any statement. TypeORM answers `[rows, count]` for UPDATE and DELETE and bare rows otherwise. */
  async query<Row>(sql: string, parameters: readonly unknown[] = []): Promise<Row[]> {
    const answer: unknown = await this.manager.query(sql, parameters as unknown[]);
    return rowsOf<Row>(answer);
  }

  /** As `query`, with the plan kept by the connection; for large constant statements of hot paths. */
  async prepared<Row>(sql: string, parameters: readonly unknown[] = []): Promise<Row[]> {
    return prepared<Row>((await this.manager.queryRunner!.connect()) as ClientBase, sql, parameters);
  }

  emit<E extends OfficeEventName>(action: E, payload: OfficeEvents[E]): void {
    if (this.workspaceId === null) throw new Error(`${action} needs a workspace`);
    this.events.push({ action, payload });
  }

  nudge(nudge: Nudge): void {
    this.nudges.add(nudge);
  }
}

function rowsOf<Row>(answer: unknown): Row[] {
  const rows = answer as unknown[];
  return (rows.length === 2 && Array.isArray(rows[0]) && typeof rows[1] === 'number' ? rows[0] : rows) as Row[];
}
