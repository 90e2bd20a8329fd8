import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { waitFor } from '../support/real-server.js';
import { CodexOffice } from './codex-office.js';
import { breaksOff, hangs, refuses, REQUEST_ID, runs, says } from './model-server.js';

let office: CodexOffice;
beforeAll(async () => {
  office = await CodexOffice.open();
});
afterAll(() => office?.close());

const BAD_KEY = refuses(401, {
  message: 'Incorrect API key provided: sk-bogus. You can find your API key at https://platform.openai.com/account/api-keys.',
  type: 'invalid_request_error',
  code: 'invalid_api_key',
});
const TOO_FAST = refuses(429, {
  message: 'Rate limit reached for fake-model on requests per min (RPM): Limit 3, Used 3, Requested 1. Please try again in 20s.',
  type: 'requests',
  code: 'rate_limit_exceeded',
});
const NO_CREDIT = refuses(429, {
  message: 'You exceeded your current quota, please check your plan and billing details.',
  type: 'insufficient_quota',
  code: 'insufficient_quota',
});
const BROKEN = refuses(500, {
  message: 'The server had an error while processing your request. Sorry about that!',
  type: 'server_error',
  code: null,
});
const tooManyFailed = { response_too_many_failed_attempts: { http_status_code: 429 } };

describe('a model that fails the real Codex', () => {
  it.for([
    {
      how: 'refuses its key',
      reply: BAD_KEY,
      words: ['401 Unauthorized', 'Incorrect API key provided: [secret:FAKE_API_KEY]', REQUEST_ID],
      info: 'other',
    },
    { how: 'is asked too often', reply: TOO_FAST, words: ['429 Too Many Requests', REQUEST_ID], info: tooManyFailed },
    { how: 'has been used up', reply: NO_CREDIT, words: ['429 Too Many Requests', REQUEST_ID], info: tooManyFailed },
    // The words of a broken server are replaced by Codex itself.
    { how: 'is broken', reply: BROKEN, words: ['high demand'], info: 'internal_server_error' },
    { how: 'breaks off', reply: breaksOff('The report is '), words: ['stream disconnected before completion'], info: 'other' },
  ])('fails the run with the error as Codex wrote it: $how', async ({ reply, words, info }, test) => {
    const desk = await office.hire(test, { recorded: true });
    desk.model.reply = reply;
    const task = await desk.assign('Write the report');

    const { status, failure_kind, error_message } = await task.ended();
    expect({ status, failure_kind }).toEqual({ status: 'failed', failure_kind: 'error' });
    // Word for word, but for the key it was given (contract 11a).
    const line = desk
      .said()
      .find((said) => said.includes('"error":'))
      ?.replaceAll('sk-bogus', '[secret:FAKE_API_KEY]');
    expect(line).toContain(`"error":${error_message},"id":`);
    const { code, message, data } = JSON.parse(error_message!) as {
      code: number;
      message: string;
      data: { message: string; codex_error_info: unknown };
    };
    expect({ code, message, info: data.codex_error_info }).toEqual({ code: -32603, message: 'Internal error', info });
    for (const word of words) expect(data.message).toContain(word);

    expect(await task.session()).toMatchObject({ state: 'FAILED', live: false, error_message });
    expect(await task.comments()).toEqual([]);
    expect(await desk.agent()).toMatchObject({ status: 'idle', consecutive_failures: 1, open_failures: 1 });
    await desk.noProcessLeft();
  });

  it('pauses its agent at the threshold, and a turn that goes well sets the count back', async (test) => {
    const desk = await office.hire(test, { threshold: 2 });
    desk.model.reply = BAD_KEY;
    await (await desk.assign('First')).ended();
    expect(await desk.agent()).toMatchObject({ status: 'idle', consecutive_failures: 1 });
    const second = await desk.assign('Second');
    await second.ended();
    const { pause_reason, ...agent } = await desk.agent();
    expect(agent).toMatchObject({ status: 'paused', pause_source: 'auto', consecutive_failures: 2 });
    expect(pause_reason).toMatch(
      /^Auto-paused: 2 consecutive failures\. Last error: Internal error: unexpected status 401 Unauthorized: Incorrect API key/,
    );

    desk.model.reply = says('Now it works.');
    await desk.unpause();
    await second.say('Try again with the new key.');
    expect(await second.ended(2)).toMatchObject({ status: 'completed' });
    expect(await desk.agent()).toMatchObject({ status: 'idle', consecutive_failures: 0, pause_reason: null });
  });

  it('is not even asked when nobody has logged in', async (test) => {
    const desk = await office.hire(test, { recorded: true, loggedIn: false });
    const task = await desk.assign('Write the report');

    const { status, error_message, attempts } = await task.ended();
    expect(status).toBe('failed');
    expect(JSON.parse(error_message!)).toMatchObject({ code: -32000, message: 'Authentication required' });
    expect(desk.said().some((line) => line.includes(`"error":${error_message},"id":`))).toBe(true);
    expect(attempts.at(-1)?.evidence).toMatchObject({ phase: 'session' });
    expect(desk.model.requests).toEqual([]);
  });
});

