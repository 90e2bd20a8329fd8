import type { Lifecycle, PauseSource } from './agent-status.js';

/** What the card of an agent is drawn from. */
export interface CardFacts {
  readonly lifecycle: Lifecycle;
  readonly pauseSource: PauseSource | null;
  readonly consecutiveFailures: number;
  readonly liveSessions: number;
  readonly lastRun: CardRun | null;
}

export interface CardRun {
  readonly status: string;
  /** `interrupted`: the machine's doing, so not a failure of the agent (contract 1). */
  readonly failureKind: string | null;
  /** Seconds since it ended, by the database's clock; null while it has not. */
  readonly endedSecondsAgo: number | null;
}

export type Dot = 'red' | 'green' | 'grey';

const LIFECYCLE_WORDS = { stopped: 'Stopped', pending_approval: 'Waiting for approval', archived: 'Archived' } as const;

/** The second line of the card. */
export function pickSubtitle(card: CardFacts): string {
  if (card.lifecycle !== 'active') return LIFECYCLE_WORDS[card.lifecycle];
  if (card.pauseSource === 'auto') return `Paused - ${card.consecutiveFailures} consecutive failures`;
  if (card.pauseSource === 'person') return 'Paused by a person';
  if (card.liveSessions > 0) return card.liveSessions === 1 ? 'Working' : `Working on ${card.liveSessions} sessions`;
  if (card.lastRun === null) return 'Never run';
  if (card.lastRun.endedSecondsAgo === null) return 'Waiting to run';
  return `Last run ${verdict(card.lastRun)} ${ago(card.lastRun.endedSecondsAgo)}`;
}

/** Red: it needs a person. Green: it is at work. Grey: neither. */
export function pickDot(card: CardFacts): Dot {
  if (card.lifecycle !== 'active') return 'grey';
  if (card.pauseSource !== null) return card.pauseSource === 'auto' ? 'red' : 'grey';
  if (card.liveSessions > 0) return 'green';
  return card.lastRun !== null && verdict(card.lastRun) === 'failed' ? 'red' : 'grey';
}

function verdict({ status, failureKind }: CardRun): 'failed' | 'interrupted' | 'cancelled' | 'finished' {
  if (status === 'failed' || status === 'timed_out') return failureKind === 'interrupted' ? 'interrupted' : 'failed';
  return status === 'cancelled' ? 'cancelled' : 'finished';
}

const SCALE = [
  { unit: 'day', seconds: 86_400 },
  { unit: 'hour', seconds: 3_600 },
  { unit: 'minute', seconds: 60 },
] as const;

/** `3 hours ago`: the largest whole unit, never rounded up; a clock that is behind reads as now. */
export function ago(seconds: number): string {
  const scale = SCALE.find((step) => seconds >= step.seconds);
  if (!scale) return 'just now';
  const count = Math.floor(seconds / scale.seconds);
  return `${count} ${scale.unit}${count === 1 ? '' : 's'} ago`;
}
