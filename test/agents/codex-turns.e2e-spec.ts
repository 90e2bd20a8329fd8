import { existsSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CodexOffice } from './codex-office.js';
import { runs, says } from './model-server.js';

/** What only the office may know. */
const OWN = {
  OFFICE_ADMIN_TOKEN: 'the-first-admins-own-token',
  OFFICE_SECRETS_KEY: 'a key that opens all secrets of this office',
  PGPASSWORD: 'the password of somebody else’s database',
  ANTHROPIC_API_KEY: 'sk-ant-of-the-office',
};
/** What the office passes on to a Codex, if it has it. */
const PASSED = { LANG: 'C.UTF-8', OPENAI_API_KEY: 'sk-of-the-office' };

let office: CodexOffice;
beforeAll(async () => {
  office = await CodexOffice.open({ ...OWN, ...PASSED });
});
afterAll(() => office?.close());

describe('a turn of the real Codex', () => {
  it('becomes a comment with the words of the model and nothing else', async (test) => {
    const desk = await office.hire(test);
    desk.model.reply = says('The report is written.');
    const task = await desk.assign('Write the report');

    expect(await task.ended()).toMatchObject({ status: 'completed', stop_reason: 'end_turn', error_message: null });
    expect(await task.comments()).toMatchObject([{ source: 'session', author: { name: 'Codex' }, body: 'The report is written.' }]);
    expect(await task.session()).toMatchObject({
      state: 'IDLE',
      live: false,
      turns: 1,
      acp_session_id: expect.stringMatching(/^[0-9a-f-]{36}$/),
    });
    expect(desk.model.conversation()).toContain('You are Codex, a worker in the workspace Acme');
    expect(desk.model.conversation()).toContain('Write the report');
    await desk.noProcessLeft();
  });

  it('runs a command that the policy allows, in the folder of the task', async (test) => {
    const desk = await office.hire(test, { policy: 'allow' });
    desk.model.reply = runs('touch made-by-codex.txt && echo tool-$((40 + 2))', says('It is there.'));
    const task = await desk.assign('Make a file');

    expect(await task.ended()).toMatchObject({ status: 'completed', stop_reason: 'end_turn' });
    expect(existsSync(await task.file('made-by-codex.txt'))).toBe(true);
    expect(desk.model.conversation()).toContain('tool-42');
    expect(await task.comments()).toMatchObject([{ body: 'It is there.' }]);
  });

  it('runs no command that the policy denies, which is not a failure', async (test) => {
    const desk = await office.hire(test, { policy: 'deny', recorded: true });
    desk.model.reply = runs('touch made-by-codex.txt', says('It is there.'));
    const task = await desk.assign('Make a file');

    expect(await task.ended()).toMatchObject({ status: 'completed', error_message: null });
    expect(desk.said().some((line) => line.includes('"stopReason":"cancelled"'))).toBe(true);
    expect(existsSync(await task.file('made-by-codex.txt'))).toBe(false);
    expect(await task.comments()).toEqual([]);
    expect(await task.session()).toMatchObject({ state: 'IDLE', error_message: null });
    expect(await desk.agent()).toMatchObject({ status: 'idle', consecutive_failures: 0, open_failures: 0 });
  });
});

describe('the next turn of a conversation', () => {
  it('is taken by a new process that has loaded what was said before', async (test) => {
    const desk = await office.hire(test, { recorded: true });
    desk.model.reply = says('The number is 42.');
    const task = await desk.assign('Think of a number');
    await task.ended();
    await desk.noProcessLeft();
    const { acp_session_id } = await task.session();

    desk.model.reply = says('Still 42.');
    await task.say('Which one was it?');

    expect(await task.ended(2)).toMatchObject({ status: 'completed', reason: 'user_comment' });
    expect(await task.session()).toMatchObject({ state: 'IDLE', turns: 2, acp_session_id });
    const frames = desk.heard().map(({ method, params }) => [method, params?.sessionId]);
    expect(frames).toEqual([
      ['initialize', undefined],
      ['session/new', undefined],
      ['session/prompt', acp_session_id],
      ['initialize', undefined],
      ['session/load', acp_session_id],
      ['session/prompt', acp_session_id],
    ]);
    // Once each: what is loaded is neither told to the model nor heard from it a second time.
    const conversation = desk.model.conversation();
    for (const words of ['You are Codex', 'The number is 42.', 'Which one was it?']) {
      expect(conversation.split(words), words).toHaveLength(2);
    }
    const bodies = (await task.comments()).map(({ body }) => body);
    expect(bodies).toEqual(['The number is 42.', 'Which one was it?', 'Still 42.']);
  });

  it('begins anew, and says so, when Codex has lost the conversation', async (test) => {
    const desk = await office.hire(test);
    const task = await desk.assign('Think of a number');
    await task.ended();
    const { acp_session_id: lost } = await task.session();
    desk.loseConversations();

    desk.model.reply = says('Which number?');
    await task.say('Which one was it?');

    const run = await task.ended(2);
    expect(run).toMatchObject({ status: 'completed' });
    const { acp_session_id } = await task.session();
    expect(acp_session_id).not.toBe(lost);
    const { items } = await office.server.must<{ items: object[] }>(`GET /runs/${run.id}/events`);
    expect(items).toContainEqual(expect.objectContaining({ event_type: 'session.load_failed', level: 'warn' }));
    expect(desk.model.conversation()).toContain('You are Codex');
  });
});

describe('what Codex gets to see', () => {
  it('is neither a setting nor a secret of the office, only what is named for it', async (test) => {
    const desk = await office.hire(test, { recorded: true });
    await (await desk.assign('Look around')).ended();

    const environment = desk.environment();
    // Where the office is root the folder for temporary files is of its own, too.
    const { PWD: _ofTheShell, TMPDIR: _ofItsOwn, ...given } = environment;
    const ofTheOffice = Object.keys(given).filter((name) => name.startsWith('OFFICE_'));
    expect([
      'OFFICE_AGENT_ID',
      'OFFICE_API_KEY',
      'OFFICE_API_URL',
      'OFFICE_EXECUTION_ID',
      'OFFICE_RUN_ATTEMPT',
      'OFFICE_RUN_ID',
      'OFFICE_SESSION_TURN',
      'OFFICE_TASK_ID',
      'OFFICE_WAKE_REASON',
      'OFFICE_WORKSPACE_ID',
    ]).toEqual(expect.arrayContaining(ofTheOffice));
    expect(
      Object.keys(given)
        .filter((name) => !name.startsWith('OFFICE_'))
        .toSorted(),
    ).toEqual(['CODEX_DESK', 'CODEX_HOME', 'FAKE_API_KEY', 'HOME', 'LANG', 'OPENAI_API_KEY', 'PATH'].toSorted());
    expect(given).toMatchObject(PASSED);
    const told = JSON.stringify([environment, desk.heard()]);
    for (const secret of [...Object.values(OWN), new URL(office.database.url).pathname, office.server.dataDir])
      expect(told).not.toContain(secret);
  });
});
