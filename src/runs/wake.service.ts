import { Injectable } from '@nestjs/common';
import { THE_SYSTEM, type Actor } from '../platform/actor.js';
import type { Tx } from '../platform/database/tx.js';
import { newId } from '../platform/ids.js';
import { storableText } from '../platform/text/storable.js';
import { breakerOpenSql } from './breaker.sql.js';
import { classOf, rankOf, type WakeReason } from './domain/wake-reason.js';
import { judgeWake, type WakeRefusal, type WakeSituation } from './domain/wake-verdict.js';

export interface Wake {
  readonly agentId: string;
  /** A task, or for taskless work a scope: `approval:<id>`, `routine:<id>`, `manual`. */
  readonly on: { readonly taskId: string } | { readonly scope: string };
  readonly reason: WakeReason;
  readonly actor: Actor;
  readonly note?: string | undefined;
  /** The same key of the same agent within 24 hours is the same wake. */
  readonly key?: string | undefined;
  /** The run that led to this wake; an acting agent's own run unless said otherwise. */
  readonly causedByRunId?: string | undefined;
}

/** What became of a wake. `deduplicated`: this very wake had been taken before, as run `runId`. */
export type WakeAnswer =
  | { readonly outcome: 'queued' | 'coalesced' | 'deduplicated'; readonly runId: string }
  | { readonly outcome: 'refused'; readonly refusedReason: WakeRefusal };

/** A wake as it was stored to be placed later. */
interface StoredWake {
  id: string;
  agent_id: string;
  task_id: string | null;
  scope: string | null;
  reason: WakeReason;
  actor_kind: Actor['kind'];
  actor_id: string | null;
  note: string | null;
  idempotency_key: string | null;
  causation_id: string | null;
}

interface Facts {
  lifecycle: Exclude<WakeSituation['lifecycle'], null>;
  parent_depth: number | null;
  paused: boolean;
  task_found: boolean;
  task_over: boolean;
  is_assignee: boolean;
  breaker_open: boolean;
}

/**
 * The one seam through which every agent is woken; nothing else inserts a run (contract 3). Always within the
 * transaction of whatever caused the wake, so that a change and its wake are committed together or not at all.
 */
@Injectable()
export class WakeService {
  async wake(tx: Tx, wake: Wake): Promise<WakeAnswer> {
    const { depth, answer } = await this.decide(tx, wake);
    // Without an agent, or a task, of this workspace there is nothing that the request could be kept beside.
    const homeless =
      answer.outcome === 'refused' && (answer.refusedReason === 'agent_not_found' || answer.refusedReason === 'task_not_found');
    if (!homeless) await this.record(tx, wake, depth, answer);
    return answer;
  }

  /** Stores a wake with the change that causes it, to be placed in a transaction of its own (`placeStored`). Agent and task must exist. */
  store(tx: Tx, wake: Wake): Promise<void> {
    return this.record(tx, wake, 0, { outcome: 'pending' });
  }

  /** Places a stored wake. Null: somebody else has, or is about to. */
  async placeStored(tx: Tx, requestId: string): Promise<WakeAnswer | null> {
    const [stored] = await tx.query<StoredWake>(
      `select id, agent_id, task_id, scope, reason, actor_kind, actor_id, note, idempotency_key, causation_id from wake_requests
        where workspace_id = $1 and id = $2 and outcome = 'pending' for update skip locked`,
      [tx.workspaceId, requestId],
    );
    if (stored === undefined) return null;
    const { depth, answer } = await this.decide(tx, wakeFrom(stored));
    const refused = answer.outcome === 'refused';
    await tx.query(
      `update wake_requests set outcome = $3, refused_reason = $4, run_id = $5, depth = $6 where workspace_id = $1 and id = $2`,
      [tx.workspaceId, requestId, answer.outcome, refused ? answer.refusedReason : null, refused ? null : answer.runId, depth],
    );
    return answer;
  }

  private async decide(tx: Tx, wake: Wake): Promise<{ depth: number; answer: WakeAnswer }> {
    const { facts, depth, refusal } = await this.judge(tx, wake, 'hold');
    if (refusal !== null) return { depth, answer: { outcome: 'refused', refusedReason: refusal } };
    if (wake.key !== undefined && !(await this.takeKey(tx, wake, wake.key))) {
      return { depth, answer: { outcome: 'deduplicated', runId: await this.runOfKey(tx, wake, wake.key) } };
    }
    const placed = await this.place(tx, wake, depth, facts!);
    if (wake.key !== undefined) await this.fillKey(tx, wake, wake.key, placed.runId);
    tx.nudge('work');
    return { depth, answer: placed };
  }

