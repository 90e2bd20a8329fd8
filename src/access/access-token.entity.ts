import { Check, Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import { UserEntity } from './user.entity.js';

/** What a person shows at the door: only its SHA-256 is kept. */
@Entity('access_tokens')
@Index('access_tokens_hash_once', ['hash'], { unique: true })
@Index('access_tokens_by_user', ['userId'])
@Check('access_tokens_hash_is_sha256', `length(hash) = 32`)
@Check('access_tokens_scopes_known', `cardinality(scopes) > 0 and scopes <@ array['read', 'write', 'admin']`)
@Check('access_tokens_not_for_the_office', `user_id <> '00000000-0000-7000-8000-000000000001'`)
@ForeignKey(() => UserEntity, ['userId'], ['id'], { name: 'access_tokens_user_exists' })
export class AccessTokenEntity {
  @PrimaryColumn('uuid') readonly id!: string;
  @Column('uuid') readonly userId!: string;
  @Column('text') label!: string;
  @Column('bytea') readonly hash!: Buffer;
  @Column('text', { array: true }) readonly scopes!: ('read' | 'write' | 'admin')[];
  @Column('boolean', { default: false }) readonly isBootstrap!: boolean;
  @Column('timestamptz', { default: () => 'now()' }) readonly createdAt!: Date;
  @Column('timestamptz', { nullable: true }) expiresAt!: Date | null;
  @Column('timestamptz', { nullable: true }) revokedAt!: Date | null;
}
