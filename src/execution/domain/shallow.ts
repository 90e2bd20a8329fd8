/** Deeper than any real update; far shallower than what breaks `JSON.stringify` and every other recursive reader. */
const MAX_DEPTH = 64;
export const TOO_DEEP = '[nested too deeply]';

/** The value itself when it nests at most 64 deep, else a copy in which everything deeper is replaced by a remark. */
export function shallow(value: unknown): unknown {
  return isShallow(value, 0) ? value : pruned(value, 0);
}

function isShallow(value: unknown, depth: number): boolean {
  if (typeof value !== 'object' || value === null) return true;
  if (depth === MAX_DEPTH) return false;
  return Object.values(value).every((inner) => isShallow(inner, depth + 1));
}

function pruned(value: unknown, depth: number): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (depth === MAX_DEPTH) return TOO_DEEP;
  if (Array.isArray(value)) return value.map((inner) => pruned(inner, depth + 1));
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, pruned(inner, depth + 1)]));
}
