import { describe, expect, it } from 'vitest';
import { ByteTail } from './byte-tail.js';

describe('ByteTail', () => {
  it('keeps the end, whatever the chunks', () => {
    const tail = new ByteTail(10);
    for (const text of ['abc', 'defg', '', 'hijklmno', 'p']) tail.push(Buffer.from(text));
    expect(tail.text).toBe('ghijklmnop');
    tail.push(Buffer.from('x'.repeat(1_000)));
    expect(tail.text).toBe('x'.repeat(10));
  });

  it('stays small and quick under many tiny chunks', () => {
    const tail = new ByteTail(65_536);
    for (let count = 0; count < 200_000; count++) tail.push(Buffer.from('1234'));
    expect(tail.text).toHaveLength(65_536);
  });

  it('begins with a whole character and is storable', () => {
    const tail = new ByteTail(4);
    tail.push(Buffer.from('aé\u0000b'));
    expect(tail.text).toBe('\uFFFDb');
    tail.push(Buffer.from('éé'));
    tail.push(Buffer.from('c'));
    expect(tail.text).toBe('éc');
    const raw = new ByteTail(20);
    raw.push(Buffer.from([0x61, 0xff, 0xed, 0xa0, 0x80, 0x62]));
    expect(raw.text).toMatch(/^a\uFFFD+b$/);
  });
});
