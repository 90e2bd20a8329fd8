import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';
import { afterEach, describe, expect, it } from 'vitest';
import { Fleet } from '../support/faults/fleet.js';
import { violations } from '../support/faults/invariants.js';
import { OwnPostgres, type OwnPostgresOptions } from '../support/faults/own-postgres.js';
import { ProcessWatch } from '../support/faults/process-watch.js';
import { report, SEED } from '../support/faults/report.js';
import { FINE, hire, seeToEverything, Workload, type Staff } from '../support/faults/workload.js';
import { openPool } from '../support/office-db.js';
import { faults, seeded, waitFor } from '../support/real-server.js';

/** A server may say so many lines a minute while its database is in trouble, besides what it says of its work. */
const LINES_A_MINUTE = 200;

/** An office under load on a PostgreSQL of its own, for one fault. */
class Scene {
  private constructor(
    readonly postgres: OwnPostgres,
    readonly db: pg.Pool,
    readonly fleet: Fleet,
    readonly staff: Staff,
    readonly load: Workload,
    private readonly watch: ProcessWatch,
    private readonly seen: number[],
    private readonly since: number,
  ) {}

  static async open(options: OwnPostgresOptions = {}): Promise<Scene> {
    const postgres = await OwnPostgres.start(options);
    const url = postgres.urlOf(await postgres.create());
    const db = openPool(url, 2);
    const fleet = await Fleet.open({ databaseUrls: [url], size: 2 });
    const staff = await hire(fleet, { workspaces: 2, agents: 3, threshold: 100 });
    const load = new Workload(fleet, staff, seeded(SEED), 30).start(2, 150);
    await waitFor(
      async () => (await db.query(`select from runs where status = 'completed'`)).rowCount! > 3,
      30_000,
      'the office to be at work',
    );
    return new Scene(
      postgres,
      db,
      fleet,
      staff,
      load,
      new ProcessWatch(staff.workspaces),
      fleet.servers.map(({ log }) => log.length),
      performance.now(),
    );
  }

  async readiness(): Promise<number[]> {
    return Promise.all(this.fleet.servers.map(async ({ url }) => (await fetch(`${url}/health/ready`)).status));
  }

  red(): Promise<unknown> {
    return waitFor(async () => (await this.readiness()).every((status) => status === 503), 15_000, 'readiness to go red');
  }

  green(): Promise<unknown> {
    return waitFor(async () => (await this.readiness()).every((status) => status === 200), 40_000, 'readiness to come back');
  }

  /** Everything goes on by itself. Answers what is wrong in the end. */
  async goesOn(what: string, facts: Record<string, unknown> = {}): Promise<string[]> {
    const done = async (): Promise<number> => (await this.db.query(`select from runs where status = 'completed'`)).rowCount!;
    // Before anybody is asked: what is asked may be done by the time the last has been asked.
    const before = await done();
    for (const { id, workspaceId } of this.staff.agents) {
      await this.fleet.must(`POST /agents/${id}/unpause`, {});
      await this.fleet.must(`POST /workspaces/${workspaceId}/tasks`, { title: 'after', description: FINE, assignee_agent_instance_id: id });
    }
    await waitFor(async () => (await done()) > before + 3, 60_000, 'work to go on');
    const minutes = (performance.now() - this.since) / 60_000;
    const said = this.fleet.servers.map(({ log }, n) => log.slice(this.seen[n]).filter((line) => !line.includes('"run ended"')));
    await this.load.stop();
    await seeToEverything(this.fleet, this.staff, 90_000);
    this.watch.stop();
    const dead = this.fleet.servers.filter(({ alive }) => !alive).map(() => 'a server ended');
    const loud = said
      .filter((lines) => lines.length >= LINES_A_MINUTE * Math.max(1, minutes))
      .map((lines) => `${lines.length} lines in ${minutes.toFixed(1)} minutes, such as ${lines.slice(0, 10).join(' ')}`);
    await report(what, this.db, { ...facts, log_lines: said.map(({ length }) => length), answers: Object.fromEntries(this.load.answers) });
    return [...dead, ...loud, ...this.watch.doubled, ...(await violations(this.db, this.fleet, this.staff))];
  }

  async close(): Promise<void> {
    this.watch.stop();
    await this.fleet.dispose();
    await this.db.end();
    await this.postgres.dispose();
  }
}

let scene: Scene | undefined;
const open = async (options?: OwnPostgresOptions): Promise<Scene> => (scene = await Scene.open(options));
afterEach(async () => {
  await scene?.close();
  scene = undefined;
});

