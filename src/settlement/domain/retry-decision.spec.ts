import { describe, expect, it } from 'vitest';
import { decideRetry, type RetryQuestion } from './retry-decision.js';

const DELAYS = { postStart: [5, 10], preLaunch: [120, 600, 1_800] };
const HOUR = 3_600;
const nothing = { phase: 'prompt', outputSeen: false, effectSeen: false } as const;
const asked = (about: Partial<RetryQuestion> = {}): RetryQuestion => ({
  retryable: true,
  agrees: true,
  identity: { run: true, generation: true, session: true, execution: true },
  evidence: nothing,
  retryCount: 0,
  ageSec: 60,
  ...about,
});
const decide = (about: Partial<RetryQuestion>, chance = 0) => decideRetry(asked(about), DELAYS, chance);

describe('the automatic retry after the start (001.11)', () => {
  it('holds back 5 s, then 10 s, then no more', () => {
    expect([0, 1, 2].map((retryCount) => decide({ retryCount }))).toEqual([
      { retry: true, delaySec: 5 },
      { retry: true, delaySec: 10 },
      { retry: false, because: 'retries_spent' },
    ]);
  });

  it('happens in exactly one row of the truth table', () => {
    const both = [true, false];
    const allowed: unknown[] = [];
    let rows = 0;
    for (const retryable of both)
      for (const agrees of both)
        for (const known of both)
          for (const outputSeen of both)
            for (const effectSeen of both)
              for (const run of both)
                for (const generation of both)
                  for (const session of both)
                    for (const execution of both)
                      for (const retryCount of [0, 1, 2])
                        for (const ageSec of [0, 2 * HOUR - 5, 2 * HOUR + 5, 24 * HOUR]) {
                          rows++;
                          const evidence = known ? { phase: 'prompt' as const, outputSeen, effectSeen } : null;
                          const decision = decide({
                            retryable,
                            agrees,
                            evidence,
                            identity: { run, generation, session, execution },
                            retryCount,
                            ageSec,
                          });
                          const may =
                            retryable && agrees && known && !outputSeen && !effectSeen && run && generation && session && execution;
                          const delay = [5, 10][retryCount];
                          const expected = may && delay !== undefined && ageSec + delay <= 2 * HOUR;
                          expect(decision.retry).toBe(expected);
                          if (decision.retry) allowed.push([retryCount, ageSec, decision.delaySec]);
                        }
    expect(rows).toBe(6_144);
    expect(allowed).toEqual([
      [0, 0, 5],
      [0, 2 * HOUR - 5, 5],
      [1, 0, 10],
    ]);
  });

  it.each([
    ['class', { retryable: false }, 'not_transient'],
    ['run id', { identity: { run: false, generation: true, session: true, execution: true } }, 'identity_mismatch'],
    ['generation', { identity: { run: true, generation: false, session: true, execution: true } }, 'identity_mismatch'],
    ['session id', { identity: { run: true, generation: true, session: false, execution: true } }, 'identity_mismatch'],
    ['execution id', { identity: { run: true, generation: true, session: true, execution: false } }, 'identity_mismatch'],
    ['unknown evidence', { evidence: null }, 'evidence_unknown'],
    ['a diagnosis that does not agree', { agrees: false }, 'diagnosis_mismatch'],
    ['output', { evidence: { ...nothing, outputSeen: true } }, 'output_seen'],
    ['an effect', { evidence: { ...nothing, effectSeen: true } }, 'effect_seen'],
    ['24 hours', { ageSec: 24 * HOUR }, 'too_old'],
    ['an arrival past 2 hours', { ageSec: 2 * HOUR - 4 }, 'too_old'],
  ] as const)('is refused for %s', (_what, about, because) => {
    expect(decide(about)).toEqual({ retry: false, because });
  });

  it('is still due exactly at 2 hours', () => {
    expect(decide({ ageSec: 2 * HOUR - 5 })).toEqual({ retry: true, delaySec: 5 });
  });
});

describe.each(['spawn', 'initialize', 'session'] as const)('the automatic retry of a launch that failed at %s', (phase) => {
  const evidence = { ...nothing, phase };

  it('waits 2, 10 and 30 minutes and up to a quarter more', () => {
    expect([0, 1, 2, 3].map((retryCount) => decide({ evidence, retryCount }))).toEqual([
      { retry: true, delaySec: 120 },
      { retry: true, delaySec: 600 },
      { retry: true, delaySec: 1_800 },
      { retry: false, because: 'retries_spent' },
    ]);
    expect(decide({ evidence }, 1)).toEqual({ retry: true, delaySec: 150 });
  });

  it('leaves one retry fewer for after the launch', () => {
    expect(decide({ retryCount: 1 })).toEqual({ retry: true, delaySec: 10 });
    expect(decide({ retryCount: 2 })).toEqual({ retry: false, because: 'retries_spent' });
    expect(decide({ retryCount: 3 })).toEqual({ retry: false, because: 'retries_spent' });
  });

  it('has no output gate, but every other one', () => {
    expect(decide({ evidence: { ...evidence, outputSeen: true } }).retry).toBe(true);
    expect(decide({ evidence, retryable: false }).retry).toBe(false);
    expect(decide({ evidence, agrees: false }).retry).toBe(false);
    expect(decide({ evidence, ageSec: 2 * HOUR - 119 })).toEqual({ retry: false, because: 'too_old' });
    expect(decide({ evidence, ageSec: 2 * HOUR - 120 }).retry).toBe(true);
  });
});
