import { Check, Column, Entity, ForeignKey, PrimaryColumn } from 'typeorm';
import { WorkspaceEntity } from './workspace.entity.js';

/** A value agents may be given by name, sealed with AES-256-GCM; nothing reads it back to a person. */
@Entity('workspace_secrets')
@Check('workspace_secrets_name_shape', `name ~ '^[A-Za-z_][A-Za-z0-9_]{0,99}$'`)
@ForeignKey(() => WorkspaceEntity, ['workspaceId'], ['id'], { name: 'workspace_secrets_workspace_exists' })
export class WorkspaceSecretEntity {
  @PrimaryColumn('uuid') readonly workspaceId!: string;
  @PrimaryColumn('text') readonly name!: string;
  @Column('bytea') nonce!: Buffer;
  @Column('bytea') ciphertext!: Buffer;
  @Column('bytea') tag!: Buffer;
  @Column('timestamptz', { default: () => 'now()' }) readonly createdAt!: Date;
  @Column('timestamptz', { default: () => 'now()' }) updatedAt!: Date;
}
