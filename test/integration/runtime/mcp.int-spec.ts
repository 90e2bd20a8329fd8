// oxlint-disable vitest/no-conditional-expect -- what is expected of a case is computed from it, and every branch expects something
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import { existsSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CAPABILITIES } from '../../../src/access/domain/capabilities.js';
import type { McpMode } from '../../../src/execution/agent-runtime.js';
import { MCP_BRIDGE_ENTRY } from '../../../src/execution/entries.js';
import { ACTION_NAMES } from '../../../src/runtime/domain/action-names.js';
import { RUNTIME_ACTIONS } from '../../../src/runtime/all-actions.js';
import { McpTools } from '../../../src/runtime/mcp/mcp-tools.service.js';
import { RunDoor } from '../../../src/access/run-door.service.js';
import { RuntimeDesk, type Worker } from '../../support/runtime-desk.js';

let desk: RuntimeDesk;
let url: string;
beforeAll(async () => {
  desk = await RuntimeDesk.open();
  url = await desk.listen();
});
afterAll(() => desk.close());

const connected = async (transport: unknown): Promise<Client> => {
  const client = new Client({ name: 'test', version: '1' });
  await client.connect(transport as Transport);
  return client;
};
const clientOf = (token: string): Promise<Client> =>
  connected(new StreamableHTTPClientTransport(new URL(`${url}/mcp`), { requestInit: { headers: { authorization: `Bearer ${token}` } } }));

interface Result {
  readonly isError?: boolean;
  readonly structuredContent?: Readonly<Record<string, unknown>>;
  readonly content: readonly { readonly text: string }[];
}
const call = async (client: Client, name: string, args: Record<string, unknown> = {}): Promise<Result> =>
  (await client.callTool({ name, arguments: args })) as unknown as Result;
const must = async (client: Client, name: string, args: Record<string, unknown> = {}): Promise<Readonly<Record<string, unknown>>> => {
  const result = await call(client, name, args);
  if (result.isError === true) throw new Error(`${name}: ${result.content[0]!.text}`);
  return result.structuredContent!;
};

/** Everything a run may ask for, in an order in which each has what it needs. */
async function useEveryTool(client: Client, worker: Worker): Promise<string[]> {
  const ws = desk.workspaceId;
  const path = `workspaces/${ws}/memory/agents/${worker.run.agentId}/notes`;
  const skill = await desk.office.must<{ id: string }>(`POST /workspaces/${ws}/skills`, {
    slug: `s-${Date.now()}`,
    name: 'S',
    description: 'S',
    content: 'S',
  });
  const used: string[] = [];
  const use = (name: string, args: Record<string, unknown> = {}) => (used.push(name), must(client, name, args));

  expect(await use('me')).toMatchObject({ run_id: worker.run.runId });
  expect(await use('post_comment', { body: 'Through a tool' })).toMatchObject({ comment_id: expect.any(String) });
  expect(await use('step_complete', { summary: 'It is mended.' })).toEqual({ accepted: true });
  expect(await must(client, 'step_complete', { summary: 'Once more' })).toEqual({ accepted: false, reason: 'already_signaled' });
  used.push('step_complete');
  expect(await use('update_task_status', { status: 'in_review' })).toEqual({ task_id: worker.run.taskId, state: 'REVIEW' });
  expect(await use('create_subtask', { title: 'Below' })).toMatchObject({ task_id: expect.any(String) });
  const { agent } = (await use('create_agent', { name: 'Bob', role: 'worker' })) as { agent: { id: string } };
  const { items } = await desk.office.must<{ items: { id: string }[] }>(`GET /workspaces/${ws}/approvals?status=pending`);
  await desk.office.must(`POST /approvals/${items[0]!.id}/approve`, {});
  expect(await use('modify_agent', { agent_id: agent.id, instructions: 'Be brief.' })).toMatchObject({
    agent: { instructions: 'Be brief.' },
  });
  await desk.office.must(`POST /agents/${agent.id}/pause`, {});
  expect(await use('unpause_agent', { agent_id: agent.id })).toMatchObject({ agent: { status: 'idle' } });
  expect(await use('spawn_agent_run', { agent_id: agent.id })).toMatchObject({ outcome: 'queued' });
  expect(await use('request_approval', { type: 'generic', reason: 'May I?' })).toMatchObject({ approval: { status: 'pending' } });
  expect(await use('write_memory', { path, content: 'kept' })).toMatchObject({ replaced: null });
  expect(await use('read_memory', { path })).toMatchObject({ content: 'kept' });
  expect(await use('list_skills')).toMatchObject({ items: expect.any(Array) });
  expect(await use('delete_skill', { skill_id: skill.id })).toEqual({ id: skill.id, deleted: true });
  const { step } = await desk.office.must<{ step: { id: string } }>(`GET /tasks/${worker.run.taskId}`);
  await desk.office.must(`PUT /tasks/${worker.run.taskId}/participants`, {
    step_id: step.id,
    agent_id: worker.run.agentId,
    role: 'reviewer',
  });
  expect(await use('decide', { decision: 'approved', note: 'Well done.' })).toMatchObject({ step_id: step.id, decision: 'approved' });
  return used;
}

