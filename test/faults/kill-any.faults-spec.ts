import { readdirSync, readFileSync } from 'node:fs';
import type pg from 'pg';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Fleet } from '../support/faults/fleet.js';
import { violations } from '../support/faults/invariants.js';
import { ProcessWatch } from '../support/faults/process-watch.js';
import { report, SEED } from '../support/faults/report.js';
import { hire, seeToEverything, Workload } from '../support/faults/workload.js';
import { cloneDatabase, openPool } from '../support/office-db.js';
import { faults, seeded, type RealServer } from '../support/real-server.js';

const KILLS = faults(200);

/** Processes that were told this data dir: a supervisor's argument is its record there. */
const supervisorsOf = (dataDir: string): string[] =>
  readdirSync('/proc').filter((pid) => {
    try {
      return /^\d+$/.test(pid) && readFileSync(`/proc/${pid}/cmdline`, 'latin1').includes(dataDir);
    } catch {
      return false;
    }
  });

let database: Awaited<ReturnType<typeof cloneDatabase>>;
let db: pg.Pool;
let fleet: Fleet;
beforeAll(async () => {
  database = await cloneDatabase();
  db = openPool(database.url);
  fleet = await Fleet.open({ databaseUrls: [database.url], size: 4 });
});
afterAll(async () => {
  await fleet?.dispose();
  await db?.end();
  await database?.drop();
});

describe(`kill -9 of a random server of 4, ${KILLS} times, seed ${SEED}`, () => {
  it(
    'loses, doubles, sticks and miscounts nothing',
    async () => {
      const random = seeded(SEED);
      const staff = await hire(fleet, { workspaces: 3, agents: 3 });
      const watch = new ProcessWatch(staff.workspaces);
      const load = new Workload(fleet, staff, seeded(SEED + 1)).start(3, 150);
      const coming = new Map<RealServer, Promise<unknown>>();
      for (let kills = 0; kills < KILLS; kills++) {
        await pause(300 + random() * 900);
        // Somebody has to be there to answer: two at most are down at a time.
        while (coming.size >= 2) await Promise.race(coming.values());
        const up = fleet.servers.filter((server) => !coming.has(server));
        const victim = up[Math.floor(random() * up.length)]!;
        await victim.end('SIGKILL');
        const back = pause(random() * 500).then(() => victim.boot());
        coming.set(
          victim,
          back.then(() => coming.delete(victim)),
        );
      }
      await Promise.all(coming.values());
      await load.stop();
      await seeToEverything(fleet, staff, 120_000);
      watch.stop();
      const { rows } = await db.query<{ cut: number }>(`select count(*)::int as cut from runs where failure_kind = 'interrupted'`);
      await report('kill -9', db, { kills: KILLS, requests: load.requests, ...rows[0], answers: Object.fromEntries(load.answers) });
      expect(rows[0]!.cut, 'turns that a kill cut off').toBeGreaterThan(0);
      const lost = await db.query(`select id from unnest($1::uuid[]) id where not exists (select from runs r where r.id = id)`, [
        load.told.map(({ runId }) => runId),
      ]);
      expect(lost.rows, 'wakes that were promised').toEqual([]);
      expect([...watch.doubled, ...(await violations(db, fleet, staff))]).toEqual([]);
      // Neither agents nor supervisors outlive their servers.
      for (const server of fleet.servers) await server.end('SIGTERM');
      expect(fleet.servers.flatMap(({ dataDir }) => supervisorsOf(dataDir))).toEqual([]);
    },
    240_000 + KILLS * 4_000,
  );
});
