import { ApiProperty } from '@nestjs/swagger';
import { PERMISSION_DECISIONS, type PermissionDecision } from '../inbox/domain/permission-decision.js';

export class AnsweredPermissionView {
  @ApiProperty({ format: 'uuid' }) item_id!: string;
  @ApiProperty({ enum: PERMISSION_DECISIONS }) decision!: PermissionDecision;
  @ApiProperty({ description: 'Somebody had answered the same before.' }) already_answered!: boolean;
}
