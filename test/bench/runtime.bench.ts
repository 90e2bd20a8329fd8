import 'reflect-metadata';
import { Test } from '@nestjs/testing';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import Fastify from 'fastify';
import { mkdtempSync, rmSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DataSource } from 'typeorm';
import { RunTokens } from '../../src/access/run-tokens.service.js';
import { AppModule } from '../../src/app.module.js';
import { readSettings } from '../../src/platform/config/office-settings.js';
import { UnitOfWork } from '../../src/platform/database/unit-of-work.js';
import { configureHttp } from '../../src/platform/http/configure-http.js';
import { OfficeHttpAdapter } from '../../src/platform/http/office-http.adapter.js';
import { newId } from '../../src/platform/ids.js';
import { OfficeLogger } from '../../src/platform/logging/office-logger.js';
import { OfficeHost } from '../../src/platform/office-host.js';
import { OfficeSocketAdapter } from '../../src/realtime/office-socket.adapter.js';
import { ClaimService } from '../../src/runs/claim.service.js';
import { WakeService } from '../../src/runs/wake.service.js';
import { furnish } from './furnish.js';
import type { Bench, Figure } from './figures.js';

const ROUNDS = 8;
const REQUESTS = 1_500;
const AT_ONCE = 8;

interface Target {
  readonly port: number;
  readonly path: string;
  readonly token: string;
}

/** Milliseconds for `count` comments, `AT_ONCE` at a time over connections that stay open. */
async function time(targets: readonly Target[], count: number): Promise<number> {
  const agent = new Agent({ keepAlive: true, maxSockets: AT_ONCE });
  const body = JSON.stringify({ body: 'The door is mended, and the hinges are oiled.' });
  const one = ({ port, path, token }: Target): Promise<void> =>
    new Promise((resolve, reject) => {
      const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) };
      const sent = request({ agent, port, host: '127.0.0.1', path, method: 'POST', headers }, (answer) => {
        answer.resume().once('end', () => (answer.statusCode === 201 ? resolve() : reject(new Error(`answered ${answer.statusCode}`))));
      });
      sent.once('error', reject);
      sent.end(body);
    });
  let left = count;
  const since = performance.now();
  const lane = async (lane_: number): Promise<void> => {
    while (left-- > 0) await one(targets[lane_ % targets.length]!);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, (_, index) => lane(index)));
  agent.destroy();
  return performance.now() - since;
}

const median = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!;

/** An authorised comment of an agent against a bare Fastify route that makes the same inserts in a transaction of the same pool. */
export const runtimeBench: Bench = {
  name: 'runtime',
  async run(place): Promise<Figure[]> {
    const dataDir = mkdtempSync(join(tmpdir(), 'office-bench-runtime-'));
    const databaseUrl = await place.database();
    const pairs = await furnish(databaseUrl, { workspaces: AT_ONCE, agents: 1, tasks: 1, concurrent: 1 });
    const host = new OfficeHost(newId(), newId(), 'bench');
    const settings = readSettings({ OFFICE_DATA_DIR: dataDir, OFFICE_WORK_DIR: join(dataDir, 'work') });
    const testing = await Test.createTestingModule({
      imports: [AppModule.of({ settings, databaseUrl, host, stateDir: join(dataDir, 'state') })],
    })
      .setLogger(new OfficeLogger('silent'))
      .compile();
    const app = testing.createNestApplication<NestFastifyApplication>(new OfficeHttpAdapter(), { logger: false });
    configureHttp(app);
    app.useWebSocketAdapter(new OfficeSocketAdapter(app));
    await app.listen(0, '127.0.0.1');
    const unitOfWork = app.get(UnitOfWork);
    const dataSource = app.get(DataSource);
    await dataSource.query(`insert into hosts (id, boot_id, name, adapters, max_executions) values ($1, $2, 'bench', '{mock}', 100)`, [
      host.id,
      host.bootId,
    ]);

    const runs = await Promise.all(
      pairs.map(async ({ workspaceId, agentId, taskId }) => {
        await unitOfWork.run(workspaceId, (tx) =>
          app
            .get(WakeService, { strict: false })
            .wake(tx, { agentId, on: { taskId }, reason: 'task_assigned', actor: { kind: 'system', id: null } }),
        );
        const { claimed } = await app
          .get(ClaimService, { strict: false })
          .claim({ workspaceId, hostId: host.id, bootId: host.bootId, leaseSec: 3_600, busyTaskIds: [], limit: 1, workDir: '/nowhere' });
        return claimed[0]!;
      }),
    );

    const bare = Fastify();
    for (const [index, run] of runs.entries()) {
      bare.post(`/comments/${index}`, async (request_, reply) => {
        const { body } = request_.body as { body: string };
        const id = newId();
        const runner = dataSource.createQueryRunner();
        try {
          await runner.startTransaction();
          await runner.query(
            `insert into task_comments (workspace_id, id, task_id, author_kind, author_id, source, run_id, body) values ($1, $2, $3, 'agent', $4, 'agent', $5, $6)`,
            [run.workspaceId, id, run.taskId, run.agentId, run.runId, body],
          );
          await runner.query(
            `insert into office_run_events (run_id, seq, workspace_id, event_type, payload)
             select $1, coalesce(max(seq), 0) + 1, $2, 'runtime.action', $3 from office_run_events where run_id = $1`,
            [run.runId, run.workspaceId, JSON.stringify({ action: 'post_comment', target_type: 'task', target_id: run.taskId })],
          );
          await runner.query(
            `with counter as (update office_event_counters set last_seq = last_seq + 1 where workspace_id = $1 returning last_seq)
             insert into office_events (workspace_id, seq, action, payload) select $1, last_seq, 'office.comment.created', $2 from counter`,
            [run.workspaceId, JSON.stringify({ comment_id: id, task_id: run.taskId, author: { kind: 'agent', id: run.agentId } })],
          );
          await runner.commitTransaction();
        } finally {
          await runner.release();
        }
        return reply.code(201).send({ comment_id: id });
      });
    }
    await bare.listen({ port: 0, host: '127.0.0.1' });
    const portOf = (url: string): number => Number(new URL(url).port);
    const tokens = app.get(RunTokens, { strict: false });
    const port = portOf(await app.getUrl());
    const barePort = (bare.server.address() as { port: number }).port;
    const ours = runs.map((run) => ({ port, path: '/api/v1/runtime/comments', token: tokens.mint(run) }));
    const theirs = runs.map((_, index) => ({ port: barePort, path: `/comments/${index}`, token: 'none' }));

    const count = Math.ceil(REQUESTS * place.size);
    await time(ours, count);
    await time(theirs, count);
    const took = { ours: [] as number[], theirs: [] as number[] };
    // In turn, so that whatever else the machine does falls on both.
    for (let round = 0; round < ROUNDS; round++) {
      took.theirs.push((await time(theirs, count)) / count);
      took.ours.push((await time(ours, count)) / count);
    }
    await bare.close();
    await app.close();
    rmSync(dataDir, { recursive: true, force: true });
    return [
      {
        what: `POST /runtime/comments, ${AT_ONCE} at once`,
        ours: median(took.ours),
        baseline: { of: 'a bare Fastify route with the same inserts', value: median(took.theirs) },
        unit: 'ms',
        target: 'at most 1.6x',
      },
    ];
  },
};
