/** Facts about parsed JSON. The body parser has bounded its depth, so walking it may recurse. */

export const isPlainObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** True when PostgreSQL could store every string in it, keys included, and give it back unchanged. */
export function isStorable(value: unknown): boolean {
  if (typeof value === 'string') return !value.includes('\u0000') && value.isWellFormed();
  if (Array.isArray(value)) return value.every(isStorable);
  if (isPlainObject(value)) return Object.entries(value).every(([key, part]) => isStorable(key) && isStorable(part));
  return true;
}

/**
 * A key that objects have by birth (`hasOwnProperty`, `toString`, ...) and that the validator's own lookups would
 * therefore take for a known field, or skip.
 */
export const strangeKey = (value: object): string | undefined =>
  Object.keys(value).find((key) => key in Object.prototype || key === 'prototype');
