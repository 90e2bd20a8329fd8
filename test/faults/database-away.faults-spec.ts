import type pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openDatabaseGate, type DatabaseGate } from '../support/database-gate.js';
import { cloneDatabase, openPool } from '../support/office-db.js';
import { faults, mockScript, RealServer, waitFor } from '../support/real-server.js';

const AWAY_MS = faults(60) * 1_000;

let database: Awaited<ReturnType<typeof cloneDatabase>>;
let gate: DatabaseGate;
let db: pg.Pool;
let server: RealServer;
beforeAll(async () => {
  database = await cloneDatabase();
  gate = await openDatabaseGate(database.url);
  db = openPool(database.url);
  server = await RealServer.start({ databaseUrl: gate.url });
});
afterAll(async () => {
  await server?.dispose();
  await gate?.close();
  await db?.end();
  await database?.drop();
});

const ready = async (): Promise<number> => (await fetch(`${server.url}/health/ready`)).status;

describe(`the database away for ${AWAY_MS / 1_000} s under load`, () => {
  it(
    'stops nothing but work: no crash, few words, a red light, and everything goes on by itself',
    async () => {
      const { id: workspaceId } = await server.must<{ id: string }>('POST /workspaces', { name: 'Acme' });
      const agents: string[] = [];
      for (let n = 0; n < 6; n++) {
        const agent = await server.must<{ id: string }>(`POST /workspaces/${workspaceId}/agents`, {
          name: `A${n}`,
          role: 'worker',
          adapter: 'mock',
        });
        agents.push(agent.id);
      }
      // One turn ends while the database is away, one outlasts it, the others wait to be claimed.
      const talk = [
        mockScript({ say: 'short' }, { sleep_ms: 1_500 }, { say: 'over' }),
        mockScript({ say: 'long' }, { sleep_ms: AWAY_MS + 1_500 }, { say: 'over' }),
      ];
      for (let n = 0; n < 24; n++) {
        await server.must(`POST /workspaces/${workspaceId}/tasks`, {
          title: `T${n}`,
          description: n < 6 ? talk[n % 2] : mockScript({ say: 'hello' }),
          assignee_agent_instance_id: agents[n % 6],
        });
      }
      await waitFor(
        async () => (await db.query(`select from task_sessions where state = 'RUNNING'`)).rowCount! >= 4,
        20_000,
        'some turns to be under way',
      );
      expect(await ready()).toBe(200);

      const saidBefore = server.log.length;
      await gate.shut();
      await waitFor(async () => (await ready()) === 503, 10_000, 'readiness to go red');
      const refused = await server.call(`GET /workspaces/${workspaceId}/tasks`);
      expect(refused.status).toBe(503);
      expect(refused.body).toMatchObject({ code: 'database_unavailable' });
      await new Promise((resolve) => setTimeout(resolve, AWAY_MS));
      expect(server.alive).toBe(true);
      expect((await fetch(`${server.url}/health/live`)).status).toBe(200);
      await gate.open();

      await waitFor(async () => (await ready()) === 200, 15_000, 'readiness to come back');
      await waitFor(
        async () => (await db.query(`select from runs where status not in ('completed')`)).rowCount === 0,
        60_000,
        'every run to complete',
      );
      const said = server.log.slice(saidBefore).filter((line) => !line.includes('"run ended"'));
      expect(said.length, said.join('\n')).toBeLessThan(200);
      expect(said.filter((line) => line.includes('database is away')).length).toBeGreaterThan(0);
      const { rows } = await db.query(
        `select (select count(*)::int from runs) as runs, (select count(*)::int from run_attempts where generation > 1) as repeated`,
      );
      expect(rows).toEqual([{ runs: 24, repeated: 0 }]);
      const { rows: agentsAfter } = await db.query(`select distinct consecutive_failures, pause_reason from agent_instances`);
      expect(agentsAfter).toEqual([{ consecutive_failures: 0, pause_reason: null }]);
    },
    AWAY_MS + 150_000,
  );
});
