/** What a log line says of an error. Never its other fields: TypeORM hangs a statement's parameters on its errors. */
export interface ErrorFacts {
  readonly type: string;
  readonly message: string;
  readonly code?: string;
  readonly constraint?: string;
  readonly stack?: string;
  readonly cause?: ErrorFacts;
}

const MAX_TEXT = 4_000;
const MAX_CAUSES = 4;

export function errorFacts(error: unknown, depth = 0): ErrorFacts {
  if (!(error instanceof Error)) return { type: typeof error, message: cut(String(error)) };
  const { code, constraint } = error as { code?: unknown; constraint?: unknown };
  const cause = error.cause ?? (error instanceof AggregateError ? (error.errors as unknown[])[0] : undefined);
  return {
    type: error.name,
    message: cut(error.message),
    ...(typeof code === 'string' && { code }),
    ...(typeof constraint === 'string' && { constraint }),
    ...(error.stack !== undefined && { stack: cut(error.stack) }),
    ...(cause !== undefined && depth < MAX_CAUSES && { cause: errorFacts(cause, depth + 1) }),
  };
}

const cut = (text: string): string => (text.length > MAX_TEXT ? `${text.slice(0, MAX_TEXT)}…` : text);
