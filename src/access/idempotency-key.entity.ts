import { Check, Column, Entity, Index, PrimaryColumn } from 'typeorm';

/** The answer a repeated request gets again; written in the transaction of the effect it answers for. */
@Entity('idempotency_keys')
@Index('idempotency_keys_by_age', ['createdAt'])
@Check('idempotency_keys_key_length', `length(key) between 1 and 200`)
export class IdempotencyKeyEntity {
  /** Whose key it is: a user or a run. */
  @PrimaryColumn('text') readonly principal!: string;
  @PrimaryColumn('text') readonly method!: string;
  @PrimaryColumn('text') readonly route!: string;
  @PrimaryColumn('text') readonly key!: string;
  @Column('bytea') readonly requestHash!: Buffer;
  @Column('jsonb') readonly answer!: unknown;
  @Column('timestamptz', { default: () => 'now()' }) readonly createdAt!: Date;
}
