import { ApiProperty } from '@nestjs/swagger';
import { pageOf } from '../platform/http/page.view.js';
import type { CommentRow } from './comment.repository.js';

export class CommentAuthorView {
  @ApiProperty({ enum: ['user', 'agent', 'system'] }) kind!: 'user' | 'agent' | 'system';
  @ApiProperty({ type: String, format: 'uuid', nullable: true }) id!: string | null;
  @ApiProperty({ type: String, nullable: true }) name!: string | null;
}

export class CommentView {
  @ApiProperty({ format: 'uuid' }) id!: string;
  @ApiProperty({ format: 'uuid' }) task_id!: string;
  @ApiProperty({ type: CommentAuthorView }) author!: CommentAuthorView;
  @ApiProperty({
    enum: ['user', 'agent', 'session', 'system'],
    description: "`session`: the last message of an agent's turn; it wakes nobody.",
  })
  source!: 'user' | 'agent' | 'session' | 'system';
  @ApiProperty({ type: String, format: 'uuid', nullable: true, description: 'The run an agent said it in.' }) run_id!: string | null;
  @ApiProperty() body!: string;
  @ApiProperty({ format: 'date-time' }) created_at!: string;
}

export class CommentPage extends pageOf(CommentView) {}

export const viewComment = (row: CommentRow): CommentView => ({
  id: row.id,
  task_id: row.task_id,
  author: { kind: row.author_kind, id: row.author_id, name: row.author_name },
  source: row.source,
  run_id: row.run_id,
  body: row.body,
  created_at: row.created_at.toISOString(),
});
