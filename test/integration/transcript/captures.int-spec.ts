import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ExecutionEvent, PermissionDecision } from '../../../src/execution/agent-runtime.js';
import { permissionAbout } from '../../../src/execution/domain/permission-about.js';
import { isContent } from '../../../src/execution/domain/content.js';
import { seeded } from '../../support/real-server.js';
import { TranscriptDraft } from '../../../src/transcript/domain/draft.js';
import type { EntryWrite } from '../../../src/transcript/domain/entry.js';
import { TranscriptOffice } from '../../support/transcript-office.js';

/** What real agents sent from a prompt to its answer, turn by turn: test/fixtures/acp-turns.jsonl. */
type Frame = Readonly<Record<string, unknown>>;
interface Capture {
  readonly capture: string;
  readonly turns: readonly (readonly Frame[])[];
}

const FIXTURES = join(import.meta.dirname, '..', '..', 'fixtures');
const captures = readFileSync(join(FIXTURES, 'acp-turns.jsonl'), 'utf8')
  .trim()
  .split('\n')
  .map((line) => JSON.parse(line) as Capture);

function eventOf(frame: Frame): ExecutionEvent {
  if ('prompt' in frame) {
    return { type: 'session_ready', acpSessionId: 'acp', loaded: false, loadFailure: null, promptSent: String(frame['prompt']) };
  }
  if ('update' in frame) {
    const update = frame['update'] as Frame;
    return { type: 'update', content: isContent(update), update };
  }
  if ('asked' in frame) {
    const request = frame['request'] as Frame;
    return { type: 'permission_requested', requestId: String(frame['asked']), request, about: permissionAbout(request), waits: true };
  }
  if ('answered' in frame) {
    return { type: 'permission_answered', requestId: String(frame['answered']), decision: frame['decision'] as PermissionDecision };
  }
  if ('error' in frame)
    return { type: 'outcome', outcome: { kind: 'error', payload: JSON.stringify(frame['error']), evidence: null as never } };
  return { type: 'outcome', outcome: { kind: 'turn_ended', stopReason: 'end_turn', usage: null, lastMessage: null } };
}

const families = [...new Set(captures.map(({ capture }) => familyOf(capture)))];
function familyOf(capture: string): string {
  return capture.replace(/-(nokey|boguskey|fake|resume|node20|latest|slow).*$/, '');
}

let it_: TranscriptOffice;
let workspace: string;
beforeAll(async () => {
  it_ = await TranscriptOffice.open();
  workspace = await it_.office.workspace();
});
afterAll(() => it_.close());

describe('the playback of every captured run', () => {
  it.each(families)('of %s gives the entries of the golden file', async (family) => {
    const golden: Record<string, unknown> = {};
    for (const { capture, turns } of captures.filter((one) => familyOf(one.capture) === family)) {
      const pair = await it_.office.pair(workspace);
      const runs = [];
      for (const turn of turns) {
        const run = await it_.office.started(workspace, pair);
        runs.push(run);
        await it_.write(run, turn.map(eventOf));
        await it_.office.settlement.settle(run, { kind: 'turn_ended', stopReason: 'end_turn', usage: null, lastMessage: null });
      }
      const entries = runs.length === 0 ? [] : await it_.read(runs[0]!);
      golden[capture] = entries.map(({ seq, turn, kind, acp_id, title, status, body, bytes, truncated }) => ({
        seq,
        turn,
        kind,
        ...(acp_id !== null && { acp_id }),
        ...(title !== null && { title }),
        ...(status !== null && { status }),
        body,
        bytes,
        ...(truncated && { truncated }),
      }));
    }
    await expect(`${JSON.stringify(golden, null, 1)}\n`).toMatchFileSnapshot(join(FIXTURES, 'transcripts', `${family}.json`));
  });

  it('gives the same entries however it falls into batches', () => {
    const random = seeded(11);
    for (const { turns } of captures) {
      for (const turn of turns) {
        const once = played(turn, () => false);
        for (let round = 0; round < 5; round++) expect(played(turn, () => random() < 0.4)).toEqual(once);
        expect(played(turn, () => true)).toEqual(once);
      }
    }
  });
});

/** What would stand in the table in the end. */
function played(turn: readonly Frame[], flushes: () => boolean): Omit<EntryWrite, 'isNew'>[] {
  const draft = new TranscriptDraft();
  const table: Omit<EntryWrite, 'isNew'>[] = [];
  const write = (): void => {
    for (const { isNew, ...entry } of draft.batch()) {
      expect(isNew).toBe(table[entry.place] === undefined);
      const { body, bytes, truncated } = entry.body === null ? table[entry.place]! : entry;
      table[entry.place] = { ...entry, body, bytes, truncated };
    }
  };
  for (const frame of turn) {
    draft.take(eventOf(frame));
    if (flushes()) write();
  }
  write();
  return table;
}
