import { Injectable, Logger, type OnModuleInit } from '@nestjs/common';
import { OfficeSettings } from '../platform/config/office-settings.js';
import { UnitOfWork } from '../platform/database/unit-of-work.js';
import type { Tx } from '../platform/database/tx.js';
import { Leadership, type LeaderWork } from '../platform/leadership/leadership.service.js';
import { TranscriptAging } from '../transcript/transcript-aging.service.js';
import { MAY_GO, TOO_OLD, WITH_OLD_BODIES } from './aged-runs.sql.js';

const EVERY_MS = 600_000;

interface AgedRun {
  readonly id: string;
  readonly finished_at: string;
}

/**
 * How long the history of runs is kept: first the bulk of it goes (what tools gave back, what agents thought), much later the runs
 * with everything about them. What somebody may still have to look at stays, whatever its age.
 */
@Injectable()
export class HistoryRetention implements LeaderWork, OnModuleInit {
  readonly name = 'history-retention';
  readonly everyMs = EVERY_MS;
  private readonly logger = new Logger(HistoryRetention.name);

  constructor(
    private readonly unitOfWork: UnitOfWork,
    private readonly transcripts: TranscriptAging,
    private readonly leadership: Leadership,
    private readonly settings: OfficeSettings,
  ) {}

  onModuleInit(): void {
    this.leadership.register(this);
  }

  async work(signal: AbortSignal): Promise<void> {
    const removed = await this.transcripts.removeRemoved(signal);
    let bodies = 0;
    let runs = 0;
    for (const { id } of await this.unitOfWork.read<{ id: string }>(`select id from workspaces order by id`)) {
      bodies += await this.emptyBodies(id, signal);
      runs += await this.forgetRuns(id, signal);
    }
    if (removed + bodies + runs > 0) this.logger.log({ removed, bodies, runs }, 'old history forgotten');
  }

  private async emptyBodies(workspaceId: string, signal: AbortSignal): Promise<number> {
    let emptied = 0;
    for await (const page of this.pages(WITH_OLD_BODIES, workspaceId, this.settings.OFFICE_BODIES_KEEP_DAYS, signal)) {
      for (const { id } of page) {
        emptied += await this.transcripts.emptyBodies(workspaceId, id, signal);
        if (signal.aborted) return emptied;
        await this.unitOfWork.statement(`update runs set bodies_kept = false where workspace_id = $1 and id = $2`, [workspaceId, id]);
      }
    }
    return emptied;
  }

  private async forgetRuns(workspaceId: string, signal: AbortSignal): Promise<number> {
    let forgotten = 0;
    const days = this.settings.OFFICE_HISTORY_KEEP_DAYS;
    for await (const page of this.pages(TOO_OLD, workspaceId, days, signal)) {
      for (const { id } of page) await this.transcripts.removeOfRun(workspaceId, id, signal);
      if (signal.aborted) return forgotten;
      const ids = page.map(({ id }) => id);
      forgotten += await this.unitOfWork.run(workspaceId, (tx) => forget(tx, ids, days));
    }
    return forgotten;
  }

  /** Walked by place, so that what has to stay is passed once a round and not before every batch. */
  private async *pages(sql: string, workspaceId: string, days: number, signal: AbortSignal): AsyncGenerator<AgedRun[]> {
    let place: [string, string] = ['-infinity', '00000000-0000-0000-0000-000000000000'];
    while (!signal.aborted) {
      const page = await this.unitOfWork.read<AgedRun>(sql, [days, ...place, workspaceId]);
      const last = page.at(-1);
      if (last === undefined) return;
      yield page;
      place = [last.finished_at, last.id];
    }
  }
}

/** With everything that hangs on them. What has become of interest again since they were looked for stays. */
async function forget(tx: Tx, runIds: readonly string[], days: number): Promise<number> {
  const going = await tx.query<{ id: string }>(
    `select r.id from runs r where ${MAY_GO} and r.workspace_id = $2 and r.id = any($3::uuid[]) order by r.id for update`,
    [days, tx.workspaceId, runIds],
  );
  const them = [tx.workspaceId, going.map(({ id }) => id)];
  await tx.query(
    `delete from inbox_dismissals where workspace_id = $1 and item_kind in ('agent_run_failed') and item_id = any($2::uuid[])`,
    them,
  );
  await tx.query(`delete from interruption_runs where workspace_id = $1 and run_id = any($2::uuid[])`, them);
  await tx.query(
    `with gone as (delete from missing_capabilities where workspace_id = $1 and run_id = any($2::uuid[]) returning id)
     delete from inbox_dismissals d using gone where d.workspace_id = $1 and d.item_kind = 'capability_missing' and d.item_id = gone.id`,
    them,
  );
  await tx.query(`update provider_holds set first_run_id = null where workspace_id = $1 and first_run_id = any($2::uuid[])`, them);
  await tx.query(`delete from provider_holds where workspace_id = $1 and run_id = any($2::uuid[])`, them);
  await tx.query(`update task_comments set run_id = null where workspace_id = $1 and run_id = any($2::uuid[])`, them);
  await tx.query(`delete from wake_requests where workspace_id = $1 and run_id = any($2::uuid[])`, them);
  await tx.query(`delete from office_run_events where workspace_id = $1 and run_id = any($2::uuid[])`, them);
  await tx.query(`delete from run_attempts where workspace_id = $1 and run_id = any($2::uuid[])`, them);
  await tx.query(`delete from session_entries where workspace_id = $1 and run_id = any($2::uuid[])`, them);
  await tx.query(`update runs set merged_into = null where workspace_id = $1 and merged_into = any($2::uuid[])`, them);
  return (await tx.query(`delete from runs where workspace_id = $1 and id = any($2::uuid[]) returning id`, them)).length;
}
