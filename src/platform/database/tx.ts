import type { ClientBase } from 'pg';
import type { EntityManager } from 'typeorm';
import type { OfficeEventName, OfficeEvents } from '../events/office-events.js';
import { prepared } from './prepared.js';

/** What other processes should look at once this has committed. The table is the truth; a nudge only saves a poll. */
export type Nudge = 'work' | 'stop' | 'events' | 'run_events' | 'transcript' | 'permission';

/** Its parameters need no conversion that could fail here, after which the commit behind it would be sent all the same. */
export interface Statement {
  readonly sql: string;
  readonly parameters: readonly (string | number | null | readonly string[])[];
  /** Called with what it found, once that is committed. */
  readonly heard?: (rows: unknown[]) => void;
}

/**
 * An open transaction, handed to everything that writes. It touches one workspace (or none, for people and hosts),
 * collects what there is to tell, and the unit of work appends that as the last statement before the commit.
 */
export class Tx {
  readonly events: { action: OfficeEventName; payload: object }[] = [];
  readonly closing: Statement[] = [];
  readonly nudges = new Set<Nudge>();

  constructor(
    readonly manager: EntityManager,
    readonly workspaceId: string | null,
    /** Nothing may be written before PostgreSQL has said that the transaction is open: it would be committed by itself. */
    private readonly begun: Promise<unknown>,
  ) {
    // Whoever writes hears of it; the work may do nothing at all.
    begun.catch(() => undefined);
  }

  /** Rows of any statement. TypeORM answers `[rows, count]` for UPDATE and DELETE and bare rows otherwise. */
  async query<Row>(sql: string, parameters: readonly unknown[] = []): Promise<Row[]> {
    await this.begun;
    const answer: unknown = await this.manager.query(sql, parameters as unknown[]);
    return rowsOf<Row>(answer);
  }

  /** As `query`, with the plan kept by the connection; for large constant statements of hot paths. */
  async prepared<Row>(sql: string, parameters: readonly unknown[] = []): Promise<Row[]> {
    await this.begun;
    return prepared<Row>(await this.client(), sql, parameters);
  }

  /**
   * As `prepared`, for the first statement of a transaction: it travels with the BEGIN. It must change nothing, because if that
   * fails it is run all the same, outside; the work never hears what it found then.
   */
  async openWith<Row>(sql: string, parameters: readonly unknown[] = []): Promise<Row[]> {
    const found = prepared<Row>(await this.client(), sql, parameters);
    const [rows] = await Promise.all([found, this.begun]);
    return rows;
  }

  /**
   * A statement of whose answer this transaction has no need: it is run as one of the last, before the events, and travels with
   * the commit. Whoever asked for the transaction may want it (`heard`) when that is over.
   */
  last<Row>(sql: string, parameters: Statement['parameters'], heard?: (rows: Row[]) => void): void {
    this.closing.push({ sql, parameters, ...(heard && { heard: heard as (rows: unknown[]) => void }) });
  }

  emit<E extends OfficeEventName>(action: E, payload: OfficeEvents[E]): void {
    if (this.workspaceId === null) throw new Error(`${action} needs a workspace`);
    this.events.push({ action, payload });
  }

  nudge(nudge: Nudge): void {
    this.nudges.add(nudge);
  }

  /** Asked for anew each time: TypeORM lets go of a connection that has broken. */
  private async client(): Promise<ClientBase> {
    return (await this.manager.queryRunner!.connect()) as ClientBase;
  }
}

function rowsOf<Row>(answer: unknown): Row[] {
  const rows = answer as unknown[];
  return (rows.length === 2 && Array.isArray(rows[0]) && typeof rows[1] === 'number' ? rows[0] : rows) as Row[];
}