describe('a real MCP client', () => {
  it('lists every tool with the input its route takes, and calls each', async () => {
    const ceo = await desk.worker({ role: 'ceo', permissions: { allow: ['delete_skills'] } });
    const client = await clientOf(ceo.token);
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toEqual([...ACTION_NAMES]);
    expect(tools.find(({ name }) => name === 'create_subtask')!.inputSchema).toMatchObject({
      type: 'object',
      required: ['title'],
      additionalProperties: false,
      properties: {
        task_id: { type: 'string', format: 'uuid' },
        title: { type: 'string', minLength: 1, maxLength: 500 },
        blocked_by: { type: 'array', items: { type: 'string', format: 'uuid' }, maxItems: 100 },
      },
    });
    expect(tools.find(({ name }) => name === 'create_agent')!.inputSchema.properties).toMatchObject({
      permissions: { type: 'object', properties: { allow: { type: 'array', items: { enum: [...CAPABILITIES] } } } },
      reports_to: { type: ['string', 'null'] },
    });

    const used = await useEveryTool(client, ceo);
    expect([...new Set(used)].toSorted()).toEqual([...ACTION_NAMES].toSorted());
    const log = await ceo.log();
    expect(log.map(({ payload }) => payload.action)).toEqual(used);
    expect(new Set(log.map(({ event_type }) => event_type))).toEqual(new Set(['runtime.action']));
    await client.close();
  });

  it('is told what it may not, in words for the model, and the run’s log is told as well', async () => {
    const ada = await desk.worker();
    const other = await desk.task();
    const client = await clientOf(ada.token);
    expect((await client.listTools()).tools.map(({ name }) => name)).not.toContain('create_agent');
    const refused = async (name: string, args: Record<string, unknown> = {}): Promise<string> => {
      const result = await call(client, name, args);
      expect(result.isError).toBe(true);
      return (JSON.parse(result.content[0]!.text) as { code: string }).code;
    };
    expect([
      await refused('create_agent', { name: 'Eve', role: 'worker' }),
      await refused('post_comment', { task_id: other, body: 'Hi' }),
      await refused('post_comment', { task_id: desk.workspaceId, body: 'Hi' }),
      await refused('post_comment', { body: 'Hi', loud: true }),
      await refused('me', { loud: true }),
      await refused('read_memory', { path: 7 }),
    ]).toEqual([
      'capability_denied',
      'task_out_of_scope',
      'workspace_out_of_scope',
      'validation_failed',
      'validation_failed',
      'validation_failed',
    ]);
    const log = await ada.log();
    expect(log.map(({ event_type, payload }) => [event_type, payload.error])).toEqual([
      ['runtime.denied', 'capability_denied'],
      ['runtime.denied', 'task_out_of_scope'],
      ['runtime.denied', 'workspace_out_of_scope'],
      ['runtime.denied', 'validation_failed'],
      ['runtime.denied', 'validation_failed'],
      ['runtime.denied', 'validation_failed'],
    ]);
    await expect(client.callTool({ name: 'launch_missiles' })).rejects.toThrow(/there is no tool launch_missiles/);
    await client.close();
  });

  it('is not let in without a token, nor with one whose run is over', async () => {
    const ada = await desk.worker();
    const post = (headers: Record<string, string>) =>
      fetch(`${url}/mcp`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream', ...headers },
        body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' }),
      }).then(async (answer) => [answer.status, await answer.json()]);
    expect(await post({})).toEqual([401, { error: 'missing runtime token' }]);
    expect(await post({ authorization: `Bearer ${desk.office.token}` })).toEqual([401, { error: 'invalid runtime token' }]);
    expect(await post({ authorization: `Bearer ${ada.token}` })).toMatchObject([200, { result: { tools: expect.any(Array) } }]);
    await desk.office.complete(ada.run);
    expect(await post({ authorization: `Bearer ${ada.token}` })).toEqual([401, { error: 'invalid runtime token' }]);
    await expect(clientOf(ada.token)).rejects.toThrow(/invalid runtime token/);
  });

  it('has neither a stream to listen to nor a session to end', async () => {
    const ada = await desk.worker();
    for (const method of ['GET', 'DELETE']) {
      const answer = await fetch(`${url}/mcp`, { method, headers: { authorization: `Bearer ${ada.token}`, accept: 'text/event-stream' } });
      expect([answer.status, await answer.json()]).toMatchObject([405, { code: 'method_not_allowed' }]);
    }
  });
});

describe('the mode of an execution', () => {
  const OF_TASK = RUNTIME_ACTIONS.filter(({ declared }) => declared.ofTask === true).map(({ declared }) => declared.action);

  it.each<[McpMode, readonly string[]]>([
    ['office', ACTION_NAMES],
    ['task', OF_TASK],
    ['none', []],
  ])('%s chooses the tools', async (mode, expected) => {
    const ceo = await desk.worker({ role: 'ceo', permissions: { allow: ['delete_skills'] } });
    const app = desk.office.app.app;
    const run = await app.get(RunDoor, { strict: false }).identify(`Bearer ${ceo.token}`);
    const tools = app.get(McpTools, { strict: false });
    expect(tools.list(run, mode).map(({ name }) => name)).toEqual([...expected]);
    expect(await tools.call(run, mode, 'spawn_agent_run', {})).toEqual(
      mode === 'office' ? expect.objectContaining({ isError: true }) : null,
    );
  });
});

describe('the bridge', () => {
  it('stands between an agent that speaks stdio and the office', async () => {
    expect(existsSync(MCP_BRIDGE_ENTRY), 'needs a build').toBe(true);
    const ada = await desk.worker();
    const env = { OFFICE_MCP_URL: `${url}/mcp`, OFFICE_API_KEY: ada.token };
    const client = await connected(new StdioClientTransport({ command: process.execPath, args: [MCP_BRIDGE_ENTRY], env }));
    expect((await client.listTools()).tools.map(({ name }) => name)).toContain('post_comment');
    expect(await must(client, 'post_comment', { body: 'Over the bridge' })).toMatchObject({ comment_id: expect.any(String) });
    await desk.office.complete(ada.run);
    await expect(client.callTool({ name: 'me' })).rejects.toThrow(/refused the token/);
    await client.close();
  });
});
