import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { FrameTooLarge, LineSplitter } from './line-splitter.js';

function split(chunks: readonly Buffer[], limit = 1_000): string[] {
  const splitter = new LineSplitter(limit);
  const lines: string[] = [];
  for (const chunk of chunks) {
    splitter.push(chunk);
    for (let line = splitter.next(); line !== null; line = splitter.next()) lines.push(line.toString());
  }
  const rest = splitter.rest();
  return rest === null ? lines : [...lines, rest.toString()];
}

describe('LineSplitter', () => {
  it('gives the same lines however the bytes come', () => {
    const cuts = fc.array(fc.nat(60), { maxLength: 10 });
    fc.assert(
      fc.property(
        fc.array(
          fc.string({ unit: 'binary', maxLength: 20 }).map((text) => text.replaceAll('\n', '')),
          { maxLength: 8 },
        ),
        cuts,
        (lines, places) => {
          const bytes = Buffer.from(lines.map((line) => `${line}\n`).join(''));
          const sorted = [0, ...places.map((place) => Math.min(place, bytes.length)).sort((a, b) => a - b), bytes.length];
          const chunks = sorted.slice(1).map((end, index) => bytes.subarray(sorted[index], end));
          expect(split(chunks)).toEqual(lines.map((line) => Buffer.from(line).toString()));
        },
      ),
    );
  });

  it('gives what stands after the last line end at the end', () => {
    expect(split([Buffer.from('a\nb')])).toEqual(['a', 'b']);
    expect(split([Buffer.from('a\n')])).toEqual(['a']);
  });

  it('refuses a line beyond the limit as soon as it is too long, and takes one of exactly the limit', () => {
    expect(split([Buffer.from('12345\n')], 5)).toEqual(['12345']);
    expect(() => split([Buffer.from('123'), Buffer.from('456')], 5)).toThrow(FrameTooLarge);
    expect(() => split([Buffer.from('123456\n')], 5)).toThrow(FrameTooLarge);
  });

  it('keeps lines that were not asked for', () => {
    const splitter = new LineSplitter(100);
    splitter.push(Buffer.from('a\nb\nc'));
    expect(splitter.next()?.toString()).toBe('a');
    splitter.push(Buffer.from('d\n'));
    expect([splitter.next()?.toString(), splitter.next()?.toString(), splitter.next()]).toEqual(['b', 'cd', null]);
  });
});
