import { existsSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { RunView } from '../../src/runs/run.view.js';
import { AgentDesk } from './agent-desk.js';
import type { Failure, Manner } from './any-model.js';
import { CodexOffice } from './codex-office.js';
import type { Expected, RealAgent } from './real-agents.js';

const TEXT = 'The report is written and everybody may read it.';
const FAILURES: readonly Failure[] = [400, 401, 403, 429, 'quota', 500, 529];
const SILENCE_SEC = 25;
/** A silent failure may be tried three times. */
const LONGEST_MS = 170_000;

const failed = (says?: RegExp): Expected => ({ status: 'failed', ...(says && { says }), why: '' });

/** Every situation a real agent can get into, with what has to come of it. What each really did is printed as a line of JSON. */
export function situationsOf(agents: readonly RealAgent[]): void {
  let office: CodexOffice;
  beforeAll(async () => {
    office = await CodexOffice.open({
      OFFICE_FIRST_EVENT_TIMEOUT_SEC: String(SILENCE_SEC),
      OFFICE_RETRY_DELAYS_SEC: '0,0',
      OFFICE_PRELAUNCH_DELAYS_SEC: '0,0,0',
    });
  });
  afterAll(() => office?.close());

  describe.each(agents)('the real $name', { timeout: LONGEST_MS }, (agent) => {
    const expected = (situation: string, usual: Expected): Expected => agent.unlike?.[situation] ?? usual;

    /** A turn under a model of this manner, to its end; checked against what has to come of it. */
    async function turn(situation: string, manner: Manner, usual: Expected, policy: 'allow' | 'deny', test: TestLike) {
      const desk = await AgentDesk.open(office.server, agent, policy);
      test.onTestFinished(() => desk.close());
      desk.model.manner = manner;
      const began = performance.now();
      const task = await desk.assign('Write the report');
      const run = await task.ended(1, LONGEST_MS - 10_000);
      report(agent, situation, run, performance.now() - began);
      const { status, says = /^/ } = expected(situation, usual);
      expect({ status: run.status, error: run.error_message }).toMatchObject({ status });
      // Of a failure there is a line to read, and a session that says the same.
      expect((run.error_summary ?? '') !== '').toBe(status === 'failed');
      expect(run.error_message ?? '').toMatch(says);
      expect(await task.session()).toMatchObject({ state: status === 'failed' ? 'FAILED' : 'IDLE', error_message: run.error_message });
      await desk.noProcessLeft();
      return { desk, task, run };
    }

    it('takes a good turn', async (test) => {
      const { task } = await turn('ok', { how: 'says', text: TEXT }, { status: 'completed', why: '' }, 'deny', test);
      expect((await task.comments()).map(({ body }) => body).join('\n')).toContain(TEXT);
    });

    it.each([
      ['allowed', 'allow', true],
      ['refused', 'deny', false],
    ] as const)('runs a command when that is %s', async (word, policy, made) => {
      await withTest(async (test) => {
        const manner: Manner = { how: 'runs', command: 'touch made-by-agent.txt', finally: TEXT };
        const { task } = await turn(`tool ${word}`, manner, { status: 'completed', why: '' }, policy, test);
        expect(existsSync(await task.file('made-by-agent.txt'))).toBe(made);
      });
    });

    it.each(FAILURES)('fails when its model answers %s', async (status) => {
      await withTest((test) => turn(String(status), { how: 'fails', status }, failed(), 'deny', test));
    });

    it('fails when the connection is reset', async (test) => {
      await turn('reset', { how: 'resets' }, failed(), 'deny', test);
    });

    it('is not taken at its word when the stream was cut, where that can be told', async (test) => {
      await turn('cut', { how: 'breaks_off', text: TEXT }, failed(), 'deny', test);
    });

    it('fails when its model never answers', async (test) => {
      await turn('hang', { how: 'hangs' }, failed(/no_first_event/), 'deny', test);
    });

    it.each([
      ['a turn', { how: 'slow', text: 'word' }],
      ['its own retries', { how: 'fails', status: 429 }],
      ['silence', { how: 'hangs' }],
    ] as const)('is cancelled in the middle of %s', async (when, manner) => {
      await withTest(async (test) => {
        const desk = await AgentDesk.open(office.server, agent, 'deny');
        test.onTestFinished(() => desk.close());
        desk.model.manner = manner;
        const task = await desk.assign('Write the report');
        await desk.asked();
        const run = await task.run();
        const began = performance.now();
        await desk.cancel(run.id).catch(() => undefined);
        const ended = await task.ended(1, 60_000);
        report(agent, `cancel ${when}`, ended, performance.now() - began);
        // One that does not retry inside may have failed before anybody could cancel it.
        expect(manner.how === 'fails' ? ['cancelled', 'failed'] : ['cancelled']).toContain(ended.status);
        expect(await task.session()).toMatchObject({ state: ended.status === 'cancelled' ? 'IDLE' : 'FAILED' });
        await desk.noProcessLeft();
      });
    });

    it('goes on with a conversation in a new process', async (test) => {
      const { desk, task } = await turn(
        'resume',
        { how: 'says', text: 'The number is 42.' },
        { status: 'completed', why: '' },
        'deny',
        test,
      );
      const { acp_session_id } = await task.session();
      desk.model.manner = { how: 'says', text: 'Still 42.' };
      await task.say('Which one was it?');
      const run = await task.ended(2, LONGEST_MS - 10_000);
      expect(run).toMatchObject({ status: 'completed' });
      const same = (await task.session()).acp_session_id === acp_session_id;
      report(agent, same ? 'resume 2 (loaded)' : 'resume 2 (begun anew)', run, 0);
      // Either it remembers, or it has been told everything once more.
      expect(desk.model.conversation()).toContain(same ? 'The number is 42.' : 'Write the report');
    });

    it('fails when it is killed', async (test) => {
      const desk = await AgentDesk.open(office.server, agent, 'deny');
      test.onTestFinished(() => desk.close());
      desk.model.manner = { how: 'hangs' };
      const task = await desk.assign('Write the report');
      await desk.asked();
      for (const pid of desk.processes()) kill(pid);
      const run = await task.ended(1, 60_000);
      report(agent, 'kill -9', run, 0);
      expect(run).toMatchObject({ status: 'failed', failure_kind: 'error' });
      expect(JSON.parse(run.error_message!)).toMatchObject({ kind: 'process_exit' });
      await desk.noProcessLeft();
    });
  });
}

interface TestLike {
  onTestFinished(work: () => Promise<void>): void;
}

/** For cases of a table, which are given no context: what is to be done at the end is done here. */
async function withTest(work: (test: TestLike) => Promise<unknown>): Promise<void> {
  const ends: (() => Promise<void>)[] = [];
  try {
    await work({ onTestFinished: (end) => void ends.push(end) });
  } finally {
    for (const end of ends) await end();
  }
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It has ended meanwhile.
  }
}

function report(agent: RealAgent, situation: string, run: RunView, ms: number): void {
  const { status, stop_reason, error_class, error_code, error_summary, attempts } = run;
  const line = { agent: agent.name, situation, status, stop_reason, error_class, error_code, error_summary, attempts: attempts.length };
  process.stdout.write(`REAL ${JSON.stringify({ ...line, sec: Math.round(ms / 100) / 10 })}\n`);
}
