import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { DataSource } from 'typeorm';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { CAPABILITIES } from '../../src/access/domain/capabilities.js';
import { RunTokens, type RunToMint } from '../../src/access/run-tokens.service.js';
import { AgentRuntime } from '../../src/execution/agent-runtime.js';
import { OfficeAddress } from '../../src/platform/http/office-address.js';
import { RUNTIME_ACTIONS } from '../../src/runtime/all-actions.js';
import { ACTION_NAMES } from '../../src/runtime/domain/action-names.js';
import { Scheduler } from '../../src/scheduler/scheduler.service.js';
import { waitFor } from '../support/real-server.js';
import { wholeOffice, type WholeOffice } from '../support/whole-office.js';

let office: WholeOffice;
let url: string;
beforeAll(async () => {
  office = await wholeOffice();
  await mkdir(join(office.dataDir, 'work'), { recursive: true });
  await office.app.listen(0, '127.0.0.1');
  url = await office.app.getUrl();
  office.app.get(OfficeAddress).openedAt(url);
  await office.app.get(Scheduler).open();
}, 60_000);
afterAll(() => office?.close());

async function must<Body = { id: string }>(route: string, body: object): Promise<Body> {
  const [method, path] = route.split(' ') as [string, string];
  const headers = { authorization: `Bearer ${await office.adminToken()}`, 'content-type': 'application/json' };
  const answer = await fetch(`${url}/api/v1${path}`, { method, headers, body: JSON.stringify(body) });
  if (!answer.ok) throw new Error(`${route}: ${await answer.text()}`);
  return (await answer.json()) as Body;
}

/** An agent whose turn does not end, and a client that holds its token. */
async function atWork(workspace: string): Promise<{ executionId: string; client: Client }> {
  const agent = await must(`POST /workspaces/${workspace}/agents`, {
    name: 'Ada',
    role: 'worker',
    adapter: 'mock',
    adapter_config: { script: [{ say: 'at it' }, { hang: true }] },
  });
  await must(`POST /workspaces/${workspace}/tasks`, { title: 'Mend the door', assignee_agent_instance_id: agent.id });
  const run = await waitFor(
    async () => {
      const [row] = await office.app.get(DataSource).query<(RunToMint & { readonly executionId: string })[]>(
        `select r.id as "runId", r.generation, r.workspace_id as "workspaceId", r.agent_id as "agentId", r.task_id as "taskId",
                r.session_id as "sessionId", a.execution_id as "executionId"
           from runs r join run_attempts a on a.run_id = r.id and a.generation = r.generation
          where r.agent_id = $1 and r.status = 'running' and r.started_at is not null`,
        [agent.id],
      );
      return row;
    },
    20_000,
    'the agent to be at work',
  );
  const token = office.app.get(RunTokens, { strict: false }).mint({ ...run, role: 'worker', capabilities: CAPABILITIES });
  const client = new Client({ name: 'test', version: '1' });
  const requestInit = { headers: { authorization: `Bearer ${token}` } };
  await client.connect(new StreamableHTTPClientTransport(new URL(`${url}/mcp`), { requestInit }) as never);
  return { executionId: run.executionId, client };
}

it('a live execution is offered the tools that its mode says, from the next question on, and no other is', async () => {
  const workspace = (await must('POST /workspaces', { name: 'Acme' })).id;
  const [changed, other] = [await atWork(workspace), await atWork(workspace)];
  const runtime = office.app.get(AgentRuntime, { strict: false });
  const toolsOf = async ({ client }: { client: Client }) => (await client.listTools()).tools.map(({ name }) => name).toSorted();
  const all = [...ACTION_NAMES].toSorted();
  const ofTask = RUNTIME_ACTIONS.flatMap(({ declared }) => (declared.ofTask === true ? [declared.action] : [])).toSorted();
  expect(await toolsOf(changed)).toEqual(all);
  const comment = () => changed.client.callTool({ name: 'post_comment', arguments: { body: 'Through a tool' } });
  const look = () => changed.client.callTool({ name: 'spawn_agent_run', arguments: {} });
  expect(ofTask).not.toContain('spawn_agent_run');

  await runtime.setMcpMode(changed.executionId, 'task');
  expect(await toolsOf(changed)).toEqual(ofTask);
  expect((await comment()).isError).not.toBe(true);
  await expect(look()).rejects.toThrow('there is no tool spawn_agent_run');
  expect(await toolsOf(other)).toEqual(all);

  await runtime.setMcpMode(changed.executionId, 'none');
  expect(await toolsOf(changed)).toEqual([]);
  await expect(comment()).rejects.toThrow('there is no tool post_comment');

  await runtime.setMcpMode(changed.executionId, 'office');
  expect(await toolsOf(changed)).toEqual(all);
  // There again: it says itself what it lacks.
  expect((await look()).isError).toBe(true);
});
