import type { UnitOfWork } from './unit-of-work.js';

/** Whatever answers a SELECT: an open transaction (`Tx` is one), or statements of their own. */
export interface Reading {
  query<Row>(sql: string, parameters?: readonly unknown[]): Promise<Row[]>;
  /** As `query`, with the plan kept by the connection; for constant statements of hot paths. */
  prepared<Row>(sql: string, parameters?: readonly unknown[]): Promise<Row[]>;
}

/** Reads outside any transaction, each statement with its own snapshot. */
export const outside = (unitOfWork: UnitOfWork): Reading => ({
  query: <Row>(sql: string, parameters?: readonly unknown[]) => unitOfWork.read<Row>(sql, parameters),
  prepared: <Row>(sql: string, parameters?: readonly unknown[]) => unitOfWork.readPrepared<Row>(sql, parameters),
});
