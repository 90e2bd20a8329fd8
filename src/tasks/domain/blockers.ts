/** Each once: the same id in other letters is the same id. */
export const distinctIds = (ids: readonly string[]): string[] => [...new Set(ids.map((id) => id.toLowerCase()))];

/** `taskId` waits for `blockerId`. */
export interface Wait {
  readonly taskId: string;
  readonly blockerId: string;
}

/**
 * The shortest way by which a task would wait for itself if it waited for these blockers too: its own id, the blocker,
 * …, its own id again. Null when there is none. `waits` are the waits there are upstream of the blockers.
 */
export function cyclePath(taskId: string, blockers: readonly string[], waits: readonly Wait[]): string[] | null {
  const blockersOf = new Map<string, string[]>();
  for (const wait of waits) {
    const known = blockersOf.get(wait.taskId);
    if (known) known.push(wait.blockerId);
    else blockersOf.set(wait.taskId, [wait.blockerId]);
  }
  const reachedFrom = new Map<string, string>();
  const queue = blockers.map((blockerId) => ({ id: blockerId, from: taskId }));
  for (const { id, from } of queue) {
    if (id === taskId) return [...pathTo(from, taskId, reachedFrom), taskId];
    if (reachedFrom.has(id)) continue;
    reachedFrom.set(id, from);
    for (const next of blockersOf.get(id) ?? []) queue.push({ id: next, from: id });
  }
  return null;
}

function pathTo(id: string, start: string, reachedFrom: ReadonlyMap<string, string>): string[] {
  const path = [id];
  for (let at = id; at !== start; path.unshift(at)) at = reachedFrom.get(at)!;
  return path;
}