  /** Whether `wake` would be taken now, for what must not happen beside a refused one. Locks nothing: sessions come before agents. */
  async wouldTake(tx: Tx, wake: Wake): Promise<boolean> {
    return (await this.judge(tx, wake, 'look')).refusal === null;
  }

  private async judge(
    tx: Tx,
    wake: Wake,
    how: 'look' | 'hold',
  ): Promise<{ facts: Facts | undefined; depth: number; refusal: WakeRefusal | null }> {
    const facts = await this.factsOf(tx, wake, how);
    const depth = facts?.parent_depth == null ? 0 : facts.parent_depth + 1;
    const refusal = judgeWake({
      lifecycle: facts?.lifecycle ?? null,
      task: 'taskId' in wake.on ? { found: facts?.task_found ?? false, over: facts?.task_over ?? false } : null,
      depth,
      breakerOpen: facts?.breaker_open === true && classOf(wake.reason, wake.actor) !== 'human',
    });
    return { facts, depth, refusal };
  }

  /**
   * FOR SHARE on the agent, which claims and settlements hold more firmly: a wake and a claim of the same agent happen one
   * after the other, so that no wake joins a run whose prompt has been written already; and an agent that is being
   * archived either sees this wake's run or refuses it.
   */
  private async factsOf(tx: Tx, wake: Wake, how: 'look' | 'hold'): Promise<Facts | undefined> {
    const { agentId, on } = wake;
    const [facts] = await tx.prepared<Facts>(
      `select a.lifecycle, a.pause_reason is not null as paused,
              t.id is not null and t.deleted_at is null as task_found,
              coalesce(t.state in ('DONE', 'CANCELLED') or t.archived_at is not null, false) as task_over,
              coalesce(t.assignee_agent_instance_id = a.id, false) as is_assignee,
              (select p.depth from runs p where p.workspace_id = a.workspace_id and p.id = $4) as parent_depth,
              ${breakerOpenSql({ agentId: 'a.id', taskId: '$3', scope: '$5' })} as breaker_open
         from agent_instances a
         left join tasks t on t.workspace_id = a.workspace_id and t.id = $3
        where a.workspace_id = $1 and a.id = $2
          ${how === 'hold' ? 'for share of a' : ''}`,
      [tx.workspaceId, agentId, 'taskId' in on ? on.taskId : null, causeOf(wake), 'scope' in on ? on.scope : null],
    );
    return facts;
  }

  private async place(tx: Tx, wake: Wake, depth: number, facts: Facts): Promise<{ outcome: 'queued' | 'coalesced'; runId: string }> {
    for (let attempt = 0; attempt < 10; attempt++) {
      const queued = await this.queue(tx, wake, depth, entitlementOf(wake, facts));
      if (queued !== null) {
        tx.emit('office.wakeup.updated', {
          wakeup_id: queued,
          agent_id: wake.agentId,
          ...('taskId' in wake.on ? { task_id: wake.on.taskId } : {}),
          status: 'queued',
          ...(facts.paused ? { waiting_on: 'agent_paused' } : {}),
        });
        return { outcome: 'queued', runId: queued };
      }
      const joined = await this.join(tx, wake);
      if (joined !== null) return { outcome: 'coalesced', runId: joined };
      // The waiting run was claimed or cancelled between the two statements: there is room for a new one now.
    }
    throw new Error('a wake found neither a run to join nor room for a new one');
  }

  /** Waits for a claim of the pair's waiting run that is about to commit; null when a run still waits. */
  private async queue(tx: Tx, wake: Wake, depth: number, entitlement: 'assignee' | 'seat' | 'none'): Promise<string | null> {
    const { agentId, on, reason, actor, note } = wake;
    const id = newId();
    const inserted = await tx.prepared(
      `insert into runs (id, workspace_id, agent_id, task_id, scope, reason, note, wake_class, entitlement,
                         causation_id, parent_run_id, depth, requested_at, due_at)
       values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $10, $11, clock_timestamp(), clock_timestamp())
       on conflict do nothing returning id`,
      [
        id,
        tx.workspaceId,
        agentId,
        'taskId' in on ? on.taskId : null,
        'scope' in on ? on.scope : null,
        reason,
        note === undefined ? null : storableText(note),
        rankOf(classOf(reason, actor)),
        entitlement,
        causeOf(wake),
        depth,
      ],
    );
    return inserted.length === 1 ? id : null;
  }

