import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import * as prettier from 'prettier';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { summary } from '../../../src/execution/domain/error-payload.js';
import type { Outcome } from '../../../src/execution/agent-runtime.js';
import type { Settled } from '../../../src/settlement/domain/ending.js';
import { AnOffice } from '../../support/an-office.js';
import { AGENTS, CapturedRun, capturedRuns } from './captured-runs.js';
import { ExecutionRoom, waitFor } from './execution-room.js';

const REPLAY_AGENT = join(import.meta.dirname, '..', '..', 'support', 'agents', 'replay-agent.mjs');
const DOCUMENT = join(import.meta.dirname, '..', '..', '..', 'docs', 'adapters.md');
/** Set, the table in the document is written instead of compared. */
const WRITES = process.env['OFFICE_WRITE_DOCS'] === '1';
const AT_ONCE = 6;
/** An agent that was silent until its capture ended; long enough for one that was not, on a busy machine. */
const SILENCE_MS = 4_000;
const START_MS = 6_000;
const ENDLESS_MS = 8_000;

interface Played {
  readonly outcome: Outcome;
  readonly settled: Settled;
  readonly run: { status: string; error_message: string | null; class: string | null; code: string | null; payload: string | null };
  readonly session: { state: string; acp_session_id: string | null };
  readonly loaded: boolean;
}

let office: AnOffice;
const room = new ExecutionRoom();
const runs = capturedRuns();
const played = new Map<string, Played>();

/** From a claimed run through the runtime and the settlement to what is in the database. */
async function play(capture: CapturedRun): Promise<Played> {
  const workspaceId = await office.workspace({ threshold: 100 });
  const pair = await office.pair(workspaceId, { adapter: capture.adapter, adapter_config: JSON.stringify({ command: ['replayed'] }) });
  await office.wake(workspaceId, { agentId: pair.agentId, on: { taskId: pair.taskId } });
  const [run] = (await office.claim(workspaceId)).claimed;
  await office.ownership.markLaunched(run!);
  const agent = await room.launch({
    spec: { executionId: run!.executionId, adapter: capture.adapter, acpSessionId: capture.loads },
    config: { command: [process.execPath, REPLAY_AGENT, capture.file], permissionPolicy: capture.permission ?? 'deny' },
    limits: { firstContentMs: SILENCE_MS, runMs: ENDLESS_MS, startMs: START_MS },
  });
  if (capture.cancels) {
    await waitFor(
      'all that came before the cancel',
      () => agent.all('update').length >= capture.updatesBeforeCancel && agent.all('session_ready').length > 0,
    );
    await office.db.unitOfWork.run(workspaceId, (tx) => office.stops.askToStop(tx, { runId: run!.runId }, 'cancelled_by_person'));
    void agent.stop('cancelled_by_person');
  }
  const outcome = await agent.outcome();
  const [ready] = agent.all('session_ready');
  const settled = await office.settlement.settle({ ...run!, unrecordedStart: ready?.acpSessionId }, outcome);
  await agent.stop();
  return {
    outcome,
    settled,
    run: await office.row(
      `select r.status, r.error_message, a.error_class as class, a.error_code as code, a.error_payload as payload
         from runs r join run_attempts a on a.run_id = r.id where r.id = $1`,
      run!.runId,
    ),
    session: await office.row(`select state, acp_session_id from task_sessions where id = $1`, run!.sessionId),
    loaded: ready?.loaded ?? false,
  };
}

