import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import type pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Fleet, metricOf } from '../support/faults/fleet.js';
import { violations } from '../support/faults/invariants.js';
import { report, SEED } from '../support/faults/report.js';
import { FINE, hire, type Staff } from '../support/faults/workload.js';
import { cloneDatabase, openPool } from '../support/office-db.js';
import { waitFor, type RealServer } from '../support/real-server.js';

/** Half an hour, or in CI what shows that the measuring works and catches the coarse leaks. */
const FULL = process.env.OFFICE_FAULTS === 'full';
const SOAK_MS = Number(process.env.OFFICE_SOAK_SEC ?? (FULL ? 1_800 : 16)) * 1_000;

let database: Awaited<ReturnType<typeof cloneDatabase>>;
let db: pg.Pool;
let fleet: Fleet;
let staff: Staff;
beforeAll(async () => {
  database = await cloneDatabase();
  db = openPool(database.url, 2, { application_name: 'the-test' });
  fleet = await Fleet.open({ databaseUrls: [database.url], size: 2 });
  staff = await hire(fleet, { workspaces: 2, agents: 4, concurrent: 2 });
});
afterAll(async () => {
  await fleet?.dispose();
  await db?.end();
  await database?.drop();
});

interface Level {
  readonly rssMb: number;
  readonly heapMb: number;
  readonly descriptors: number;
  readonly children: number;
  readonly connections: number;
}

async function levelOf(server: RealServer): Promise<Level> {
  const status = readFileSync(`/proc/${server.pid}/status`, 'utf8');
  const children = readdirSync('/proc').filter((pid) => /^\d+$/.test(pid) && parentOf(pid) === server.pid).length;
  const { rows } = await db.query<{ n: number }>(
    `select count(*)::int as n from pg_stat_activity where datname = current_database() and application_name like 'agent-office%'`,
  );
  return {
    rssMb: Number(/VmRSS:\s+(\d+)/.exec(status)![1]) / 1024,
    heapMb: (await metricOf(server, 'nodejs_heap_size_used_bytes')) / 1024 / 1024,
    descriptors: readdirSync(`/proc/${server.pid}/fd`).length,
    children,
    connections: rows[0]!.n,
  };
}

function parentOf(pid: string): number {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]);
  } catch {
    return 0;
  }
}

/** Rows of everything, and of each finished run on average. */
async function rowsPerRun(): Promise<number> {
  await db.query('analyze');
  const { rows } = await db.query<{ rows: number; runs: number }>(
    `select sum(c.reltuples)::float8 as rows, (select count(*)::int from runs) as runs
       from pg_class c where c.relkind = 'r' and c.relnamespace = 'public'::regnamespace and c.reltuples > 0`,
  );
  return rows[0]!.rows / rows[0]!.runs;
}

/** The least of some looks, so that what is about to be collected does not count. */
async function rest(server: RealServer): Promise<Level> {
  const levels: Level[] = [];
  for (let n = 0; n < 5; n++) {
    levels.push(await levelOf(server));
    await pause(400);
  }
  const least = (of: (level: Level) => number): number => Math.min(...levels.map(of));
  return {
    rssMb: least(({ rssMb }) => rssMb),
    heapMb: least(({ heapMb }) => heapMb),
    descriptors: least(({ descriptors }) => descriptors),
    children: least(({ children }) => children),
    connections: least(({ connections }) => connections),
  };
}

describe(`${SOAK_MS / 1_000} s of steady load, seed ${SEED}`, () => {
  it(
    'leave memory, handles, sockets, connections and rows per run where they were',
    async () => {
      const tasks: { id: string; agentId: string }[] = [];
      for (const { id: agentId, workspaceId } of staff.agents) {
        const { id } = await fleet.must<{ id: string }>(`POST /workspaces/${workspaceId}/tasks`, {
          title: 'again and again',
          description: FINE,
          assignee_agent_instance_id: agentId,
        });
        tasks.push({ id, agentId });
      }
      const steady = async (ms: number): Promise<void> => {
        const until = performance.now() + ms;
        for (let n = 0; performance.now() < until; n++) {
          const { id, agentId } = tasks[n % tasks.length]!;
          await fleet.must(`POST /agents/${agentId}/runs`, { task_id: id });
          await pause(120);
        }
        await waitFor(
          async () => (await db.query(`select from runs where status in ('queued', 'running', 'scheduled_retry')`)).rowCount === 0,
          60_000,
          'the load to end',
        );
      };
      // What is made once and kept (pools, plans, compiled code) is there afterwards.
      await steady(Math.max(6_000, SOAK_MS / 10));
      const [before, rowsBefore] = [await Promise.all(fleet.servers.map(rest)), await rowsPerRun()];
      await steady(SOAK_MS);
      const [after, rowsAfter] = [await Promise.all(fleet.servers.map(rest)), await rowsPerRun()];
      await report('soak', db, { soak_ms: SOAK_MS, before, after, rows_per_run: [rowsBefore, rowsAfter] });
      for (const [n, level] of after.entries()) {
        const was = before[n]!;
        expect(level.heapMb, 'heap').toBeLessThan(was.heapMb * 1.25 + 15);
        expect(level.rssMb, 'memory').toBeLessThan(was.rssMb * 1.25 + 40);
        expect(level.descriptors, 'descriptors').toBeLessThanOrEqual(was.descriptors + 6);
        expect(level.children, 'children').toBeLessThanOrEqual(was.children);
        expect(level.connections, 'connections').toBeLessThanOrEqual(was.connections + 6);
      }
      expect(rowsAfter).toBeLessThan(rowsBefore * 1.1 + 1);
      expect(await violations(db, fleet, staff)).toEqual([]);
    },
    180_000 + 2 * SOAK_MS,
  );
});
