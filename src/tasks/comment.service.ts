import { Injectable } from '@nestjs/common';
import type { Tx } from '../platform/database/tx.js';
import { newId } from '../platform/ids.js';
import { storableText } from '../platform/text/storable.js';
import { CommentRepository } from './comment.repository.js';

/** What an agent said at the end of its turn. */
export interface SessionMessage {
  readonly workspaceId: string;
  readonly taskId: string;
  readonly agentId: string;
  readonly runId: string;
  /** At most 32 KiB; the caller has cut it. */
  readonly body: string;
}

/** The comments' face towards other rooms. Every method is a part of the caller's transaction. */
@Injectable()
export class CommentService {
  constructor(private readonly comments: CommentRepository) {}

  /**
   * An agent's last message becomes a comment. It wakes nobody, whatever it says (contract 3). Answers the comment's id;
   * null where there was nothing to say, or nothing to say it on any more.
   */
  async addFromSession(tx: Tx, message: SessionMessage): Promise<string | null> {
    const body = storableText(message.body);
    if (body.trim() === '') return null;
    const id = newId();
    const author = { kind: 'agent', id: message.agentId } as const;
    const { workspaceId, taskId, runId } = message;
    if (!(await this.comments.insert(tx, workspaceId, { id, taskId, author, source: 'session', runId, body }))) return null;
    tx.emit('office.comment.created', { comment_id: id, task_id: taskId, author });
    return id;
  }
}
