import type { DataSource } from 'typeorm';
import { Logger } from '@nestjs/common';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { SystemClock } from '../../../src/platform/clock/system-clock.js';
import { DatabaseOutage } from '../../../src/platform/database/database-outage.js';
import { NudgeListener } from '../../../src/platform/database/nudge-listener.js';
import { Nudges } from '../../../src/platform/database/nudges.js';
import { openOfficeDb, type OfficeDb } from '../../support/office-db.js';

let here: OfficeDb;
/** Another server on the same database. */
let there: Nudges;
let listener: NudgeListener;
let lines: string[];

beforeEach(async () => {
  here = await openOfficeDb({ poolSize: 4 });
  there = new Nudges(here.dataSource, new SystemClock());
  lines = [];
  const told = (_facts: unknown, phrase: unknown): void => void lines.push(String(phrase));
  vi.spyOn(Logger.prototype, 'warn').mockImplementation(told);
  vi.spyOn(Logger.prototype, 'log').mockImplementation(told);
  vi.spyOn(Logger.prototype, 'error').mockImplementation(told);
  const clock = new SystemClock();
  listener = new NudgeListener(here.dataSource, here.nudges, new DatabaseOutage(clock), clock);
});
afterEach(async () => {
  await listener.stop();
  await here.close();
  vi.restoreAllMocks();
});

const once = (subscribe: (heard: (what?: string) => void) => () => void): Promise<string | undefined> =>
  new Promise((resolve) => {
    const deaf = subscribe((what) => {
      deaf();
      resolve(what);
    });
  });

const endItsConnection = (dataSource: DataSource): Promise<unknown[]> =>
  dataSource.query(`select pg_terminate_backend(pid) from pg_stat_activity
                     where application_name = 'agent-office nudges' and datname = current_database()`);

describe('nudges', () => {
  it('are heard by other servers, not twice by the one that sent them', async () => {
    const ready = once((heard) => here.nudges.onEverything(heard));
    listener.start();
    await ready;
    const heard: string[] = [];
    here.nudges.on('work', (workspaceId) => heard.push(workspaceId));
    here.nudges.send('mine', new Set(['work']));
    const theirs = once((each) => here.nudges.on('stop', each));
    there.send('theirs', new Set(['work', 'stop']));
    expect(await theirs).toBe('theirs');
    expect(heard).toEqual(['mine', 'theirs']);
  });

  it('are listened for again when the connection is lost, with one look everywhere and two lines', async () => {
    const ready = once((heard) => here.nudges.onEverything(heard));
    listener.start();
    await ready;
    const again = once((heard) => here.nudges.onEverything(heard));
    await endItsConnection(here.dataSource);
    await again;
    expect(lines).toEqual(['database is away', 'database is back']);
    const theirs = once((heard) => here.nudges.on('work', heard));
    there.send('theirs', new Set(['work']));
    expect(await theirs).toBe('theirs');
  });

  it('that would not fit into one notification are all heard', async () => {
    const ready = once((heard) => here.nudges.onEverything(heard));
    listener.start();
    await ready;
    const heard = new Set<string>();
    const all = new Promise<void>((resolve) => {
      here.nudges.on('work', (workspaceId) => {
        if (heard.add(workspaceId).size === 1_000) resolve();
      });
    });
    for (let n = 0; n < 1_000; n++) there.send(`00000000-0000-7000-8000-${String(n).padStart(12, '0')}`, new Set(['work']));
    await all;
  });
});
