export interface TurnFacts {
  readonly awaitsPermission: boolean;
  /** Since the last content, or the start of the turn where there was none; null: unknown. */
  readonly quietMs: number | null;
}

/** A turn in which nothing has been heard for longer than the threshold, unless it waits for an answer of ours. */
export const isQuiet = ({ awaitsPermission, quietMs }: TurnFacts, thresholdMs: number): boolean =>
  !awaitsPermission && quietMs !== null && quietMs > thresholdMs;
