import { describe, expect, it } from 'vitest';
import { CappedText } from './capped-text.js';

const CUT = { whole: 64, head: 32, tail: 16 };

describe('a capped text', () => {
  it('is whole up to its limit', () => {
    const text = new CappedText(CUT);
    text.append('a'.repeat(64));
    expect(text.show()).toEqual({ body: 'a'.repeat(64), bytes: 64, truncated: false });
    expect(text.show('b')).toMatchObject({ bytes: 65, truncated: true });
  });

  it.each(['a', 'é', '한', '😀', '\u001b[31mred\u001b[0m', 'שלום'])('splits no %j at any length, in pieces or at once', (unit) => {
    for (let length = 1; length < 120; length++) {
      const whole = `${'x'.repeat(length % 5)}${unit.repeat(length)}`;
      const [pieces, once] = [new CappedText(CUT), new CappedText(CUT)];
      for (const character of whole) pieces.append(character);
      once.append(whole);
      expect(pieces.show()).toEqual(once.show());
      const { body, bytes, truncated } = once.show();
      expect(bytes).toBe(Buffer.byteLength(whole));
      expect(body.isWellFormed()).toBe(true);
      expect(body).not.toContain('\uFFFD');
      if (!truncated) continue;
      const [head = '', tail = ''] = body.split(`\n[… cut, ${bytes} bytes in all …]\n`);
      expect(whole.startsWith(head) && whole.endsWith(tail)).toBe(true);
      expect(Buffer.byteLength(head)).toBeGreaterThan(CUT.head - 4);
      expect(Buffer.byteLength(tail)).toBeGreaterThan(CUT.tail - 4);
    }
  });
});
