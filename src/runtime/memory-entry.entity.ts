import { Check, Column, Entity, ForeignKey, PrimaryColumn } from 'typeorm';
import { AgentEntity } from '../agents/agent.entity.js';

/** What agents keep between runs: a text under a key, in the namespace of an agent, a task, a project or a skill. */
@Entity('memory_entries')
@Check('memory_entries_namespace_known', `namespace in ('agents', 'tasks', 'projects', 'skills')`)
@Check('memory_entries_key_length', `length(key) between 1 and 500`)
@ForeignKey(() => AgentEntity, ['workspaceId', 'agentId'], ['workspaceId', 'id'], { name: 'memory_entries_agent_exists' })
export class MemoryEntryEntity {
  @PrimaryColumn('uuid') readonly workspaceId!: string;
  @PrimaryColumn('text') readonly namespace!: 'agents' | 'tasks' | 'projects' | 'skills';
  @PrimaryColumn('uuid') readonly ownerId!: string;
  /** Parts between slashes. */
  @PrimaryColumn('text', { collation: 'C' }) readonly key!: string;
  @Column('text') content!: string;
  /** Whole milliseconds, and later with every write: what a writer compares. */
  @Column('timestamptz') updatedAt!: Date;
  /** Who wrote it last, and in which run. */
  @Column('uuid') agentId!: string;
  @Column('uuid') runId!: string;
}
