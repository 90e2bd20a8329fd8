/** What one read of a feed covers: everything after `after` up to and with `upTo`. */
export interface Stretch {
  readonly after: number;
  readonly upTo: number;
}

/** What a feed holds at the moment of a read: `oldest` is the first that is still kept, `last` the newest. */
export interface Extent {
  readonly oldest: number;
  readonly last: number;
}

/**
 * How a reader that has everything up to `at` meets a stretch that was read for all.
 * `known`: it holds nothing new. `next`: what lies beyond `at` follows without a gap. `gap`: something between is missing.
 */
export function meet(at: number, { after, upTo }: Stretch): 'known' | 'next' | 'gap' {
  if (at >= upTo) return 'known';
  return at < after ? 'gap' : 'next';
}

/**
 * Whether what follows `at` cannot be had any more: it was pruned, or the feed has never been that far (a database that was
 * restored). Going on would be a hole; the reader has to take a new picture.
 */
export const isLost = (at: number, { oldest, last }: Extent): boolean => at + 1 < oldest || at > last;
