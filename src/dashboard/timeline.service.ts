import { Injectable } from '@nestjs/common';
import { isExactInstant } from '../platform/database/exact-instant.js';
import { hintFor } from '../diagnosis/domain/hint.js';
import { UnitOfWork } from '../platform/database/unit-of-work.js';
import { decodeCursor } from '../platform/http/cursor.js';
import type { PageQuery } from '../platform/http/page.dto.js';
import { pageFrom, type Page } from '../platform/http/page.view.js';
import { isUuid } from '../platform/http/uuid.js';
import { timelinePage } from './timeline.sql.js';
import { ERROR_HEADER, type ErrorEntryView, type TimelineEntryView } from './timeline.view.js';

interface Row {
  readonly source: number;
  readonly id: string;
  readonly at: Date;
  readonly exact_at: string;
  readonly kind: TimelineEntryView['kind'];
  readonly body: Readonly<Record<string, unknown>>;
}

const FROM_START = timelinePage('start');
const FROM_PLACE = timelinePage('place');
const PLACE_SHAPE = /^(\d+) (\d) (\S+)$/;

/** The chat of a task: what was said, done, changed, and what went wrong, oldest first. */
@Injectable()
export class Timeline {
  constructor(private readonly unitOfWork: UnitOfWork) {}

  async page(workspaceId: string, taskId: string, { limit, cursor }: PageQuery): Promise<Page<TimelineEntryView>> {
    const place = PLACE_SHAPE.exec(decodeCursor(cursor, isPlace) ?? '')?.slice(1);
    const rows = await this.unitOfWork.read<Row>(place === undefined ? FROM_START : FROM_PLACE, [
      workspaceId,
      taskId,
      limit + 1,
      ...(place ?? []),
    ]);
    return pageFrom(rows, limit, ({ exact_at, source, id }) => `${exact_at} ${source} ${id}`, view);
  }
}

function isPlace(key: string): boolean {
  const [, at = '', , id = ''] = PLACE_SHAPE.exec(key) ?? [];
  return isUuid(id) && isExactInstant(at);
}

interface ErrorBody {
  readonly session_failed: boolean;
  readonly adapter: string;
  readonly error_code: string | null;
  readonly retry_after: string | null;
}

function view({ id, at, kind, body }: Row): TimelineEntryView {
  const entry = { id, kind, at: at.toISOString() };
  if (kind !== 'error') return { ...entry, ...body } as TimelineEntryView;
  const { session_failed, adapter, retry_after, ...rest } = body as unknown as ErrorBody;
  const hint = hintFor({ code: rest.error_code, adapter, retrying: false, retryAfter: retry_after });
  return { ...entry, header: ERROR_HEADER, ...rest, hint, actions: session_failed ? ['resume', 'start_fresh'] : [] } as ErrorEntryView;
}
