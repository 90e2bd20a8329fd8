import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { cloneDatabase } from '../support/office-db.js';
import { RealServer } from '../support/real-server.js';
import { CodexDesk } from './codex-desk.js';
import { hangs, says } from './model-server.js';

let database: Awaited<ReturnType<typeof cloneDatabase>>;
let server: RealServer;
let desk: CodexDesk;

beforeAll(async () => {
  database = await cloneDatabase();
  server = await RealServer.start({ databaseUrl: database.url });
});
afterAll(async () => {
  await server?.dispose();
  await database?.drop();
  expect(server.log.filter((line) => /"level":"(error|fatal)"/.test(line))).toEqual([]);
});
afterEach(() => desk.close());

describe.sequential('kill -9 of the office', () => {
  it('between two turns costs the real Codex nothing', async () => {
    desk = await CodexDesk.open(server, { recorded: true });
    const { model } = desk;
    model.reply = says('The number is 42.');
    const task = await desk.assign('Think of a number');
    await task.ended();
    const { acp_session_id } = await task.session();

    await server.end('SIGKILL');
    await desk.noProcessLeft();
    await server.boot();
    model.reply = says('Still 42.');
    await task.say('Which one was it?');

    expect(await task.ended(2)).toMatchObject({ status: 'completed' });
    expect(await task.session()).toMatchObject({ state: 'IDLE', turns: 2, acp_session_id });
    expect(desk.heard()).toContainEqual(
      expect.objectContaining({ method: 'session/load', params: expect.objectContaining({ sessionId: acp_session_id }) }),
    );
    expect(model.conversation()).toContain('The number is 42.');
  });

  it('in the middle of a turn interrupts it, and a comment takes the conversation up again', async () => {
    desk = await CodexDesk.open(server);
    const { model } = desk;
    model.reply = hangs;
    const task = await desk.assign('Think of a number');
    await desk.asked();
    const { acp_session_id } = await task.session();

    await server.end('SIGKILL');
    await desk.noProcessLeft();
    await server.boot();

    const { status, failure_kind, error_message } = await task.ended();
    expect({ status, failure_kind }).toEqual({ status: 'failed', failure_kind: 'interrupted' });
    expect(JSON.parse(error_message!)).toEqual({ kind: 'interrupted', cause: 'host_restart' });
    expect(await task.session()).toMatchObject({ state: 'FAILED', acp_session_id });
    expect(await desk.agent()).toMatchObject({ status: 'idle', consecutive_failures: 0 });

    model.reply = says('It is 42.');
    await task.say('Go on, please.');
    expect(await task.ended(2)).toMatchObject({ status: 'completed' });
    expect(await task.session()).toMatchObject({ state: 'IDLE', acp_session_id, error_message: null });
    for (const words of ['Think of a number', 'Go on, please.', 'An earlier attempt may have done part of this']) {
      expect(model.conversation()).toContain(words);
    }
    expect((await task.comments()).map(({ body }) => body)).toEqual(['Go on, please.', 'It is 42.']);
  });
});
