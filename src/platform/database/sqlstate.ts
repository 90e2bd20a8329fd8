import { QueryFailedError, QueryRunnerAlreadyReleasedError, QueryRunnerProviderAlreadyReleasedError } from 'typeorm';

/** The transaction was aborted by PostgreSQL to let another one through; running the whole unit again is safe. */
const RETRYABLE = new Set(['40001', '40P01']);

/** The server is gone, going, starting or full. Nothing is wrong with what was asked. */
const UNAVAILABLE = new Set(
  // 25P03: our own transaction stood open for too long, because this process did not run. The connection is gone, nothing was done.
  ['57P01', '57P02', '57P03', '53300', '53100', '53200', '25006', '25P03', '08000', '08001', '08003', '08004', '08006'],
);
const UNREACHABLE = new Set(['ECONNREFUSED', 'ECONNRESET', 'EPIPE', 'ETIMEDOUT', 'ENOTFOUND', 'EHOSTUNREACH', 'ENETUNREACH']);
const UNREACHABLE_TEXT =
  /Connection terminated|timeout exceeded when trying to connect|Client has encountered a connection error|client was closed|not queryable|Query read timeout/i;

const codeOf = (error: unknown): string | undefined => {
  const { code } = (error instanceof QueryFailedError ? error.driverError : error) as { code?: unknown };
  return typeof code === 'string' ? code : undefined;
};

/** Somebody held something for too long: nothing is wrong with what was asked, and it may be asked again. */
const PASSING = new Set([...RETRYABLE, '55P03', '57014']);

export const isPassing = (error: unknown): boolean => PASSING.has(codeOf(error) ?? '');

export const isRetryable = (error: unknown): boolean => RETRYABLE.has(codeOf(error) ?? '');

/** True when the database did not answer, as opposed to having refused. The outcome of a commit is then unknown. */
export function isUnavailable(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  // TypeORM lets go of a connection that breaks between two statements; the next one is told so in these words.
  if (error instanceof QueryRunnerAlreadyReleasedError || error instanceof QueryRunnerProviderAlreadyReleasedError) return true;
  const code = codeOf(error);
  if (code !== undefined && (UNAVAILABLE.has(code) || UNREACHABLE.has(code))) return true;
  return UNREACHABLE_TEXT.test(error.message) || (error instanceof AggregateError && error.errors.some(isUnavailable));
}

/** The name of the constraint that a statement broke, or undefined. */
export function brokenConstraint(error: unknown): string | undefined {
  if (!(error instanceof QueryFailedError)) return undefined;
  const { constraint, code } = error.driverError as { constraint?: string; code?: string };
  return code?.startsWith('23') ? constraint : undefined;
}
