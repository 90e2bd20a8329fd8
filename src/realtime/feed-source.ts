import type { Extent, Stretch } from './domain/stretch.js';

/** One thing of a feed, ready to be sent to everybody. */
export interface FeedItem {
  readonly seq: number;
  /** The whole frame as text, without an `id`. */
  readonly text: string;
  /** The tasks it is about. */
  readonly taskIds: readonly string[];
}

export interface FeedPage extends Stretch, Extent {
  readonly items: readonly FeedItem[];
  /** The database held more than fitted. */
  readonly more: boolean;
  /**
   * Of the tokens that were asked about, those that may read this workspace in the same snapshot as the items: what was
   * committed after a removal is never in a page together with the removed person.
   */
  readonly admitted: ReadonlySet<string>;
}

/** Where a feed's rows are. One per subject; subscribers share it. */
export abstract class FeedSource {
  abstract readonly workspaceId: string;

  /** At most `limit` items after that position, oldest first, and which of the tokens may have them. */
  abstract read(after: number, limit: number, tokenIds: readonly string[]): Promise<FeedPage>;
}

/**
 * SQL of the tokens among `$tokens` whose person has a role in the workspace at this moment. Not `now()`: that is when the statement
 * came, and what it then sees may be younger, the word of an expiry and what came after it.
 */
export const admittedSql = (workspace: string, tokens: string): string => `
  select array_agg(t.id::text) from access_tokens t join workspace_members m on m.user_id = t.user_id
   where m.workspace_id = ${workspace} and t.id = any(${tokens}::uuid[])
     and t.revoked_at is null and (t.expires_at is null or t.expires_at > clock_timestamp())`;

export const instantSql = (column: string): string => `to_char((${column}) at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;

interface HeadRow {
  readonly oldest: string | number | null;
  readonly last: string | number | null;
  readonly admitted: string[] | null;
}

/** A page of the rows of one statement: the first says how things stand, the others are items. */
export function pageOfRows<Row extends HeadRow>(
  [head, ...rows]: readonly Row[],
  after: number,
  limit: number,
  itemOf: (row: Row) => FeedItem,
): FeedPage {
  const items = rows.map(itemOf);
  return {
    items,
    after,
    upTo: items.at(-1)?.seq ?? after,
    more: items.length > 0 && items.length === limit,
    oldest: Number(head?.oldest ?? 1),
    last: Number(head?.last ?? 0),
    admitted: new Set(head?.admitted ?? []),
  };
}
