import type { ClientBase } from 'pg';
import type { DataSourceOptions } from 'typeorm';
import { migrations } from '../migrations/index.js';
import { AccessTokenEntity } from './access/access-token.entity.js';
import { IdempotencyKeyEntity } from './access/idempotency-key.entity.js';
import { UserEntity } from './access/user.entity.js';
import { AgentPauseEntity } from './agents/agent-pause.entity.js';
import { AgentEntity } from './agents/agent.entity.js';
import { ApprovalEntity } from './inbox/approval.entity.js';
import { InboxDismissalEntity } from './inbox/inbox-dismissal.entity.js';
import { InterruptionRunEntity } from './inbox/interruption-run.entity.js';
import { InterruptionEntity } from './inbox/interruption.entity.js';
import { MissingCapabilityEntity } from './inbox/missing-capability.entity.js';
import { PermissionGrantEntity } from './inbox/permission-grant.entity.js';
import { PermissionRequestEntity } from './inbox/permission-request.entity.js';
import { ProviderHoldEntity } from './inbox/provider-hold.entity.js';
import { ColumnNames } from './platform/database/column-names.js';
import { NoSqlLog } from './platform/database/no-sql-log.js';
import { OfficeEventCounterEntity } from './platform/events/office-event-counter.entity.js';
import { OfficeEventEntity } from './platform/events/office-event.entity.js';
import { RepositoryEntity } from './repositories/repository.entity.js';
import { RunAttemptEntity } from './runs/run-attempt.entity.js';
import { RunEventEntity } from './runs/run-event.entity.js';
import { RunUsageEntity } from './runs/run-usage.entity.js';
import { RunEntity } from './runs/run.entity.js';
import { WakeKeyEntity } from './runs/wake-key.entity.js';
import { WakeRequestEntity } from './runs/wake-request.entity.js';
import { MemoryEntryEntity } from './runtime/memory-entry.entity.js';
import { ExecutorRunningEntity } from './sessions/executor-running.entity.js';
import { TaskFolderEntity } from './sessions/task-folder.entity.js';
import { TaskSessionEntity } from './sessions/task-session.entity.js';
import { StepDecisionEntity } from './tasks/step-decision.entity.js';
import { StepParticipantEntity } from './tasks/step-participant.entity.js';
import { TaskBlockerEntity } from './tasks/task-blocker.entity.js';
import { TaskCommentEntity } from './tasks/task-comment.entity.js';
import { TaskStateChangeEntity } from './tasks/task-state-change.entity.js';
import { TaskStepTransitionEntity } from './tasks/task-step-transition.entity.js';
import { TaskEntity } from './tasks/task.entity.js';
import { SessionEntryEntity } from './transcript/session-entry.entity.js';
import { SessionTranscriptEntity } from './transcript/session-transcript.entity.js';
import { ProjectEntity } from './workflow/project.entity.js';
import { WorkflowStepEntity } from './workflow/workflow-step.entity.js';
import { WorkflowEntity } from './workflow/workflow.entity.js';
import { HostEntity } from './workspaces/host.entity.js';
import { SkillEntity } from './workspaces/skill.entity.js';
import { WorkspaceMemberEntity } from './workspaces/workspace-member.entity.js';
import { WorkspaceSecretEntity } from './workspaces/workspace-secret.entity.js';
import { WorkspaceSettingsEntity } from './workspaces/workspace-settings.entity.js';
import { WorkspaceEntity } from './workspaces/workspace.entity.js';

const entities = [
  UserEntity,
  AccessTokenEntity,
  IdempotencyKeyEntity,
  WorkspaceEntity,
  WorkspaceSettingsEntity,
  WorkspaceMemberEntity,
  WorkspaceSecretEntity,
  HostEntity,
  OfficeEventCounterEntity,
  OfficeEventEntity,
  AgentEntity,
  AgentPauseEntity,
  RepositoryEntity,
  WorkflowEntity,
  WorkflowStepEntity,
  ProjectEntity,
  TaskEntity,
  TaskStateChangeEntity,
  TaskStepTransitionEntity,
  TaskBlockerEntity,
  TaskCommentEntity,
  StepParticipantEntity,
  StepDecisionEntity,
  TaskSessionEntity,
  TaskFolderEntity,
  ExecutorRunningEntity,
  SessionTranscriptEntity,
  SessionEntryEntity,
  RunEntity,
  RunAttemptEntity,
  RunUsageEntity,
  WakeRequestEntity,
  WakeKeyEntity,
  RunEventEntity,
  InboxDismissalEntity,
  InterruptionEntity,
  InterruptionRunEntity,
  ProviderHoldEntity,
  PermissionRequestEntity,
  MissingCapabilityEntity,
  PermissionGrantEntity,
  ApprovalEntity,
  MemoryEntryEntity,
  SkillEntity,
];

/**
 * The one description of our database: every table and migration, by hand, so that `platform/` imports no room.
 * `statementTimeoutMs` 0 means none; migrations need that.
 */
export function databaseOptions(
  url: string,
  { poolSize = 20, statementTimeoutMs = 30_000, idleInTransactionMs = 60_000 } = {},
): DataSourceOptions {
  return {
    type: 'postgres',
    url,
    applicationName: 'agent-office',
    entities,
    migrations,
    migrationsTableName: 'office_migrations',
    migrationsTransactionMode: 'each',
    namingStrategy: new ColumnNames(),
    synchronize: false,
    migrationsRun: false,
    installExtensions: false,
    logger: new NoSqlLog(),
    // An idle connection died. Nothing was lost: the next statement opens another or says why it cannot.
    poolErrorHandler: () => undefined,
    poolSize,
    connectTimeoutMS: 5_000,
    extra: {
      keepAlive: true,
      // A statement is sent when it is asked for, whether or not the one before has been answered (unit-of-work.ts).
      pipeline: true,
      idleTimeoutMillis: 30_000,
      // For a database that vanished without a word, when PostgreSQL cannot keep its own timeout.
      query_timeout: statementTimeoutMs === 0 ? 0 : statementTimeoutMs + 5_000,
      // By statement, not as start-up parameters: a pooler in session mode refuses those it does not know.
      onConnect: (client: ClientBase) => client.query(sessionSettings(statementTimeoutMs, idleInTransactionMs)),
    },
  };
}

/**
 * READ COMMITTED here, once, and not in every transaction, which would cost each a round trip. And a server that froze inside
 * a transaction must not hold its row locks against all the others for long.
 */
const sessionSettings = (statementTimeoutMs: number, idleInTransactionMs: number): string => `
  set default_transaction_isolation = 'read committed';
  set statement_timeout = ${statementTimeoutMs};
  set idle_in_transaction_session_timeout = ${idleInTransactionMs}`;