beforeAll(async () => {
  office = await AnOffice.open({ poolSize: 10 });
  const waiting = [...runs];
  const work = async (): Promise<void> => {
    for (let capture = waiting.shift(); capture !== undefined; capture = waiting.shift()) played.set(capture.name, await play(capture));
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
}, 300_000);
afterAll(async () => {
  await room.close();
  await office?.close();
});

type Result = 'completed' | 'cancelled' | 'hard' | 'transient' | 'unclassified' | 'no_first_event' | 'timed_out' | 'loaded';

/** What has to come of a situation, whatever the agent. */
const USUAL: Readonly<Record<string, Result>> = {
  'boguskey-nonet': 'transient',
  nokey: 'hard',
  'node20-nokey': 'hard',
  'fake-400': 'hard',
  'fake-401': 'hard',
  'fake-403': 'hard',
  'fake-429': 'unclassified',
  'fake-429-maxretries1': 'hard',
  'fake-429-cancel': 'cancelled',
  'fake-429-then-ok': 'completed',
  'fake-429-retryafter2-then-ok': 'completed',
  'fake-500': 'transient',
  'fake-500-maxretries1': 'transient',
  'fake-503': 'transient',
  'fake-529': 'transient',
  'fake-529-maxretries1': 'transient',
  'fake-529-cancel': 'cancelled',
  'fake-529-then-ok': 'completed',
  'fake-cancel': 'cancelled',
  'fake-slow-cancel': 'cancelled',
  'fake-hang': 'no_first_event',
  'fake-hang-cancel': 'cancelled',
  'fake-midcut': 'transient',
  'fake-ok': 'completed',
  'fake-ok-v20.20.2': 'completed',
  'fake-ok-v22.23.3': 'completed',
  'fake-quota': 'hard',
  'fake-reload': 'completed',
  'fake-reset': 'transient',
  'fake-tool': 'completed',
  'fake-tool-ask': 'completed',
  'fake-tool-escalate': 'completed',
  'fake-tool-escalate-reject': 'completed',
  'fake-tool-reject': 'completed',
  resume1: 'completed',
  'resume2-load': 'loaded',
};
/** Where an agent does otherwise, and why. */
const RETRIES_INSIDE = ['fake-401', 'fake-429', 'fake-500', 'fake-503', 'fake-529', 'fake-quota', 'fake-reset', 'boguskey-nonet'];
const UNLIKE: Readonly<Record<string, Result>> = {
  // It asked for a permission, and then said nothing until the capture ended.
  'auggie-boguskey-nonet': 'timed_out',
  // What was cut is all it says, and it reports no usage that could give it away.
  'claude-code-acp-fake-midcut': 'completed',
  // It went on with a request that is not streamed.
  'claude-agent-acp-fake-midcut': 'completed',
  // This one does not ask again after a 429, and swallows what kind it was.
  'codex-acp-fake-429-then-ok': 'unclassified',
  'codex-acp-fake-quota': 'unclassified',
  'codex-acp-tooldbg': 'completed',
  // No key was read: what is left is that there is none.
  'copilot-boguskey-nonet': 'hard',
  // It had spoken before it fell silent.
  'opencode-fake-midcut': 'timed_out',
  // It offers free models to whoever has no key, and cannot reach them here.
  'opencode-nokey': 'no_first_event',
  // The load was refused; the new session it was asked for then is not in the capture.
  'gemini-resume2-load': 'unclassified',
};
/** Copilot gives its failures away by nothing but silence on usage: unclassified, whatever it says (contract 5). */
const isMute = ({ agent, answer }: CapturedRun): boolean => agent === 'copilot' && answer?.error === undefined;

/** Neither a frame nor a word until the capture ended: it was retrying inside. */
const isSilent = (capture: CapturedRun): boolean => capture.answer === null && RETRIES_INSIDE.includes(capture.situation);

function resultOf({ outcome, run, loaded }: Played): Result {
  if (loaded) return 'loaded';
  if (outcome.kind === 'turn_ended') return 'completed';
  if (outcome.kind === 'stopped') return 'cancelled';
  if (outcome.kind === 'timed_out') return 'timed_out';
  if (outcome.payload.startsWith('{"kind":"no_first_event"')) return 'no_first_event';
  return run.class as Result;
}

const STATES: Readonly<Record<string, string>> = {
  completed: 'IDLE',
  cancelled: 'IDLE',
  scheduled_retry: 'IDLE',
  failed: 'FAILED',
  timed_out: 'FAILED',
};

/** The error frame that ended it, as it stood. The refusal of a load is followed by a new session, which its capture does not have. */
const exactPayloadOf = ({ answer, loads, cancels }: CapturedRun): string | null =>
  answer?.error === undefined || loads !== null || cancels ? null : JSON.stringify(answer.error);

describe('the captured run of a real agent', () => {
  it.each(runs.map((capture) => [capture.name, capture] as const))('%s ends as it has to', (name, capture) => {
    const one = played.get(name)!;
    const usual = isSilent(capture) ? 'no_first_event' : USUAL[capture.situation];
    const failed = usual === 'hard' || usual === 'transient';
    expect(resultOf(one)).toBe(UNLIKE[name] ?? (failed && isMute(capture) ? 'unclassified' : usual));
    // The session stands where the run's end puts it.
    expect(one.session.state).toBe(STATES[one.run.status]);
    expect(one.settled).toBe(one.run.status);
    // An error frame is kept to the letter; everything else can be read in one line.
    const payload = 'payload' in one.outcome ? one.outcome.payload : null;
    expect(one.run.payload).toBe(payload);
    expect(summary(payload ?? 'nothing').length).toBeGreaterThan(0);
    expect(payload).toEqual(exactPayloadOf(capture) ?? payload);
  });

  it('is in the table of the document', async () => {
    const table = await tableOf();
    const text = readFileSync(DOCUMENT, 'utf8');
    const [before, rest] = split(text, '<!-- captures -->');
    const [present, after] = split(rest, '<!-- /captures -->');
    if (WRITES) writeFileSync(DOCUMENT, `${before}<!-- captures -->\n\n${table}\n<!-- /captures -->${after}`);
    expect(WRITES ? table.trim() : present.trim()).toBe(table.trim());
  });
});

const split = (text: string, mark: string): [string, string] => {
  const at = text.indexOf(mark);
  if (at < 0) throw new Error(`docs/adapters.md has no ${mark}`);
  return [text.slice(0, at), text.slice(at + mark.length)];
};

/** A row for each situation, a column for each agent. */
function tableOf(): Promise<string> {
  const situations = [...new Set(runs.map(({ situation }) => situation))].toSorted();
  const cell = (agent: string, situation: string): string => {
    const one = played.get(`${agent}-${situation}`);
    if (one === undefined) return '';
    const { run, outcome } = one;
    if (one.loaded) return 'loaded, no history told';
    if (outcome.kind !== 'error') return run.status;
    const kind = /^\{"kind":"(\w+)"/.exec(outcome.payload)?.[1];
    return `${run.status}: ${run.class} (${run.code})${kind === undefined ? '' : `, ${kind}`}`;
  };
  const rows = [
    ['situation', ...AGENTS],
    AGENTS.concat('').map(() => '---'),
    ...situations.map((situation) => [situation, ...AGENTS.map((agent) => cell(agent, situation))]),
  ];
  return prettier.format(rows.map((row) => `| ${row.join(' | ')} |`).join('\n'), { parser: 'markdown' });
}
