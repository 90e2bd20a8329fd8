/** What stands beside an agent's name in the sidebar, next to its errors. */
export const BADGES = ['paused', 'live', 'none'] as const;
export type Badge = (typeof BADGES)[number];

/** A pause is more important than whatever still happens to run. */
export function badgeOf({ paused, live }: { readonly paused: boolean; readonly live: number }): Badge {
  if (paused) return 'paused';
  return live > 0 ? 'live' : 'none';
}

export interface Ranked {
  readonly name: string;
  readonly live_sessions: number;
  /** Of a UUIDv7, which sorts by time. */
  readonly last_run: { readonly id: string } | null;
  readonly id: string;
}

/** Whoever is at work first, then whose last run is the newest, then by name. */
export function byUrgency(a: Ranked, b: Ranked): number {
  const live = Number(b.live_sessions > 0) - Number(a.live_sessions > 0);
  if (live !== 0) return live;
  const [recentA, recentB] = [a.last_run?.id ?? '', b.last_run?.id ?? ''];
  if (recentA !== recentB) return recentA < recentB ? 1 : -1;
  return a.name.localeCompare(b.name, 'en') || (a.id < b.id ? -1 : 1);
}
