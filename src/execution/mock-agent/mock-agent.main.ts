import { agent, methods, ndJsonStream, PROTOCOL_VERSION, RequestError } from '@agentclientprotocol/sdk';
import { randomUUID } from 'node:crypto';
import { Readable, Writable } from 'node:stream';
import { MOCK_SCRIPT_META, MockScriptError, readScript, scriptIn, type MockStep } from './domain/mock-script.js';
import { findSession, saveSession, type MockSession } from './mock-session-store.js';
import { MockTurn, scriptedError } from './mock-turn.js';

/**
 * The mock agent: a process that speaks ACP over stdio and does what a script says (wire document, "Mock adapter"). It
 * learns its script from the `_meta` of `initialize`, or from a fenced block in a prompt, which wins and is remembered by
 * the session. Beside the documented steps it takes `{"ask_permission": {title, options?}}`, `{"update": {…}}` (a raw
 * `session/update`), `usage` beside `stop`, and `setsid` in `spawn_child`.
 */
const HELLO: MockStep[] = [{ say: 'Hello from the mock agent.' }];

const env = process.env;
const names = {
  task_id: env['OFFICE_TASK_ID'] ?? '',
  run_id: env['OFFICE_RUN_ID'] ?? '',
  agent_id: env['OFFICE_AGENT_ID'] ?? '',
  workspace_id: env['OFFICE_WORKSPACE_ID'] ?? '',
};
const given: { prompt: unknown; config: unknown } = { prompt: null, config: null };
const sessions = new Map<string, MockSession>();
const turns = new Map<string, AbortController>();
let prompts = 0;

function steps(script: unknown): MockStep[] {
  if (script === null || script === undefined) return HELLO;
  const moment = {
    attempt: Number(env['OFFICE_RUN_ATTEMPT'] ?? 1),
    turn: Number(env['OFFICE_SESSION_TURN'] ?? 1) + Math.max(0, prompts - 1),
  };
  try {
    return readScript(script, moment, names);
  } catch (error) {
    if (error instanceof MockScriptError) throw new RequestError(-32602, error.message);
    throw error;
  }
}

/** Throws what the script wants `step` to fail with. */
function failIf(script: unknown, step: 'fail_launch' | 'fail_load', at?: 'initialize' | 'session'): void {
  const error = steps(script).find((candidate) => step in candidate)?.[step] as Record<string, unknown> | undefined;
  if (error !== undefined && (at === undefined || (error['at'] ?? 'session') === at)) throw scriptedError(error);
}

const connection = agent({ name: 'agent-office-mock' })
  .onRequest(methods.agent.initialize, ({ params }) => {
    Object.assign(given, params._meta?.[MOCK_SCRIPT_META]);
    failIf(given.prompt ?? given.config, 'fail_launch', 'initialize');
    return { protocolVersion: PROTOCOL_VERSION, agentCapabilities: { loadSession: true }, authMethods: [] };
  })
  .onRequest(methods.agent.session.new, ({ params }) => {
    failIf(given.prompt ?? given.config, 'fail_launch', 'session');
    const session: MockSession = { id: randomUUID(), cwd: params.cwd, script: null, log: [] };
    sessions.set(session.id, session);
    saveSession(session);
    return { sessionId: session.id };
  })
  .onRequest(methods.agent.session.load, async ({ params, client }) => {
    const session = findSession(params.sessionId, params.cwd);
    failIf(given.prompt ?? session?.script ?? given.config, 'fail_load');
    if (session === null) throw RequestError.sessionNotFound(params.sessionId);
    sessions.set(session.id, session);
    for (const { role, text } of session.log) {
      const update = { sessionUpdate: `${role}_message_chunk`, content: { type: 'text', text } };
      await client.notify<unknown>(methods.client.session.update, { sessionId: session.id, update });
    }
    return {};
  })
  .onRequest(methods.agent.session.prompt, async ({ params, client }) => {
    const session = sessions.get(params.sessionId);
    if (session === undefined) throw RequestError.sessionNotFound(params.sessionId);
    const text = params.prompt.map((block) => (block.type === 'text' ? block.text : '')).join('\n');
    prompts++;
    session.script = scriptIn(text) ?? session.script;
    session.log.push({ role: 'user', text });
    const cancel = new AbortController();
    turns.set(session.id, cancel);
    try {
      return await new MockTurn(session, client, cancel.signal).play(steps(session.script ?? given.config));
    } finally {
      turns.delete(session.id);
      saveSession(session);
    }
  })
  .onNotification(methods.agent.session.cancel, ({ params }) => turns.get(params.sessionId)?.abort())
  .connect(ndJsonStream(Writable.toWeb(process.stdout), Readable.toWeb(process.stdin) as ReadableStream<Uint8Array>));

await connection.closed;
process.exit(0);
