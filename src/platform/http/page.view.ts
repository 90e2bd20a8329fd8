import type { Type } from '@nestjs/common';
import { ApiProperty } from '@nestjs/swagger';
import { encodeCursor } from './cursor.js';

/** One page of a list. */
export interface Page<View> {
  readonly items: View[];
  /** Ask for the next page with it; null on the last one. */
  readonly next_cursor: string | null;
}

/**
 * A page class for the OpenAPI document: `export class TaskPage extends pageOf(TaskView) {}`. Handlers say
 * `@ApiOkResponse({ type: TaskPage })` or return `Promise<TaskPage>`.
 */
export function pageOf<View>(view: Type<View>): Type<Page<View>> {
  class PageView implements Page<View> {
    @ApiProperty({ type: [view] }) readonly items!: View[];
    @ApiProperty({ type: String, nullable: true, description: 'Ask for the next page with it; null on the last one.' })
    readonly next_cursor!: string | null;
  }
  return PageView;
}

/** Makes a page of rows that were asked for with `limit + 1`: the extra one only says that there is more. */
export function pageFrom<Row, View>(
  rows: readonly Row[],
  limit: number,
  keyOf: (row: Row) => string,
  view: (row: Row) => View,
): Page<View> {
  const shown = rows.slice(0, limit);
  const last = shown.at(-1);
  return { items: shown.map(view), next_cursor: rows.length > limit && last !== undefined ? encodeCursor(keyOf(last)) : null };
}
