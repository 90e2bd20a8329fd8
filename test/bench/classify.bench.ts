import { readFileSync } from 'node:fs';
import { classify } from '../../src/diagnosis/domain/classifier.js';
import { percentile, type Bench, type Figure } from './figures.js';

const CALLS = 30_000;
const BYTES = 4 * 1024;
const NOW = 1_777_000_000_000;

interface Fixture {
  readonly provider: string;
  readonly payload: string;
}

/** A payload as long as asked: repeated, or padded in its middle with what such payloads are full of. */
const FILLER = ' at async fetchWithRetry (node:internal/deps/undici/undici:13510:37) { request_id: "req_011CUx7", attempt: 2 }\n';
function ofLength({ provider, payload }: Fixture): Fixture {
  const room = Math.max(0, BYTES - payload.length);
  return { provider, payload: payload.slice(0, BYTES) + FILLER.repeat(Math.ceil(room / FILLER.length)).slice(0, room) };
}

/** What must be done with any JSON payload before anybody can judge it: parse it, and look at each of its letters once. */
function parsedAndWalked(text: string): number {
  let sum = 0;
  const value = (JSON.parse(text) as { payload: string }).payload;
  for (let at = 0; at < value.length; at++) sum = (sum * 31 + value.charCodeAt(at)) | 0;
  return sum;
}

function microseconds(calls: number, work: (turn: number) => unknown): number[] {
  const took = Array.from<number>({ length: calls });
  for (let turn = 0; turn < calls; turn++) {
    const since = performance.now();
    work(turn);
    took[turn] = (performance.now() - since) * 1_000;
  }
  return took;
}

/** What each payload costs when nothing comes between: the median of its calls. */
function byPayload(took: readonly number[], payloads: number): number[] {
  return Array.from({ length: payloads }, (_, place) =>
    percentile(
      took.filter((_call, turn) => turn % payloads === place),
      0.5,
    ),
  );
}

/** Arithmetic of some 25 µs that touches no memory: its 99th percentile is what the machine puts between. */
function arithmetic(): number {
  let sum = 0;
  for (let turn = 0; turn < 20_000; turn++) sum = (sum * 31 + turn) | 0;
  return sum;
}

/** What one diagnosis costs the event loop, over every real payload of every provider, brought to 4 KiB. */
export const classifyBench: Bench = {
  name: 'classify',
  async run(place): Promise<Figure[]> {
    const fixtures = readFileSync('test/fixtures/provider-errors.jsonl', 'utf8')
      .trim()
      .split('\n')
      .map((line) => ofLength(JSON.parse(line) as Fixture));
    const encoded = fixtures.map((fixture) => JSON.stringify(fixture));
    const calls = Math.ceil(CALLS * place.size);
    const ours = (turn: number): unknown => {
      const { provider, payload } = fixtures[turn % fixtures.length]!;
      return classify(provider, payload, NOW);
    };
    const baseline = (turn: number): unknown => parsedAndWalked(encoded[turn % encoded.length]!);
    // In turn, after a while of both: the first calls are the compiler's.
    microseconds(3_000, ours);
    microseconds(3_000, baseline);
    microseconds(300, arithmetic);
    const took = { ours: microseconds(calls, ours), baseline: microseconds(calls, baseline), arithmetic: microseconds(calls, arithmetic) };
    const of = 'JSON.parse and one walk over the text';
    const payloads = fixtures.length;
    const costliest = percentile(byPayload(took.ours, payloads), 0.99);
    return [
      ...[
        { what: 'classify 4 KiB, p50', part: 0.5 },
        { what: 'classify 4 KiB, p99', part: 0.99 },
      ].map(({ what, part }) => ({
        what,
        ours: percentile(took.ours, part),
        baseline: { of, value: percentile(took.baseline, part) },
        unit: 'µs',
        target: part === 0.99 ? 'under 50' : 'none',
      })),
      {
        what: 'classify 4 KiB, the costliest payloads (p99 of their medians)',
        ours: costliest,
        baseline: { of, value: percentile(byPayload(took.baseline, payloads), 0.99) },
        unit: 'µs',
        target: 'under 50',
      },
      {
        what: 'the machine: arithmetic, p99 against its p50',
        ours: percentile(took.arithmetic, 0.99),
        baseline: { of: 'the same, p50', value: percentile(took.arithmetic, 0.5) },
        unit: 'µs',
        target: 'none',
      },
    ];
  },
};