  /** A joined run changes only where this wake is more urgent: it goes by the highest class of its wakes, and a person's is due now. */
  private async join(tx: Tx, { agentId, on, reason, actor }: Wake): Promise<string | null> {
    const rank = rankOf(classOf(reason, actor));
    const [run] = await tx.query<{ id: string; wake_class: number }>(
      `select id, wake_class from runs
        where workspace_id = $1 and agent_id = $2 and status in ('queued', 'scheduled_retry') and (task_id = $3 or scope = $4)`,
      [tx.workspaceId, agentId, 'taskId' in on ? on.taskId : null, 'scope' in on ? on.scope : null],
    );
    if (run === undefined || (rank > 0 && run.wake_class <= rank)) return run?.id ?? null;
    const [raised] = await tx.query<{ id: string }>(
      `update runs set wake_class = least(wake_class, $3), due_at = case when $3 = 0 then least(due_at, now()) else due_at end
        where workspace_id = $1 and id = $2 and status in ('queued', 'scheduled_retry') returning id`,
      [tx.workspaceId, run.id, rank],
    );
    return raised?.id ?? null;
  }

  private async takeKey(tx: Tx, { agentId }: Wake, key: string): Promise<boolean> {
    const taken = await tx.query(
      `insert into wake_keys (workspace_id, agent_id, key, remembered_until)
       values ($1, $2, $3, now() + interval '24 hours')
       on conflict (workspace_id, agent_id, key) do update
         set remembered_until = excluded.remembered_until, run_id = null where wake_keys.remembered_until <= now()
       returning key`,
      [tx.workspaceId, agentId, key],
    );
    return taken.length === 1;
  }

  private async runOfKey(tx: Tx, { agentId }: Wake, key: string): Promise<string> {
    const [known] = await tx.query<{ run_id: string }>(
      `select run_id from wake_keys where workspace_id = $1 and agent_id = $2 and key = $3`,
      [tx.workspaceId, agentId, key],
    );
    return known!.run_id;
  }

  private async fillKey(tx: Tx, { agentId }: Wake, key: string, runId: string): Promise<void> {
    await tx.query(`update wake_keys set run_id = $4 where workspace_id = $1 and agent_id = $2 and key = $3`, [
      tx.workspaceId,
      agentId,
      key,
      runId,
    ]);
  }

  private async record(tx: Tx, wake: Wake, depth: number, became: WakeAnswer | { readonly outcome: 'pending' }): Promise<void> {
    const { agentId, on, reason, actor, note, key } = wake;
    await tx.prepared(
      `insert into wake_requests (id, workspace_id, agent_id, task_id, scope, reason, wake_class, actor_kind, actor_id, note,
                                  idempotency_key, causation_id, depth, outcome, refused_reason, run_id, requested_at)
       values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, clock_timestamp())`,
      [
        newId(),
        tx.workspaceId,
        agentId,
        'taskId' in on ? on.taskId : null,
        'scope' in on ? on.scope : null,
        reason,
        rankOf(classOf(reason, actor)),
        actor.kind,
        actor.id,
        note === undefined ? null : storableText(note),
        key ?? null,
        causeOf(wake),
        depth,
        became.outcome,
        became.outcome === 'refused' ? became.refusedReason : null,
        'runId' in became ? became.runId : null,
      ],
    );
  }
}

/** What gives the run its right to be there, and so what may lapse (contract 8). */
function entitlementOf({ reason }: Wake, { is_assignee }: Facts): 'assignee' | 'seat' | 'none' {
  if (reason === 'task_review_requested') return 'seat';
  return is_assignee ? 'assignee' : 'none';
}

const causeOf = ({ causedByRunId, actor }: Wake): string | null => causedByRunId ?? (actor.kind === 'agent' ? actor.runId : null);

function wakeFrom(stored: StoredWake): Wake {
  const { actor_kind, actor_id, task_id, scope } = stored;
  // An agent's own wakes are never stored: they are placed in the transaction of what the agent did.
  const actor: Actor = actor_kind === 'user' ? { kind: 'user', id: actor_id! } : THE_SYSTEM;
  return {
    agentId: stored.agent_id,
    on: task_id === null ? { scope: scope! } : { taskId: task_id },
    reason: stored.reason,
    actor,
    note: stored.note ?? undefined,
    key: stored.idempotency_key ?? undefined,
    causedByRunId: stored.causation_id ?? undefined,
  };
}
