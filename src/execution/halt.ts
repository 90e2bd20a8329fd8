import type { ErrorRecord } from './domain/turn-verdict.js';

/** Why an execution goes no further. The first one counts. */
export class Halt extends Error {
  constructor(
    readonly kind: 'failed' | 'timed_out' | 'stopped',
    /** The error payload; of `stopped` the reason. */
    readonly payload: string,
    /** Texts of the turn that only repeat the error. */
    readonly excused: readonly string[] = [],
    readonly record: ErrorRecord | null = null,
  ) {
    super(kind);
    this.name = 'Halt';
  }
}

export const failed = (payload: string): Halt => new Halt('failed', payload);