describe(`a PostgreSQL in trouble, seed ${SEED}`, () => {
  it(`killed -9 under load, ${faults(20)} times`, { timeout: 180_000 + faults(20) * 15_000 }, async () => {
    const { postgres } = await open();
    for (let n = 0; n < faults(20); n++) {
      await postgres.killNine();
      await pause(1_000);
      await postgres.startAgain();
      await scene!.green();
      await pause(1_500);
    }
    expect(await scene!.goesOn('PostgreSQL killed -9', { kills: faults(20) })).toEqual([]);
  });

  it(`stopped for ${faults(60)} s`, async () => {
    const { postgres } = await open();
    await postgres.stop();
    await scene!.red();
    await pause(faults(60) * 1_000);
    await postgres.startAgain();
    await scene!.green();
    expect(await scene!.goesOn('PostgreSQL stopped', { seconds: faults(60) })).toEqual([]);
  });

  it('out of connections', async () => {
    const { postgres, db } = await open({ settings: { max_connections: 60 } });
    const hoarded: pg.Client[] = [];
    const hoardOne = async (): Promise<void> => {
      const client = new pg.Client({ connectionString: postgres.urlOf('postgres') });
      client.on('error', () => undefined);
      await client.connect().then(
        () => void hoarded.push(client),
        () => undefined,
      );
    };
    // What the servers hold goes, and whatever comes free is taken before they can ask for it.
    await waitFor(
      async () => {
        await db.query(`select pg_terminate_backend(pid) from pg_stat_activity where application_name like 'agent-office%'`);
        await Promise.all(Array.from({ length: 60 }, hoardOne));
        return (await scene!.readiness()).every((status) => status === 503);
      },
      30_000,
      'readiness to go red',
    );
    await pause(faults(60) * 500);
    await Promise.all(hoarded.map((client) => client.end().catch(() => undefined)));
    await scene!.green();
    expect(await scene!.goesOn('out of connections', { hoarded: hoarded.length })).toEqual([]);
  });

  it('that finds deadlocks and fails to serialize', async () => {
    const { db } = await open();
    // One statement in so many is refused as PostgreSQL would: the sequence makes it a count, not a matter of luck.
    await db.query(`create sequence fault_count`);
    await db.query(`
      create function fault() returns trigger language plpgsql as $$
      declare n bigint := nextval('fault_count');
      begin
        if n % 11 = 0 then raise exception 'injected' using errcode = '40P01'; end if;
        if n % 13 = 0 then raise exception 'injected' using errcode = '40001'; end if;
        return null;
      end $$`);
    // One table at a time: all at once would be a deadlock of our own.
    for (const [table, when] of [
      ['runs', 'insert or update'],
      ['task_sessions', 'insert or update'],
      ['office_events', 'insert'],
    ]) {
      await db.query(`create trigger fault after ${when} on ${table} for each statement execute function fault()`);
    }
    await pause(faults(60) * 1_000);
    const { rows } = await db.query<{ n: number }>(`select last_value::int as n from fault_count`);
    expect(rows[0]!.n).toBeGreaterThan(50);
    expect(await scene!.readiness()).toEqual([200, 200]);
    await db.query(`create or replace function fault() returns trigger language plpgsql as 'begin return null; end'`);
    expect(await scene!.goesOn('deadlocks and serialization failures', { statements: rows[0]!.n })).toEqual([]);
    // Four tries are enough for one in a dozen; nobody was told of any.
    expect([...scene!.load.answers.keys()].filter((answer) => / 5\d\d$/.test(answer))).toEqual([]);
  });

  it('on a disk that is full', async () => {
    const mount = mkdtempSync(join(tmpdir(), 'office-small-disk-'));
    try {
      execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=180m', 'none', mount], { stdio: 'ignore' });
    } catch {
      process.stdout.write('this machine lets nobody mount a small disk: not filled\n');
      rmSync(mount, { recursive: true });
      return;
    }
    try {
      const { db, postgres } = await open({ home: mount, settings: { max_wal_size: '64MB', min_wal_size: '32MB' } });
      const ballast = join(mount, 'ballast');
      await scene!.load.stop();
      try {
        writeFileSync(ballast, Buffer.alloc(400 * 1024 * 1024));
      } catch {
        // That was the point.
      }
      const refused = await waitFor(
        async () => {
          const [agent] = scene!.staff.agents;
          const reply = await scene!.fleet.servers[0]!.call<{ code: string }>(`POST /workspaces/${agent!.workspaceId}/tasks`, {
            title: 'too much',
            description: 'x'.repeat(200_000),
            assignee_agent_instance_id: agent!.id,
          });
          return reply.status === 503 ? reply.body.code : undefined;
        },
        90_000,
        'the disk to be full',
      );
      expect(refused).toBe('database_unavailable');
      await pause(faults(60) * 500);
      rmSync(ballast);
      // A PostgreSQL that cannot write its log gives up; whoever runs it starts it again.
      await waitFor(
        async () => {
          if (postgres.gone) await postgres.startAgain();
          return (await db.query('select 1').catch(() => null)) !== null;
        },
        30_000,
        'the database to answer',
      );
      await scene!.green();
      expect(await scene!.goesOn('disk full')).toEqual([]);
    } finally {
      await scene?.close();
      scene = undefined;
      execFileSync('umount', ['-l', mount]);
      rmSync(mount, { recursive: true, force: true });
    }
  });
});
