import { Injectable } from '@nestjs/common';
import type { Actor } from '../platform/actor.js';
import type { Reading } from '../platform/database/reading.js';
import type { Tx } from '../platform/database/tx.js';

export type CommentSource = 'user' | 'agent' | 'session' | 'system';

export interface CommentRow {
  readonly id: string;
  readonly task_id: string;
  readonly author_kind: Actor['kind'];
  readonly author_id: string | null;
  readonly author_name: string | null;
  readonly source: CommentSource;
  readonly run_id: string | null;
  readonly body: string;
  readonly created_at: Date;
}

export interface NewComment {
  readonly id: string;
  readonly taskId: string;
  readonly author: { readonly kind: Actor['kind']; readonly id: string | null };
  readonly source: CommentSource;
  readonly runId: string | null;
  readonly body: string;
}

const COMMENT = `
  select comment.id, comment.task_id, comment.author_kind, comment.author_id, coalesce(person.name, agent.name) as author_name,
         comment.source, comment.run_id, comment.body, comment.created_at
    from task_comments comment
    left join users person on comment.author_kind = 'user' and person.id = comment.author_id
    left join agent_instances agent on comment.author_kind = 'agent' and agent.workspace_id = comment.workspace_id and agent.id = comment.author_id`;

/** The rows of `task_comments`. */
@Injectable()
export class CommentRepository {
  /** False: the task is not there any more, and nothing is said of it. */
  async insert(tx: Tx, workspaceId: string, comment: NewComment): Promise<boolean> {
    const { author } = comment;
    const inserted = await tx.prepared(
      `insert into task_comments (workspace_id, id, task_id, author_kind, author_id, source, run_id, body, created_at)
       select $1, $2, task.id, $4, $5, $6, $7, $8, clock_timestamp()
         from tasks task where task.workspace_id = $1 and task.id = $3 and task.deleted_at is null
       returning id`,
      [workspaceId, comment.id, comment.taskId, author.kind, author.id, comment.source, comment.runId, comment.body],
    );
    return inserted.length === 1;
  }

  async find(db: Reading, workspaceId: string, id: string): Promise<CommentRow | null> {
    const [row] = await db.query<CommentRow>(`${COMMENT} where comment.workspace_id = $1 and comment.id = $2`, [workspaceId, id]);
    return row ?? null;
  }

  /** Oldest first. */
  list(db: Reading, workspaceId: string, taskId: string, page: { after: string | null; take: number }): Promise<CommentRow[]> {
    return db.query<CommentRow>(
      `${COMMENT} where comment.workspace_id = $1 and comment.task_id = $2 and ($3::uuid is null or comment.id > $3)
       order by comment.id limit $4`,
      [workspaceId, taskId, page.after, page.take],
    );
  }
}
