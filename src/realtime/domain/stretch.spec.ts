import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isLost, meet } from './stretch.js';

describe('meet', () => {
  it.each([
    { at: 5, after: 5, upTo: 9, how: 'next', why: 'it ends where the stretch begins' },
    { at: 7, after: 5, upTo: 9, how: 'next', why: 'it has the first part already' },
    { at: 9, after: 5, upTo: 9, how: 'known', why: 'it has all of it' },
    { at: 12, after: 5, upTo: 9, how: 'known', why: 'it has more' },
    { at: 4, after: 5, upTo: 9, how: 'gap', why: '5 would be skipped' },
    { at: 0, after: 5, upTo: 9, how: 'gap', why: 'the beginning would be skipped' },
    { at: 5, after: 5, upTo: 5, how: 'known', why: 'the stretch is empty' },
    { at: 4, after: 5, upTo: 5, how: 'gap', why: 'the stretch is empty and lies further on' },
    { at: 0, after: 0, upTo: 0, how: 'known', why: 'there is nothing at all' },
  ])('of a reader at $at and ($after, $upTo] is $how: $why', ({ at, after, upTo, how }) => {
    expect(meet(at, { after, upTo })).toBe(how);
  });

  /**
   * The whole argument in small: writers append, one reader reads for all who are live, others read for themselves, all at
   * moments of their own and with reads that answer late. Whoever follows `meet` ends with 1, 2, 3, ... and nothing twice.
   */
  it('leaves no gap and no repeat, however reads and joins fall', () => {
    const step = fc.constantFrom(
      'append',
      'feed reads',
      'feed delivers',
      'joiner reads',
      'joiner delivers',
      'falls behind',
      'others leave',
      'others come',
      'joins anywhere',
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 200, size: 'max' }), fc.integer({ min: 1, max: 5 }), (steps, pageSize) => {
        let last = 0;
        let tail = 0;
        let othersAreLive = false;
        let feedPage: { after: number; upTo: number } | null = null;
        let ownPage: { after: number; upTo: number } | null = null;
        const reader = { at: 0, live: false, got: [] as number[] };
        const take = ({ after, upTo }: { after: number; upTo: number }): void => {
          for (let seq = Math.max(reader.at, after) + 1; seq <= upTo; seq++) reader.got.push(seq);
          reader.at = Math.max(reader.at, upTo);
        };
        const read = (after: number) => ({ after, upTo: Math.min(last, after + pageSize) });
        const run = (what: string): void => {
          if (what === 'append') last++;
          if (what === 'feed reads') feedPage ??= read(tail);
          if (what === 'feed delivers' && feedPage) {
            tail = feedPage.upTo;
            const how = reader.live ? meet(reader.at, feedPage) : 'known';
            if (how === 'gap') reader.live = false;
            if (how === 'next') take(feedPage);
            feedPage = null;
          }
          if (what === 'falls behind') reader.live = false;
          // Nobody does that; even so nothing may be lost.
          if (what === 'joins anywhere') reader.live = true;
          if (what === 'others leave') othersAreLive = false;
          if (what === 'others come') othersAreLive = true;
          if (what === 'joiner reads' && !reader.live) ownPage ??= read(reader.at);
          if (what === 'joiner delivers' && ownPage) {
            if (!reader.live && meet(reader.at, ownPage) === 'next') take(ownPage);
            if (!reader.live && !othersAreLive) tail = reader.at;
            reader.live ||= reader.at >= tail;
            ownPage = null;
          }
          expect(reader.got).toEqual(Array.from({ length: reader.at }, (_, index) => index + 1));
        };
        steps.forEach(run);
        for (let rounds = 0; rounds < 2 * last + 10; rounds++)
          ['joiner reads', 'joiner delivers', 'feed reads', 'feed delivers'].forEach(run);
        expect(reader.at).toBe(last);
      }),
      { numRuns: 300 },
    );
  });
});

describe('isLost', () => {
  it.each([
    { at: 0, oldest: 1, last: 0, lost: false, why: 'nothing has happened yet' },
    { at: 0, oldest: 1, last: 7, lost: false, why: 'all is kept' },
    { at: 3, oldest: 4, last: 7, lost: false, why: 'the next is the oldest kept' },
    { at: 2, oldest: 4, last: 7, lost: true, why: '3 was pruned' },
    { at: 7, oldest: 8, last: 7, lost: false, why: 'it has the newest, and none is kept' },
    { at: 6, oldest: 8, last: 7, lost: true, why: '7 was pruned' },
    { at: 8, oldest: 1, last: 7, lost: true, why: 'there has never been an 8: an older database was restored' },
  ])('of $at in [$oldest, $last] is $lost: $why', ({ at, oldest, last, lost }) => {
    expect(isLost(at, { oldest, last })).toBe(lost);
  });
});
