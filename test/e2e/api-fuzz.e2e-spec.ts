import fc from 'fast-check';
import type { OpenAPIObject } from '@nestjs/swagger';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { newId } from '../../src/platform/ids.js';
import { answerFault, operationsOf, requestsOf, type Operation } from '../support/api-fuzz.js';
import { cloneDatabase } from '../support/office-db.js';
import { mockScript, RealServer, waitFor } from '../support/real-server.js';

/** How many requests an operation gets; `npm run fuzz` asks for more. */
const RUNS = Number(process.env.OFFICE_FUZZ_RUNS ?? 12);

let database: Awaited<ReturnType<typeof cloneDatabase>>;
let server: RealServer;
let document: OpenAPIObject;
let operations: Operation[];
let runtimeToken: string;
let ids: string[];

/** A run that keeps going, whose token its own agent has written down for us. */
async function aRunsToken(workspaceId: string): Promise<{ token: string; ids: string[] }> {
  const agent = await server.must<{ id: string }>(`POST /workspaces/${workspaceId}/agents`, {
    name: 'Cleo',
    role: 'ceo',
    adapter: 'custom',
    adapter_config: { command: [process.execPath, '-e', SPY] },
  });
  const task = await server.must<{ id: string }>(`POST /workspaces/${workspaceId}/tasks`, {
    title: 'Be asked',
    assignee_agent_instance_id: agent.id,
  });
  const run = await waitFor(
    async () => {
      const { items } = await server.must<{ items: { id: string; status: string }[] }>(
        `GET /workspaces/${workspaceId}/runs?agent_id=${agent.id}`,
      );
      return items.find(({ status }) => status === 'running');
    },
    30_000,
    'the run',
  );
  const token = await waitFor(
    async () => {
      const { items } = await server.must<{ items: { executor: { path: string } | null }[] }>(`GET /tasks/${task.id}/sessions`);
      const path = items[0]?.executor?.path;
      return path !== undefined && (await readIfThere(`${path}/token`));
    },
    30_000,
    'its token',
  );
  return { token, ids: [agent.id, task.id, run.id] };
}

/** Never answers; its first deed is to write down the token it was given. */
const SPY = `require('node:fs').writeFileSync('token', process.env.OFFICE_API_KEY); process.stdin.resume()`;

async function readIfThere(path: string): Promise<string | false> {
  const { readFile } = await import('node:fs/promises');
  return readFile(path, 'utf8').catch(() => false as const);
}

beforeAll(async () => {
  database = await cloneDatabase();
  server = await RealServer.start({
    databaseUrl: database.url,
    env: { OFFICE_FIRST_EVENT_TIMEOUT_SEC: '3600', OFFICE_MAX_EXECUTIONS: '2' },
  });
  document = (await (await fetch(`${server.url}/api/docs-json`)).json()) as OpenAPIObject;
  operations = operationsOf(document);
  const { id: ws } = await server.must<{ id: string }>('POST /workspaces', { name: 'Acme' });
  const agent = await server.must<{ id: string }>(`POST /workspaces/${ws}/agents`, { name: 'Ada', role: 'worker', adapter: 'mock' });
  const task = await server.must<{ id: string }>(`POST /workspaces/${ws}/tasks`, { title: 'Door', description: mockScript({ say: 'Hi' }) });
  const running = await aRunsToken(ws);
  const { items } = await server.must<{ items: { id: string }[] }>(`GET /workspaces/${ws}/skills`);
  runtimeToken = running.token;
  ids = [ws, agent.id, task.id, ...running.ids, items[0]!.id];
}, 120_000);
afterAll(async () => {
  await server?.dispose();
  await database?.drop();
});

async function ask(operation: Operation, url: string, body: string | undefined): Promise<{ status: number; body: unknown }> {
  const isAgents = operation.path.startsWith('/api/v1/runtime');
  const answer = await fetch(`${server.url}${url}`, {
    method: operation.method,
    headers: {
      authorization: `Bearer ${isAgents ? runtimeToken : server.token}`,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...(operation.method === 'POST' ? { 'idempotency-key': newId() } : {}),
    },
    ...(body === undefined ? {} : { body }),
  });
  const text = await answer.text();
  const isDocument = String(answer.headers.get('content-type')).startsWith('application/json');
  return { status: answer.status, body: isDocument && text !== '' ? (JSON.parse(text) as unknown) : text };
}

/** Whatever ends the office, the workspace or the run for everybody else's requests is asked last. */
const isFinal = ({ method, path }: Operation): boolean =>
  method === 'DELETE' ||
  /\/(stop|cancel|drain)$/.test(path) ||
  (method === 'PATCH' && /\/(agents|tasks)\/\{id\}$/.test(path)) ||
  path.endsWith('/status');

it('answers whatever is asked as its document says, and never with a fault of its own', async () => {
  const faults: string[] = [];
  const inOrder = operations.toSorted((a, b) => Number(isFinal(a)) - Number(isFinal(b)));
  for (const operation of inOrder) {
    const found = await fc.check(
      fc.asyncProperty(requestsOf(document, operation, ids), async ({ url, body }) => {
        const answer = await ask(operation, url, body);
        const fault = answerFault(document, operation, answer.status, answer.body);
        if (fault !== null) throw new Error(`${operation.method} ${url} ${body ?? ''}: ${fault}`);
      }),
      { numRuns: RUNS, endOnFailure: true },
    );
    if (found.failed) faults.push(`${operation.method} ${operation.path}: ${String(found.errorInstance)} (seed ${found.seed})`);
  }
  expect(faults).toEqual([]);
  expect(server.alive).toBe(true);
  expect(server.log.filter((line) => line.includes('"msg":"request failed"'))).toEqual([]);
}, 1_200_000);
