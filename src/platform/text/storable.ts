/** PostgreSQL takes neither U+0000 nor lone surrogates; the reader sees U+FFFD where they stood (contract 7). */
export const storableText = (text: string): string => text.replaceAll('\u0000', '\uFFFD').toWellFormed();

/** JSON that a jsonb column always takes, keys included. */
export const storableJson = (value: unknown): string =>
  JSON.stringify(value, (_key, part: unknown) => {
    if (typeof part === 'string') return storableText(part);
    if (part === null || typeof part !== 'object' || Array.isArray(part)) return part;
    const names = Object.keys(part);
    if (names.every((name) => storableText(name) === name)) return part;
    return Object.fromEntries(Object.entries(part).map(([name, inner]) => [storableText(name), inner as unknown]));
  });

/** The longest prefix of at most `bytes` bytes of UTF-8 that splits no character. */
export function cutBytes(text: string, bytes: number): string {
  if (text.length * 3 <= bytes) return text;
  const encoded = Buffer.from(text, 'utf8');
  if (encoded.length <= bytes) return text;
  let end = bytes;
  while (end > 0 && (encoded[end]! & 0xc0) === 0x80) end--;
  return encoded.toString('utf8', 0, end);
}
