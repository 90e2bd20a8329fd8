import { describe, expect, it } from 'vitest';
import { cutMiddle, lastBytes, PAYLOAD_CUT } from './cut-text.js';

const bytes = (text: string): number => Buffer.byteLength(text, 'utf8');

describe('lastBytes', () => {
  it.each([
    ['short text as it is', 'abc', 10, 'abc'],
    ['the end', 'abcdef', 3, 'def'],
    ['no half of a two-byte character', 'aéé', 3, 'é'],
    ['no part of a four-byte character', 'a😀', 3, ''],
    ['a whole four-byte character', 'a😀', 4, '😀'],
    ['nothing of no bytes', 'abc', 0, ''],
  ])('keeps %s', (_what, text, limit, kept) => {
    expect(lastBytes(text, limit)).toBe(kept);
  });
});

describe('cutMiddle', () => {
  it('leaves text of exactly the limit alone', () => {
    const text = 'x'.repeat(PAYLOAD_CUT.whole);
    expect(cutMiddle(text, PAYLOAD_CUT)).toBe(text);
  });

  it('keeps the first 512 KiB and the last 64 KiB of a longer one around its full length', () => {
    const cut = cutMiddle(`BEGIN${'x'.repeat(10 * 1024 * 1024)}END`, PAYLOAD_CUT);
    expect(cut.startsWith('BEGIN')).toBe(true);
    expect(cut.endsWith('END')).toBe(true);
    expect(cut).toContain(`\n[… cut, ${10 * 1024 * 1024 + 8} bytes in all …]\n`);
    const [head = '', , tail = ''] = cut.split('\n');
    expect([bytes(head), bytes(tail)]).toEqual([512 * 1024, 64 * 1024]);
  });

  it.each([0, 1, 2, 3])('splits no character at either cut (shifted by %i)', (shift) => {
    const cut = cutMiddle('x'.repeat(shift) + '😀'.repeat(400_000), PAYLOAD_CUT);
    expect(cut.isWellFormed()).toBe(true);
    expect(cut).not.toContain('\uFFFD');
  });

  it('shows NUL and lone surrogates as U+FFFD and leaves pairs, ANSI and right-to-left text alone', () => {
    expect(cutMiddle('a\u0000b\ud800c\udc00d😀\u001b[31mשלום', PAYLOAD_CUT)).toBe('a\uFFFDb\uFFFDc\uFFFDd😀\u001b[31mשלום');
  });
});
