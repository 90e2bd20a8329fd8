export const ERROR_CLASSES = ['transient', 'hard', 'unclassified'] as const;
export type ErrorClass = (typeof ERROR_CLASSES)[number];

interface CodeRow {
  readonly class: ErrorClass;
  /** The same request may be tried again without anybody doing anything first. */
  readonly autoRetryable: boolean;
  /** A fresh process may take it up; false where the old one may still be at work. */
  readonly fallbackAllowed: boolean;
}

const TRANSIENT = { class: 'transient', autoRetryable: true, fallbackAllowed: true } as const;
const HARD = { class: 'hard', autoRetryable: false, fallbackAllowed: false } as const;
const UNCLASSIFIED = { class: 'unclassified', autoRetryable: false, fallbackAllowed: false } as const;

/** What each code means (contract 6). Only a row with all three of transient, true and true is ever retried. */
export const ERROR_CODES = {
  network: TRANSIENT,
  overloaded: TRANSIENT,
  server_error: TRANSIENT,
  rate_limit: TRANSIENT,
  transport_lost: { class: 'transient', autoRetryable: true, fallbackAllowed: false },
  auth: HARD,
  permission: HARD,
  quota: HARD,
  config: HARD,
  environment: HARD,
  invalid_model: HARD,
  invalid_request: HARD,
  context_length: HARD,
  missing_binary: HARD,
  refusal: UNCLASSIFIED,
  protocol: UNCLASSIFIED,
  session_lost: UNCLASSIFIED,
  session_corrupted: UNCLASSIFIED,
  timeout: UNCLASSIFIED,
  process_crash: UNCLASSIFIED,
  unknown_exit: UNCLASSIFIED,
  unknown: UNCLASSIFIED,
} as const satisfies Record<string, CodeRow>;

export type ErrorCode = keyof typeof ERROR_CODES;

export const isTransientCode = (code: ErrorCode): boolean => ERROR_CODES[code].class === 'transient';

export function mayRetry(code: ErrorCode): boolean {
  const row: CodeRow = ERROR_CODES[code];
  return row.class === 'transient' && row.autoRetryable && row.fallbackAllowed;
}
