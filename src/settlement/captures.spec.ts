import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { diagnose } from '../diagnosis/domain/diagnose.js';
import { claude } from '../execution/adapters/claude.js';
import { codex } from '../execution/adapters/codex.js';
import { copilot } from '../execution/adapters/copilot.js';
import { auggie, gemini, opencode } from '../execution/adapters/other-agents.js';
import { TurnRecord } from '../execution/domain/turn-record.js';
import { judgeTurn } from '../execution/domain/turn-verdict.js';
import { decideRetry } from './domain/retry-decision.js';

/** What real agents sent from a prompt (or a session that never came) to its answer, over a model server that fails. */
interface Capture {
  readonly capture: string;
  readonly adapter: string;
  readonly phase: 'session' | 'prompt';
  readonly updates: readonly Record<string, unknown>[];
  readonly answer: { readonly error?: unknown; readonly result?: Record<string, unknown> };
  readonly stderr: string;
}

const captures = readFileSync('test/fixtures/acp-failures.jsonl', 'utf8')
  .trim()
  .split('\n')
  .map((line) => JSON.parse(line) as Capture);
const profiles = new Map([claude, codex, copilot, gemini, opencode, auggie].map((profile) => [profile.id, profile]));

/** The way of a failure through the execution, the diagnosis and the retry decision. */
function follow({ adapter, phase, updates, answer, stderr }: Capture) {
  const profile = profiles.get(adapter)!;
  const turn = new TurnRecord(profile.notices);
  for (const update of updates) turn.take(update, JSON.stringify(update).length);
  const line = JSON.stringify(answer);
  const verdict = judgeTurn(
    answer.error === undefined ? { kind: 'result', value: answer.result!, line } : { kind: 'error', raw: JSON.stringify(answer.error) },
    turn,
    profile,
  );
  if (verdict.kind === 'ended') return { failed: false } as const;
  const evidence = { phase, outputSeen: turn.outputSeen(verdict.excused), effectSeen: turn.effectSeen };
  const found = diagnose({ provider: adapter, payload: verdict.payload, record: verdict.record?.fields ?? null, stderrTail: stderr }, 0);
  const identity = { run: true, generation: true, session: true, execution: true };
  const question = { retryable: found.retryable, agrees: found.agrees, identity, evidence, retryCount: 0, ageSec: 1 };
  const { retry } = decideRetry(question, { postStart: [5, 10], preLaunch: [120, 600, 1_800] }, 0);
  return {
    failed: true,
    class: found.class,
    code: found.code,
    retry,
    output: evidence.outputSeen,
    why: `${found.rule}: ${found.why}`,
  } as const;
}

/** `null`: it cannot be told what it was, and so is nothing that is retried. */
const EXPECTED: Readonly<Record<string, readonly [kind: 'transient' | 'hard' | null, code: string | null, retried: boolean]>> = {
  'boguskey-nonet': ['transient', 'network', true],
  'fake-400': ['hard', 'context_length', false],
  'fake-401': ['hard', 'auth', false],
  'fake-403': ['hard', null, false],
  'fake-429': [null, 'quota', false],
  'fake-429-maxretries1': ['hard', 'quota', false],
  'fake-500': ['transient', null, true],
  'fake-500-maxretries1': ['transient', 'server_error', true],
  'fake-503': ['transient', 'overloaded', true],
  'fake-529': ['transient', 'overloaded', true],
  'fake-529-maxretries1': ['transient', 'overloaded', true],
  'fake-midcut': ['transient', 'network', false],
  'fake-quota': ['hard', 'quota', false],
  'fake-reset': ['transient', 'network', true],
  nokey: ['hard', 'auth', false],
};
/** Where a capture differs from its like, and why. */
const EXCEPT: typeof EXPECTED = {
  // No key was read: what is left is that there is none.
  'copilot-boguskey-nonet': ['hard', 'auth', false],
  'gemini-fake-400': ['hard', 'auth', false],
  // The agent swallowed what kind of 429 it was.
  'codex-acp-fake-quota': [null, 'quota', false],
  // undici's word for a body that was cut.
  'gemini-fake-midcut': ['transient', 'network', false],
};

/** Copilot gives its failures away by nothing but silence on usage: unclassified, whatever it says (contract 5). */
const mute = ({ adapter, phase }: Capture): boolean => adapter === 'copilot' && phase === 'prompt';

const cases = captures.map((capture) => {
  const kind = Object.keys(EXPECTED)
    .filter((name) => capture.capture.endsWith(`-${name}`))
    .toSorted((a, b) => b.length - a.length)[0]!;
  const [expectedClass, code, retried] = EXCEPT[capture.capture] ?? EXPECTED[kind]!;
  const found = follow(capture);
  const quiet = mute(capture);
  return {
    name: capture.capture,
    found,
    should: {
      failed: true,
      class: quiet ? 'unclassified' : (expectedClass ?? 'unclassified'),
      retry: retried && !quiet,
      ...(code === null || quiet ? {} : { code }),
    },
  };
});

describe('the captured failure', () => {
  it.each(cases)('$name is of its class, and retried if that passes', ({ found, should }) => {
    expect(found).toMatchObject(should);
  });

  it('is retried although its words were said as a message: in a good part of the cases', () => {
    expect(cases.filter(({ should }) => should.retry).length).toBeGreaterThanOrEqual(14);
  });
});
