import type { ItemKind } from '../inbox/domain/item-title.js';
import type { Tx } from '../platform/database/tx.js';
import type { Skip } from './domain/skip.js';
import { keyOf, pairOf, taskOf, type Held } from './pair-locks.js';
import type { FailedPair, PairRecovery } from './pair-recovery.service.js';

/** What a press of Mark fixed did; the desk adds what the runs wait for. */
export interface Fixed {
  readonly already: boolean;
  readonly queued: readonly { readonly runId: string; readonly taskId: string | null; readonly agentId: string }[];
  readonly skipped: readonly { readonly taskId: string | null; readonly agentId: string; readonly why: Skip }[];
}

export const ALREADY: Fixed = { already: true, queued: [], skipped: [] };

/** Mark fixed of one kind of item. Within the caller's transaction, safe to repeat. */
export interface Fixing {
  readonly kind: ItemKind;
  fix(tx: Tx, itemId: string, userId: string): Promise<Fixed>;
}

/** The runs an item is about, as they stand in the table, each pair once: of two runs of a pair the later speaks for it. */
export async function failedPairsOf(tx: Tx, runIds: readonly string[]): Promise<FailedPair[]> {
  const runs = await tx.query<{
    agent_id: string;
    task_id: string | null;
    scope: string | null;
    entitlement: FailedPair['entitlement'];
    session_id: string | null;
  }>(`select agent_id, task_id, scope, entitlement, session_id from runs where workspace_id = $1 and id = any($2::uuid[]) order by id`, [
    tx.workspaceId,
    runIds,
  ]);
  const pairs = new Map<string, FailedPair>();
  for (const run of runs) {
    const pair = pairOf(run);
    pairs.set(keyOf(pair), { pair, entitlement: run.entitlement, sessionId: run.task_id === null ? run.session_id : null });
  }
  return [...pairs.values()];
}

/** Every pair that `skip` does not excuse is revived; what became of each. */
export async function reviveAll(
  tx: Tx,
  recovery: PairRecovery,
  held: Held,
  failed: readonly FailedPair[],
  userId: string,
  skip: (pair: FailedPair) => Skip | null = () => null,
): Promise<Fixed> {
  const queued: Fixed['queued'][number][] = [];
  const skipped: Fixed['skipped'][number][] = [];
  for (const one of failed) {
    const names = { taskId: taskOf(one.pair), agentId: one.pair.agentId };
    const excuse = skip(one);
    const revival =
      excuse === null ? await recovery.revive(tx, held, one, userId, 'manual_resume_after_failure') : ({ skipped: excuse } as const);
    if ('runId' in revival) queued.push({ ...names, runId: revival.runId });
    else skipped.push({ ...names, why: revival.skipped });
  }
  return { already: false, queued, skipped };
}
