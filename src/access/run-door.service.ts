import { Injectable } from '@nestjs/common';
import { UnitOfWork } from '../platform/database/unit-of-work.js';
import { OfficeError } from '../platform/errors/office-error.js';
import { isUuid } from '../platform/http/uuid.js';
import { bearerToken } from './access-token.js';
import type { Reference, RunIdentity, RunRequirement } from './domain/run-access.js';
import { judgeCapability, judgeExistence, judgeTaskScope, judgeToken, judgeWorkspace } from './domain/run-verdict.js';
import type { FoundRow, RunRefusal } from './domain/run-verdict.js';
import { RunTokens } from './run-tokens.service.js';

const LONGEST_TOKEN = 4 * 1024;

/** The token dies with its run: nobody else may be running it, and nobody may have asked it to stop. */
const IS_RUNNING = `
  select 1 from runs
   where workspace_id = $1 and id = $2 and generation = $3 and agent_id = $4 and status = 'running' and stop_requested_at is null`;

/** Closed on purpose: what is interpolated into SQL comes from here. */
const TABLES = {
  task: { table: 'tasks', there: 'deleted_at is null' },
  agent: { table: 'agent_instances', there: 'true' },
  skill: { table: 'skills', there: 'true' },
  project: { table: 'projects', there: 'true' },
} as const;
const FIND = Object.entries(TABLES)
  .map(
    ([kind, { table, there }]) =>
      `select '${kind}' as kind, id, ${there} as there from ${table} where workspace_id = $1
          and id in (select asked.id from unnest($2::text[], $3::uuid[]) as asked(kind, id) where asked.kind = '${kind}')`,
  )
  .join('\n union all ');

/** The questions every request of an agent has to answer, each on its own so that nobody can ask them in another order. They change nothing. */
@Injectable()
export class RunDoor {
  constructor(
    private readonly tokens: RunTokens,
    private readonly unitOfWork: UnitOfWork,
  ) {}

  /** Who calls; asked anew with every request. */
  async identify(authorization: string | undefined): Promise<RunIdentity> {
    const token = bearerToken(authorization, LONGEST_TOKEN);
    const told = token === null ? null : this.tokens.read(token);
    const run = told !== null && (await this.isRunning(told)) ? told : null;
    refuse(judgeToken(authorization, run));
    return run!;
  }

  assertCapable(run: RunIdentity, { capability }: RunRequirement): void {
    const refusal = judgeCapability(run, capability);
    if (refusal !== null) throw new OfficeError(refusal, { needed: capability });
  }

  /** Answers what was found, for `assertThere`. */
  async assertInWorkspace(run: RunIdentity, references: readonly Reference[]): Promise<readonly FoundRow[]> {
    const found = await this.find(run, references);
    refuse(judgeWorkspace(run, references, found));
    return found;
  }

  assertInTaskScope(run: RunIdentity, references: readonly Reference[]): void {
    refuse(judgeTaskScope(run, references));
  }

  assertThere(found: readonly FoundRow[]): void {
    refuse(judgeExistence(found));
  }

  private async isRunning(run: RunIdentity): Promise<boolean> {
    // As a statement of its own, whose plan the connection keeps: it is asked with every request.
    const rows = await this.unitOfWork.statement(IS_RUNNING, [run.workspaceId, run.runId, run.generation, run.agentId]);
    return rows.length === 1;
  }

  /** The run's own task needs no look: it is in its workspace by a foreign key, and whoever changes it will lock it. */
  private async find(run: RunIdentity, references: readonly Reference[]): Promise<FoundRow[]> {
    const own = references.filter(({ kind, id }) => kind === 'task' && id === run.taskId);
    const asked = references.filter((reference) => reference.kind !== 'workspace' && isUuid(reference.id) && !own.includes(reference));
    const found = own.map(({ kind, id }) => ({ kind, id, there: true }));
    if (asked.length === 0) return found;
    const rows = await this.unitOfWork.read<FoundRow>(FIND, [run.workspaceId, asked.map(({ kind }) => kind), asked.map(({ id }) => id)]);
    return [...found, ...rows];
  }
}

function refuse(refusal: RunRefusal | null): void {
  if (refusal !== null) throw new OfficeError(refusal);
}