describe('the end of the real Codex in the middle of a turn', () => {
  it.for([
    { what: 'all of it', program: undefined, said: { exit_code: null, signal: 'SIGKILL' } },
    // Its launcher, which is what the office started, takes that for a good end.
    { what: 'all but its launcher', program: 'codex-acp', said: { exit_code: 0, signal: null } },
  ])('fails the run when it is killed: $what', async ({ program, said }, test) => {
    const desk = await office.hire(test);
    desk.model.reply = hangs;
    const task = await desk.assign('Write the report');
    await desk.asked();
    const pids = desk.processes(program);
    expect(pids).not.toEqual([]);
    for (const pid of pids) process.kill(pid, 'SIGKILL');

    const { status, error_message } = await task.ended();
    expect(status).toBe('failed');
    expect(JSON.parse(error_message!)).toMatchObject({ kind: 'process_exit', ...said });
    expect(await task.session()).toMatchObject({ state: 'FAILED', error_message });
    expect(await desk.agent()).toMatchObject({ consecutive_failures: 1, open_failures: 1 });
    await desk.noProcessLeft();
  });

  it('is a cancelled run when a person cancels it, and the conversation goes on', async (test) => {
    const desk = await office.hire(test);
    desk.model.reply = hangs;
    const task = await desk.assign('Write the report');
    await desk.asked();
    const { acp_session_id } = await task.session();

    expect(await cancelled(await task.run())).toBeLessThan(10_000);
    expect(await task.ended()).toMatchObject({ status: 'cancelled', cancel_reason: 'cancelled_by_person', error_message: null });
    expect(await task.session()).toMatchObject({ state: 'IDLE', acp_session_id });
    expect(await desk.agent()).toMatchObject({ status: 'idle', consecutive_failures: 0, open_failures: 0 });
    await desk.noProcessLeft();

    desk.model.reply = says('Here it is.');
    await task.say('Go on.');
    expect(await task.ended(2)).toMatchObject({ status: 'completed' });
    expect(await task.session()).toMatchObject({ state: 'IDLE', acp_session_id });
    expect(desk.model.conversation()).toContain('Write the report');
  });

  it('takes the commands it has started with it', async (test) => {
    const desk = await office.hire(test, { policy: 'allow' });
    desk.model.reply = runs('nohup setsid sleep 600', hangs);
    const task = await desk.assign('Sleep');
    await waitFor(() => desk.processes('sleep').length > 0, 20_000, 'the command to run');

    expect(await cancelled(await task.run())).toBeLessThan(10_000);
    expect(desk.processes()).toEqual([]);
  });

  it('does not leave a command behind that it can no longer end itself', async (test) => {
    const desk = await office.hire(test, { policy: 'allow' });
    desk.model.reply = runs('nohup setsid sleep 600', hangs);
    const task = await desk.assign('Sleep');
    await waitFor(() => desk.processes('sleep').length > 0, 20_000, 'the command to run');
    for (const pid of desk.processes('codex-acp')) process.kill(pid, 'SIGKILL');

    expect(await task.ended()).toMatchObject({ status: 'failed' });
    await desk.noProcessLeft();
  });

  /** Cancels it and answers how many milliseconds its end took. */
  async function cancelled({ id }: { readonly id: string }): Promise<number> {
    const asked = performance.now();
    const { status, body } = await office.server.call(`POST /runs/${id}/cancel`);
    expect({ status, body }).toMatchObject({ status: 202, body: { run_id: id, stop_requested_at: expect.any(String) } });
    await waitFor(async () => (await office.server.must(`GET /runs/${id}`)).status === 'cancelled', 30_000, 'the run to be cancelled');
    return performance.now() - asked;
  }
});
