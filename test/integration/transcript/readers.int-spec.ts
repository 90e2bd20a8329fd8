import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ExecutionEvent } from '../../../src/execution/agent-runtime.js';
import type { ClaimedRun } from '../../../src/runs/claim.js';
import { seeded } from '../../support/real-server.js';
import type { SessionEntryView } from '../../../src/transcript/transcript.view.js';
import { calls, ended, plans, reports, says, shows, thinks, told, TranscriptOffice } from '../../support/transcript-office.js';

let it_: TranscriptOffice;
let workspace: string;
beforeAll(async () => {
  it_ = await TranscriptOffice.open();
  workspace = await it_.office.workspace();
});
afterAll(() => it_.close());

function* talk(random: () => number, events: number): Generator<ExecutionEvent> {
  yield told('Talk.');
  let tools = 0;
  for (let n = 0; n < events; n++) {
    const dice = random();
    if (dice < 0.4) yield says(`word ${n} `);
    else if (dice < 0.6) yield thinks(`thought ${n} `);
    else if (dice < 0.7) yield calls(`t${++tools}`, { rawInput: { n } });
    else if (dice < 0.95 && tools > 0) {
      yield reports(`t${1 + Math.floor(random() * tools)}`, {
        status: dice < 0.8 ? 'in_progress' : 'completed',
        ...shows(`out ${n} ${'x'.repeat(Math.floor(random() * 3_000))}`),
      });
    } else yield plans([`step ${n}`, 'in_progress']);
  }
  yield ended;
}

describe('readers that ask what has changed, at random moments, while five agents talk', () => {
  it('end with the same entries as one that reads once at the end', async () => {
    const random = seeded(20_261_130);
    const runs: ClaimedRun[] = [];
    while (runs.length < 5) runs.push(await it_.aRun(workspace));
    let talking = true;
    const agents = runs.map(async (run) => {
      const transcript = it_.open(run);
      for (const event of talk(random, 400)) {
        await transcript.take(event);
        if (random() < 0.25) await pause(random() * 12);
      }
      await transcript.close();
    });
    const readers = runs.flatMap((run) => [reader(run, 3), reader(run, 50)]);
    async function reader(run: ClaimedRun, limit: number) {
      const known = new Map<number, SessionEntryView>();
      let rev = 0;
      let polls = 0;
      for (let last = false; !last;) {
        last = !talking;
        for (;;) {
          const { items, last_rev, next_cursor } = await it_.reads.ofSession(workspace, run.sessionId, { after_rev: rev, limit });
          for (const entry of items) {
            expect(entry.rev).toBeGreaterThan(rev);
            rev = entry.rev;
            known.set(entry.seq, entry);
          }
          expect(last_rev).toBeGreaterThanOrEqual(rev);
          rev = last_rev;
          polls++;
          if (next_cursor === null) break;
        }
        await pause(random() * 60);
      }
      return { run, known, polls };
    }
    await Promise.all(agents);
    talking = false;
    for (const { run, known, polls } of await Promise.all(readers)) {
      const atOnce = await it_.read(run);
      expect([...known.values()].sort((a, b) => a.seq - b.seq)).toEqual(atOnce);
      expect(atOnce.map(({ seq }) => seq)).toEqual(atOnce.map((_, index) => index + 1));
      expect(polls).toBeGreaterThan(5);
    }
  });
});

describe('text of any kind', () => {
  const UNITS = [
    '\u0000',
    '\ud83d',
    '\ude00',
    '😀',
    'שלום',
    '\u001b[31mred\u001b[0m',
    '한',
    '\u202e',
    'e\u0301',
    '\\',
    '"',
    "'",
    '{}',
    '\r\n',
    '\t',
  ];

  it('is written and read back at every length, as a message cut anywhere, a thought, a title, a tool and a plan', async () => {
    const events: ExecutionEvent[] = [];
    const expected: string[] = [];
    for (const [index, unit] of UNITS.entries()) {
      for (let length = 1; length <= 12; length++) {
        const text = `${'x'.repeat(length % 3)}${unit.repeat(length)}|`;
        const cut = 1 + ((length * 7) % Math.max(1, text.length - 1));
        const id = `m${index}-${length}`;
        events.push(says(text.slice(0, cut), id), says(text.slice(cut), id));
        expected.push(text.replaceAll('\u0000', '\uFFFD').toWellFormed());
      }
    }
    events.push(
      thinks(UNITS.join('')),
      calls(`id${UNITS.join('')}`, { title: UNITS.join(''), rawInput: { a: UNITS.join(''), [UNITS.join('')]: 1 } }),
    );
    events.push(reports(`id${UNITS.join('')}`, shows(UNITS.join(''))), plans([UNITS.join(''), 'pending']), ended);
    const run = await it_.aRun(workspace);
    await it_.write(run, events);
    const entries = await it_.read(run);
    expect(entries.filter(({ kind }) => kind === 'message').map(({ body }) => body)).toEqual(expected);
    expect(entries.slice(-3).map(({ kind }) => kind)).toEqual(['thought', 'tool', 'plan']);
    const seen = UNITS.join('').replaceAll('\u0000', '\uFFFD').toWellFormed();
    expect(entries.at(-3)!.body).toBe(seen);
    expect(entries.at(-2)).toMatchObject({ title: seen, body: expect.stringContaining(seen) as string });
  });

  it('of four bytes a character is cut between characters at every length around the limit of an entry', async () => {
    const run = await it_.aRun(workspace);
    const lengths = Array.from({ length: 8 }, (_, n) => 65_532 + n);
    await it_.write(
      run,
      lengths.map((length) => says(`${'x'.repeat(length % 4)}${'😀'.repeat(length)}`, `m${length}`)),
    );
    for (const [index, length] of lengths.entries()) {
      const { body, bytes, truncated } = await it_.whole(run, index + 1);
      expect(bytes).toBe((length % 4) + 4 * length);
      expect(truncated).toBe(bytes > 256 * 1024);
      expect(body.isWellFormed() && !body.includes('\uFFFD')).toBe(true);
    }
  });
});
