/** Members of a closed vocabulary as the inside of an SQL `in (...)`. For constants of ours only, never for what came from outside. */
export function sqlList(words: readonly string[]): string {
  if (!words.every((word) => /^[A-Za-z_]+$/.test(word))) throw new Error('only plain words');
  return words.map((word) => `'${word}'`).join(', ');
}
