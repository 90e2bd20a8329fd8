import { Injectable } from '@nestjs/common';
import { Batches } from '../platform/database/batches.js';
import { sqlList } from '../platform/database/sql-list.js';
import type { Tx } from '../platform/database/tx.js';
import { UnitOfWork } from '../platform/database/unit-of-work.js';
import { sourcesOf } from '../sessions/domain/session-state.js';
import type { ClaimedRun } from './claim.js';
import { noteRun } from './run-notes.js';

export interface Owner {
  readonly hostId: string;
  readonly bootId: string;
  readonly leaseSec: number;
}

/** `stopping`: somebody wants it stopped. `lost`: it is not this owner's any more. */
export type LaunchVerdict = 'launched' | 'stopping' | 'lost';

/** What the owner of a running run sees of its process. */
export interface Sighting {
  readonly runId: string;
  readonly generation: number;
  /** Since its last content, by this process's own clock; null: none yet. */
  readonly quietMs: number | null;
  readonly processAlive: boolean;
  readonly currentTool: string | null;
  readonly awaitsPermission: boolean;
}

const RENEW = `
  update runs r set lease_expires_at = clock_timestamp() + make_interval(secs => $3),
         evidence_at = case when s.id is null then r.evidence_at else clock_timestamp() end,
         last_content_at = case when s.quiet_ms is null then r.last_content_at
                                else greatest(r.last_content_at, clock_timestamp() - make_interval(secs => s.quiet_ms / 1000)) end,
         process_alive = case when s.id is null then r.process_alive else s.alive end,
         current_tool = case when s.id is null then r.current_tool else s.tool end,
         awaits_permission = case when s.id is null then r.awaits_permission else s.asks end
    from (select id, generation from runs where lease_host_id = $1 and lease_boot_id = $2 and status = 'running'
           order by id for no key update) mine
    left join unnest($4::uuid[], $5::int[], $6::float8[], $7::boolean[], $8::text[], $9::boolean[])
              as s (id, generation, quiet_ms, alive, tool, asks) on s.id = mine.id and s.generation = mine.generation
   where r.id = mine.id and r.status = 'running'
  returning r.id, r.generation`;

const MARK_LAUNCHED = `
  with mine as materialized (
    select id from runs where id = any($1::uuid[]) order by id for no key update
  ), launched as (
    update runs r set launched_at = clock_timestamp() from unnest($1::uuid[], $2::int[]) as l(id, generation)
     where r.id in (select id from mine) and r.id = l.id and r.generation = l.generation and r.status = 'running' and r.stop_requested_at is null
    returning r.id, r.generation, r.launched_at
  )
  update run_attempts a set launched_at = l.launched_at from launched l
   where a.run_id = any($1::uuid[]) and a.run_id = l.id and a.generation = l.generation returning a.run_id`;

/**
 * The columns of `task_sessions t` that change when a conversation was told its prompt: `began` is its ACP id, or null where
 * nothing began. `prompted_at` is the moment of the claim: the prompt says what was known then, and comments may have come since.
 */
export const conversationBegan = (began: string, claimedAt: string): string => `
  turns = t.turns + case when ${began} is null then 0 else 1 end,
  prompted_at = case when ${began} is null then t.prompted_at else ${claimedAt} end,
  acp_session_id = coalesce(${began}, t.acp_session_id),
  acp_session_history = case when ${began} <> t.acp_session_id then t.acp_session_history || to_jsonb(t.acp_session_id)
                             else t.acp_session_history end`;

const MARK_STARTED = `
  with started as (
    update runs set started_at = clock_timestamp()
     where workspace_id = $1 and id = $2 and generation = $3 and status = 'running'
    returning id, generation, session_id, claimed_at, started_at
  ), attempt as (
    update run_attempts a set started_at = s.started_at from started s where a.run_id = s.id and a.generation = s.generation
  )
  update task_sessions t set state = 'RUNNING', updated_at = now(), ${conversationBegan('$4::text', 's.claimed_at')}
    from started s
   where t.workspace_id = $1 and t.id = s.session_id and t.state in (${sqlList(sourcesOf('RUNNING'))})
  returning t.id`;

/** What the owner of a running run writes while it works. Every statement names the generation: a stale one changes nothing. */
@Injectable()
export class RunOwnership {
  private readonly launches = new Batches<ClaimedRun, LaunchVerdict>(
    (runs) => this.launchAll(runs),
    50,
    ({ runId }) => runId,
  );

  constructor(private readonly unitOfWork: UnitOfWork) {}

  /** Committed before anything is spawned: launch nothing unless it answers `launched`. */
  markLaunched(run: ClaimedRun): Promise<LaunchVerdict> {
    return this.launches.ask(run);
  }

