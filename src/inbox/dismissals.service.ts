import { Injectable } from '@nestjs/common';
import type { Tx } from '../platform/database/tx.js';
import { SYSTEM_USER_ID } from '../platform/ids.js';
import { failedTitle, pausedTitle, type ItemKind } from './domain/item-title.js';
import { OPEN_FAILURE } from './open-items.sql.js';

/** A run as it was when its failure went into a pause episode; never recomputed (seed: the list is a snapshot). */
export interface AffectedRun {
  readonly run_id: string;
  readonly task_id: string | null;
  readonly identifier: string | null;
  readonly title: string | null;
}

export interface PauseEpisode {
  readonly id: string;
  readonly agent_id: string;
  readonly agent_name: string;
  readonly failures: number;
  readonly affected: readonly AffectedRun[];
}

export interface DismissedFailure extends AffectedRun {
  readonly agent_id: string;
  readonly agent_name: string;
}

/** Of one agent, or of one of its pairs. */
export interface WhoseFailures {
  readonly agentId: string;
  readonly taskId?: string;
  /** Of a pair without a task. */
  readonly scope?: string;
  /** Left out: a run that has only just failed and whose item never opened. */
  readonly exceptRunId?: string;
}

/** Parts that take items out of the inbox. Whoever dismisses failure items holds the agent's lock (contract 8). */
@Injectable()
export class Dismissals {
  /**
   * Dismisses all open failure items, oldest first, and tells of each. `pauseId`: they went into this pause episode and
   * open again when a person lifts it. Without it the failures are dealt with for good, those that an episode had swallowed
   * included: lifting the pause brings none of them back. `by` defaults to the office itself.
   */
  async dismissFailures(tx: Tx, whose: WhoseFailures, by: { userId?: string; pauseId?: string } = {}): Promise<DismissedFailure[]> {
    const dismissed = await tx.query<DismissedFailure>(
      `with gone as (
         insert into inbox_dismissals (user_id, item_kind, item_id, workspace_id, pause_id)
         select $3, 'agent_run_failed', r.id, r.workspace_id, $4 from runs r
          where r.workspace_id = $1 and r.agent_id = $2 and ($5::uuid is null or r.task_id = $5)
            and ($7::text is null or r.scope = $7) and r.id is distinct from $6::uuid and ${OPEN_FAILURE}
         on conflict do nothing
         returning item_id
       )
       select r.id as run_id, r.agent_id, a.name as agent_name, r.task_id, t.identifier, t.title
         from gone join runs r on r.id = gone.item_id join agent_instances a on a.id = r.agent_id left join tasks t on t.id = r.task_id
        order by r.id`,
      [
        tx.workspaceId,
        whose.agentId,
        by.userId ?? SYSTEM_USER_ID,
        by.pauseId ?? null,
        whose.taskId ?? null,
        whose.exceptRunId ?? null,
        whose.scope ?? null,
      ],
    );
    if (by.pauseId === undefined) await this.leaveEpisode(tx, whose);
    for (const item of dismissed) tellFailure(tx, item, 'resolved');
    return dismissed;
  }

  /** Dismisses one item by its id; false when somebody had done so before. */
  async dismiss(tx: Tx, kind: ItemKind, itemId: string, by: { userId?: string; pauseId?: string } = {}): Promise<boolean> {
    const gone = await tx.query(
      `insert into inbox_dismissals (user_id, item_kind, item_id, workspace_id, pause_id)
       values ($1, $2, $3, $4, $5) on conflict do nothing returning item_id`,
      [by.userId ?? SYSTEM_USER_ID, kind, itemId, tx.workspaceId, by.pauseId ?? null],
    );
    return gone.length === 1;
  }

  /** The item of a pause episode goes, as the office's own doing. Told once. */
  async dismissPause(tx: Tx, pauseId: string): Promise<void> {
    if (!(await this.dismiss(tx, 'agent_paused_after_failures', pauseId))) return;
    const [episode] = await tx.query<PauseEpisode>(
      `select p.id, p.agent_id, a.name as agent_name, p.failures, p.affected
         from agent_pauses p join agent_instances a on a.id = p.agent_id where p.workspace_id = $1 and p.id = $2`,
      [tx.workspaceId, pauseId],
    );
    if (episode !== undefined) tellPause(tx, episode, 'resolved');
  }

  /** A pause episode took over from another: what went into the old one belongs to the new one now. */
  async handOver(tx: Tx, fromPauseId: string, toPauseId: string): Promise<void> {
    await tx.query(`update inbox_dismissals set pause_id = $3 where workspace_id = $1 and pause_id = $2`, [
      tx.workspaceId,
      fromPauseId,
      toPauseId,
    ]);
  }

  /** The failures of a pair leave the agent's open episode: they were dealt with, each by itself. */
  async leaveEpisode(tx: Tx, whose: WhoseFailures): Promise<void> {
    await tx.query(
      `update inbox_dismissals d set pause_id = null
         from agent_instances a, runs r
        where a.workspace_id = $1 and a.id = $2 and d.pause_id = a.current_pause_id and d.item_kind = 'agent_run_failed'
          and r.id = d.item_id and ($3::uuid is null or r.task_id = $3) and ($4::text is null or r.scope = $4)`,
      [tx.workspaceId, whose.agentId, whose.taskId ?? null, whose.scope ?? null],
    );
  }

  /** A person lifted the pause without saying that the cause is gone: the failures in it open again, each by itself. */
  async reopen(tx: Tx, pauseId: string): Promise<void> {
    const reopened = await tx.query<DismissedFailure>(
      `with back as (delete from inbox_dismissals where workspace_id = $1 and pause_id = $2 and item_kind = 'agent_run_failed' returning item_id)
       select r.id as run_id, r.agent_id, a.name as agent_name, r.task_id, t.identifier, t.title
         from back join runs r on r.id = back.item_id join agent_instances a on a.id = r.agent_id left join tasks t on t.id = r.task_id
        order by r.id`,
      [tx.workspaceId, pauseId],
    );
    for (const item of reopened) tellFailure(tx, item, 'opened');
  }
}

export function tellFailure(tx: Tx, item: DismissedFailure, change: 'opened' | 'resolved'): void {
  const task = item.identifier === null ? null : { identifier: item.identifier, title: item.title ?? '' };
  tx.emit('office.inbox_item', {
    kind: 'agent_run_failed',
    item_id: item.run_id,
    agent_id: item.agent_id,
    ...(item.task_id === null ? {} : { task_ids: [item.task_id] }),
    title: failedTitle(item.agent_name, task),
    change,
  });
}

export function tellPause(tx: Tx, episode: PauseEpisode, change: 'opened' | 'resolved'): void {
  const taskIds = unique(episode.affected.map(({ task_id }) => task_id));
  tx.emit('office.inbox_item', {
    kind: 'agent_paused_after_failures',
    item_id: episode.id,
    agent_id: episode.agent_id,
    ...(taskIds.length === 0 ? {} : { task_ids: taskIds }),
    title: pausedTitle(episode.agent_name, episode.failures, unique(episode.affected.map(({ identifier }) => identifier))),
    change,
  });
}

const unique = (names: readonly (string | null)[]): string[] => [...new Set(names.filter((name) => name !== null))];
