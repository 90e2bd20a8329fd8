import { Check, Column, Entity, PrimaryColumn } from 'typeorm';

/** A person, or the office itself (reserved: it signs what nobody pressed and can never hold a token). */
@Entity('users')
@Check('users_name_filled', `length(name) between 1 and 200`)
export class UserEntity {
  @PrimaryColumn('uuid') readonly id!: string;
  @Column('text') name!: string;
  @Column('boolean', { default: false }) isInstanceAdmin!: boolean;
  @Column('boolean', { default: false }) readonly isReserved!: boolean;
  @Column('timestamptz', { default: () => 'now()' }) readonly createdAt!: Date;
}