  private async launchAll(runs: readonly ClaimedRun[]): Promise<LaunchVerdict[]> {
    const launched = await this.unitOfWork.statement<{ run_id: string }>(MARK_LAUNCHED, [
      runs.map(({ runId }) => runId),
      runs.map(({ generation }) => generation),
    ]);
    const begun = new Set(launched.map(({ run_id }) => run_id));
    const stopping = begun.size === runs.length ? new Set<string>() : await this.stillOurs(runs);
    return runs.map(({ runId }) => (begun.has(runId) ? 'launched' : stopping.has(runId) ? 'stopping' : 'lost'));
  }

  private async stillOurs(runs: readonly ClaimedRun[]): Promise<Set<string>> {
    const ours = await this.unitOfWork.read<{ id: string }>(
      `select r.id from runs r join unnest($1::uuid[], $2::int[]) as l(id, generation) on l.id = r.id and l.generation = r.generation
        where r.status = 'running'`,
      [runs.map(({ runId }) => runId), runs.map(({ generation }) => generation)],
    );
    return new Set(ours.map(({ id }) => id));
  }

  /** The conversation is there and has been told its prompt: from here on a resume returns to it. False: the run is not ours any more. */
  async markStarted(run: ClaimedRun, acpSessionId: string): Promise<boolean> {
    return this.unitOfWork.run(run.workspaceId, async (tx) => {
      if (!(await this.recordStart(tx, run, acpSessionId))) return false;
      tx.emit('office.task.session.updated', { session_id: run.sessionId, task_id: run.taskId, state: 'RUNNING' });
      return true;
    });
  }

  /** The part of it for a caller that has a transaction. False: the run is not ours any more. */
  async recordStart(tx: Tx, run: { readonly runId: string; readonly generation: number }, acpSessionId: string): Promise<boolean> {
    const started = await tx.prepared(MARK_STARTED, [tx.workspaceId, run.runId, run.generation, acpSessionId]);
    return started.length === 1;
  }

  /** A line in the run's own log, in a transaction of its own. False: the run is not ours any more, and nothing is written. */
  note(run: ClaimedRun, eventType: string, level: 'info' | 'warn' | 'error', payload: object): Promise<boolean> {
    return this.unitOfWork.run(run.workspaceId, async (tx) => {
      const ours = await tx.query(
        `select from runs where workspace_id = $1 and id = $2 and generation = $3 and status = 'running' for no key update`,
        [tx.workspaceId, run.runId, run.generation],
      );
      if (ours.length === 0) return false;
      await noteRun(tx, run.runId, eventType, level, payload);
      return true;
    });
  }

  /**
   * Renews every lease of this boot, expired ones too: as long as nobody has settled the run it is still ours (contract 4).
   * Answers the runs that are ours now; a live one that is missing has been taken away. With each goes what we see of it;
   * of a run without a sighting nothing new is known, and what is known of it grows old.
   */
  async renew({ hostId, bootId, leaseSec }: Owner, seen: readonly Sighting[] = []): Promise<{ runId: string; generation: number }[]> {
    const rows = await this.unitOfWork.statement<{ id: string; generation: number }>(RENEW, [
      hostId,
      bootId,
      leaseSec,
      seen.map(({ runId }) => runId),
      seen.map(({ generation }) => generation),
      seen.map(({ quietMs }) => quietMs),
      seen.map(({ processAlive }) => processAlive),
      seen.map(({ currentTool }) => currentTool),
      seen.map(({ awaitsPermission }) => awaitsPermission),
    ]);
    return rows.map(({ id, generation }) => ({ runId: id, generation }));
  }

  /** Keys of wakes that have been remembered long enough, a batch at a time. */
  async forgetOldKeys(): Promise<void> {
    await this.unitOfWork.statement(
      `delete from wake_keys where (workspace_id, agent_id, key) in (
         select workspace_id, agent_id, key from wake_keys where remembered_until < now() order by remembered_until limit 1000
            for update skip locked)`,
    );
  }

  /** Runs of this boot that somebody wants stopped. */
  async stopsAsked({ hostId, bootId }: Owner): Promise<{ runId: string; generation: number; reason: string }[]> {
    const rows = await this.unitOfWork.read<{ id: string; generation: number; reason: string }>(
      `select id, generation, stop_requested_reason as reason from runs
        where lease_host_id = $1 and lease_boot_id = $2 and status = 'running' and stop_requested_at is not null`,
      [hostId, bootId],
    );
    return rows.map(({ id, generation, reason }) => ({ runId: id, generation, reason }));
  }
}
