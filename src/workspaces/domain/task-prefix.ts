const LENGTH = 3;

/**
 * The prefix of a workspace's task numbers when nobody chose one: initials of a name of several words, else its first
 * letters, `TASK` when it has none of the Latin alphabet.
 */
export function taskPrefixFor(name: string): string {
  const words = name
    .normalize('NFD')
    .toUpperCase()
    .split(/[^\p{L}\p{N}\p{M}]+/u)
    .map((word) => word.replaceAll(/[^A-Z0-9]/g, ''))
    .filter((word) => /^[A-Z]/.test(word));
  const [first = ''] = words;
  const letters = words.length > 1 ? words.map((word) => word[0]).join('') : first;
  return letters.slice(0, LENGTH) || 'TASK';
}
