import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CodexOffice } from './codex-office.js';
import { hangs, says } from './model-server.js';

let office: CodexOffice;
beforeAll(async () => {
  office = await CodexOffice.open();
});
afterAll(() => office?.close());

describe.sequential('kill -9 of the office', () => {
  it('between two turns costs the real Codex nothing', async (test) => {
    const desk = await office.hire(test, { recorded: true });
    desk.model.reply = says('The number is 42.');
    const task = await desk.assign('Think of a number');
    await task.ended();
    const { acp_session_id } = await task.session();

    await office.server.end('SIGKILL');
    await desk.noProcessLeft();
    await office.server.boot();
    desk.model.reply = says('Still 42.');
    await task.say('Which one was it?');

    expect(await task.ended(2)).toMatchObject({ status: 'completed' });
    expect(await task.session()).toMatchObject({ state: 'IDLE', turns: 2, acp_session_id });
    expect(desk.heard()).toContainEqual(
      expect.objectContaining({ method: 'session/load', params: expect.objectContaining({ sessionId: acp_session_id }) }),
    );
    expect(desk.model.conversation()).toContain('The number is 42.');
  });

  it('in the middle of a turn interrupts it, and a comment takes the conversation up again', async (test) => {
    const desk = await office.hire(test);
    desk.model.reply = hangs;
    const task = await desk.assign('Think of a number');
    await desk.asked();
    const { acp_session_id } = await task.session();

    await office.server.end('SIGKILL');
    await desk.noProcessLeft();
    await office.server.boot();

    const { status, failure_kind, error_message } = await task.ended();
    expect({ status, failure_kind }).toEqual({ status: 'failed', failure_kind: 'interrupted' });
    expect(JSON.parse(error_message!)).toEqual({ kind: 'interrupted', cause: 'host_restart' });
    expect(await task.session()).toMatchObject({ state: 'FAILED', acp_session_id });
    expect(await desk.agent()).toMatchObject({ status: 'idle', consecutive_failures: 0 });

    desk.model.reply = says('It is 42.');
    await task.say('Go on, please.');
    expect(await task.ended(2)).toMatchObject({ status: 'completed' });
    expect(await task.session()).toMatchObject({ state: 'IDLE', acp_session_id, error_message: null });
    for (const words of ['Think of a number', 'Go on, please.', 'An earlier attempt may have done part of this']) {
      expect(desk.model.conversation()).toContain(words);
    }
    expect((await task.comments()).map(({ body }) => body)).toEqual(['Go on, please.', 'It is 42.']);
  });
});
