import type { Role, Scope } from './domain/route-access.js';
import { ROLES, SCOPES } from './domain/route-access.js';
import { ApiProperty } from '@nestjs/swagger';

export class UserRefView {
  @ApiProperty({ format: 'uuid' }) id!: string;
  @ApiProperty() name!: string;
}

export class MembershipView {
  @ApiProperty({ format: 'uuid' }) id!: string;
  @ApiProperty() name!: string;
  @ApiProperty({ enum: ROLES }) role!: Role;
}

export class MeView {
  @ApiProperty({ type: UserRefView }) user!: UserRefView;
  @ApiProperty({ type: [MembershipView], description: 'The workspaces one has a role in, oldest first.' }) workspaces!: MembershipView[];
}

export class UserView {
  @ApiProperty({ format: 'uuid' }) id!: string;
  @ApiProperty() name!: string;
  @ApiProperty() is_instance_admin!: boolean;
  @ApiProperty({ format: 'date-time' }) created_at!: string;
}

export class NewTokenView {
  @ApiProperty({ format: 'uuid' }) id!: string;
  @ApiProperty({ format: 'uuid' }) user_id!: string;
  @ApiProperty() label!: string;
  @ApiProperty({ enum: SCOPES, isArray: true }) scopes!: Scope[];
  @ApiProperty({ type: String, format: 'date-time', nullable: true }) expires_at!: string | null;
  @ApiProperty({ format: 'date-time' }) created_at!: string;
  @ApiProperty({ type: String, nullable: true, description: 'The token itself, shown once: null when this answer is a repeated one.' })
  token!: string | null;
}
