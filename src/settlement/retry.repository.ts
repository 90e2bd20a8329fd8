import { Injectable } from '@nestjs/common';
import { summary } from '../execution/domain/error-payload.js';
import { sqlList } from '../platform/database/sql-list.js';
import type { Tx } from '../platform/database/tx.js';
import { storableJson } from '../platform/text/storable.js';
import { rankOf } from '../runs/domain/wake-reason.js';
import { tooOldSql } from '../runs/run-age.sql.js';
import { sourcesOf, type SessionState } from '../sessions/domain/session-state.js';
import type { SettledRun, StoredDiagnosis } from './settlement.repository.js';

export interface RetryWrite {
  readonly delaySec: number;
  readonly payload: string;
  readonly summary: string;
  readonly diagnosis: StoredDiagnosis;
  readonly evidence: object;
}

export interface LastFailure {
  readonly payload: string;
  readonly code: string | null;
  readonly class: string | null;
}

/** Writes by which a run waits again, or waits no longer. All under the settlement's locks. */
@Injectable()
export class RetryRepository {
  /**
   * Back to waiting: as if it had not been claimed, or for its retry. Where the pair has a waiting run already, this one ends
   * `merged` and its wakes move there: merge first, then change state (contract 3). Answers the survivor, or null when it
   * waits itself. The survivor takes over the count of retries and, unless a person waits for it,
   * the delay: wakes that keep coming can make retries neither endless nor hasty.
   */
  async waitAgain(
    tx: Tx,
    run: SettledRun & { readonly scope: string | null },
    session: SessionState,
    retry: RetryWrite | null = null,
  ): Promise<string | null> {
    const [survivor] = await tx.query<{ id: string }>(
      `select id from runs where workspace_id = $1 and agent_id = $2 and (task_id = $3 or scope = $4)
          and status in ('queued', 'scheduled_retry') for no key update`,
      [tx.workspaceId, run.agentId, run.taskId, run.scope],
    );
    if (survivor) {
      await tx.query(`update wake_requests set run_id = $3 where workspace_id = $1 and run_id = $2`, [
        tx.workspaceId,
        run.runId,
        survivor.id,
      ]);
      await tx.query(
        `update runs r set wake_class = least(r.wake_class, gone.wake_class),
                retry_count = greatest(r.retry_count, gone.retry_count + $4),
                due_at = case when $4 = 0 or r.wake_class = 0 then r.due_at else greatest(r.due_at, clock_timestamp() + make_interval(secs => $5)) end
           from runs gone where r.workspace_id = $1 and r.id = $3 and gone.id = $2`,
        [tx.workspaceId, run.runId, survivor.id, retry === null ? 0 : 1, retry?.delaySec ?? 0],
      );
    }
    await tx.query(
      `with waits as (
         update runs set status = case when $4::uuid is not null then 'cancelled' when $7 or retry_count > 0 then 'scheduled_retry' else 'queued' end,
                cancel_reason = case when $4::uuid is null then null else 'merged' end, merged_into = $4,
                finished_at = case when $4::uuid is null then null else clock_timestamp() end,
                claimed_at = null, lease_host_id = null, lease_boot_id = null, lease_expires_at = null,
                retry_count = retry_count + $7::int,
                due_at = case when $7 then clock_timestamp() + make_interval(secs => $8) else due_at end,
                wake_class = case when $7 then ${rankOf('recovery')} else wake_class end,
                error_message = case when $7 then $9 else error_message end, error_summary = case when $7 then $10 else error_summary end,
                error_code = case when $7 then $11 else error_code end, error_class = case when $7 then $12 else error_class end,
                retry_after = case when $7 then to_timestamp($15::float8 / 1000) else retry_after end
          where workspace_id = $1 and id = $2 and generation = $3 and status = 'running'
         returning id, generation
       ), attempt as (
         update run_attempts a set outcome = case when $7 then 'error' else 'requeued' end, finished_at = clock_timestamp(),
                error_payload = $9, error_code = $11, error_class = $12, rule = $13, evidence = $14
           from waits w where a.run_id = w.id and a.generation = w.generation
       )
       update task_sessions set state = $5, updated_at = now() where workspace_id = $1 and id = $6`,
      [
        tx.workspaceId,
        run.runId,
        run.generation,
        survivor?.id ?? null,
        session,
        run.sessionId,
        retry !== null,
        retry?.delaySec ?? 0,
        retry?.payload ?? null,
        retry?.summary ?? null,
        retry?.diagnosis.code ?? null,
        retry?.diagnosis.class ?? null,
        retry?.diagnosis.rule ?? null,
        retry === null ? null : storableJson(retry.evidence),
        retry?.diagnosis.retryAfterMs ?? null,
      ],
    );
    return survivor?.id ?? null;
  }

  /**
   * A retry that has become too old (contract 4) fails with what its last attempt failed with. Null: it is none, or not old;
   * a person may have asked for it since the claim saw it.
   */
  async giveUp(tx: Tx, run: SettledRun, host: { readonly id: string; readonly leaseSec: number }): Promise<LastFailure | null> {
    const [last] = await tx.query<LastFailure>(
      `select coalesce(n.error_payload, r.error_message, '{"kind":"run_too_old"}') as payload, n.error_code as code, n.error_class as class
         from runs r join agent_instances a on a.id = r.agent_id join workspaces w on w.id = r.workspace_id
         left join lateral (select * from run_attempts x where x.run_id = r.id and x.error_payload is not null
                             order by x.generation desc limit 1) n on true
        where r.workspace_id = $1 and r.id = $2 and r.generation = $3 and ${tooOldSql('$4', '$5')}`,
      [tx.workspaceId, run.runId, run.generation, host.id, host.leaseSec],
    );
    if (last === undefined) return null;
    await tx.query(
      `with ended as (
         update runs set status = 'failed', failure_kind = 'error', finished_at = clock_timestamp(), error_message = $3, error_summary = $4,
                error_code = $5, error_class = $6
          where workspace_id = $1 and id = $2 and status = 'scheduled_retry'
       ), session as (
         update task_sessions set state = 'FAILED', error_message = $3, updated_at = now() where workspace_id = $1 and id = $7
            and state in (${sqlList(sourcesOf('FAILED', 'run_too_old'))})
       )
       update agent_instances set last_run_finished_at = clock_timestamp() where workspace_id = $1 and id = $8`,
      [tx.workspaceId, run.runId, last.payload, summary(last.payload), last.code, last.class, run.sessionId, run.agentId],
    );
    return last;
  }
}
