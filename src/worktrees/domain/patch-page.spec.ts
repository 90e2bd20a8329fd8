import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isPatchPlace, pageLength, placeKey, readPlace } from './patch-page.js';

const bytes = (text: string): Uint8Array => Buffer.from(text);

describe('a page of a patch', () => {
  it.each([
    ['ab\ncd', false, 3],
    ['ab\ncd', true, 5],
    ['ab\n', false, 3],
    ['abcd', false, 4],
    ['', true, 0],
    ['aé', false, 3],
  ])('of %j (the end: %s) has %i bytes', (text, isEnd, length) => {
    expect(pageLength(bytes(text), isEnd)).toBe(length);
  });

  it('cuts no character of a line that fills it', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', minLength: 4, maxLength: 40 }), fc.nat(), (text, at) => {
        const line = bytes(text.replaceAll('\n', ' '));
        const cut = line.subarray(0, 4 + (at % Math.max(1, line.length - 3)));
        const page = cut.subarray(0, pageLength(cut, false));
        expect(page.length).toBeGreaterThan(0);
        expect(cut.length - page.length).toBeLessThan(4);
        expect(Buffer.from(page).toString('utf8')).not.toContain('\ufffd');
      }),
    );
  });

  it('moves on even where nothing is text', () => {
    expect(pageLength(new Uint8Array([0x80, 0x80, 0x80, 0x80, 0x80]), false)).toBe(5);
    expect(pageLength(new Uint8Array([0xf0]), false)).toBe(1);
  });

  it('is named by what it is a page of', () => {
    const place = { base: 'a'.repeat(40), head: 'b'.repeat(64), offset: 70_000 };
    expect(readPlace(placeKey(place))).toEqual(place);
    expect(isPatchPlace(placeKey(place))).toBe(true);
    for (const key of ['', 'HEAD-main-0', `${'a'.repeat(40)}-${'b'.repeat(40)}--1`, `${'a'.repeat(40)}-${'b'.repeat(40)}-99999999999`]) {
      expect(isPatchPlace(key)).toBe(false);
    }
  });
});
