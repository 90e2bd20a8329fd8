import { Check, Column, Entity, ForeignKey, PrimaryColumn, Unique } from 'typeorm';
import { WorkspaceEntity } from './workspace.entity.js';

/** Something agents of the workspace can read up on. Those of the office itself are rows like any other, kept as shipped. */
@Entity('skills')
@Unique('skills_once_per_workspace', ['workspaceId', 'id'])
@Unique('skills_slug_once', ['workspaceId', 'slug'])
@Check('skills_slug_shape', `slug ~ '^[a-z0-9]([a-z0-9-]{0,58}[a-z0-9])?$'`)
@Check('skills_system_is_reserved', `is_system = starts_with(slug, 'office-')`)
@ForeignKey(() => WorkspaceEntity, ['workspaceId'], ['id'], { name: 'skills_workspace_exists' })
export class SkillEntity {
  @PrimaryColumn('uuid') readonly id!: string;
  @Column('uuid') readonly workspaceId!: string;
  /** The name of its folder. */
  @Column('text') slug!: string;
  @Column('text') name!: string;
  /** When to read it. */
  @Column('text') description!: string;
  /** Markdown. */
  @Column('text') content!: string;
  @Column('boolean', { default: false }) readonly isSystem!: boolean;
  @Column('timestamptz', { default: () => 'now()' }) readonly createdAt!: Date;
  @Column('timestamptz', { default: () => 'now()' }) updatedAt!: Date;
}
