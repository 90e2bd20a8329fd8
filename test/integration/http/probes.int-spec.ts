import { Logger, Module } from '@nestjs/common';
import { AccessModule } from '../../../src/access/access.module.js';
import { Readiness } from '../../../src/platform/health/readiness.js';
import { Metrics } from '../../../src/platform/metrics/metrics.js';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { openDatabaseGate } from '../../support/database-gate.js';
import type { DatabaseGate } from '../../support/database-gate.js';
import { cloneDatabase } from '../../support/office-db.js';
import { aPerson, openFrontDesk } from '../../support/front-desk.js';
import type { SomePerson } from '../../support/front-desk.js';
import { openOfficeApp } from '../../support/office-app.js';
import type { OfficeApp } from '../../support/office-app.js';

@Module({ imports: [AccessModule] })
class Nothing {}

describe('/metrics', () => {
  const far = '192.0.2.7';
  let office: OfficeApp;
  let watcher: SomePerson;
  let ann: SomePerson;
  beforeAll(async () => {
    office = await openFrontDesk();
    watcher = await aPerson(office, { isInstanceAdmin: true, scopes: ['read'] });
    ann = await aPerson(office);
  });
  afterAll(() => office.close());

  it.each(['127.0.0.1', '127.8.9.1', '::1', '::ffff:127.0.0.1'])('is free from %s', async (from) => {
    const answer = await office.ask('GET /metrics', { from });
    expect(answer.status).toBe(200);
    expect(answer.headers['content-type']).toContain('text/plain; version=0.0.4');
    expect(answer.text).toContain('process_cpu_user_seconds_total');
    expect(answer.text).toContain('office_http_request_duration_seconds_bucket');
  });

  it.each([far, '10.0.0.1', '::ffff:192.0.2.7', '2001:db8::1', '1127.0.0.1', '127.0.0.1.example'])(
    'asks %s for an instance admin',
    async (from) => {
      expect((await office.ask('GET /metrics', { from })).status).toBe(401);
      expect((await office.ask('GET /metrics', { from, token: ann.token })).status).toBe(403);
      expect((await office.ask('GET /metrics', { from, token: watcher.token })).status).toBe(200);
    },
  );

  it.each(['x-forwarded-for', 'forwarded', 'x-real-ip', 'via'])(
    'takes a request that says by %s that it was passed on for a stranger',
    async (header) => {
      expect((await office.ask('GET /metrics', { headers: { [header]: '127.0.0.1' } })).status).toBe(401);
      expect((await office.ask('GET /metrics', { from: far, headers: { [header]: '127.0.0.1' } })).status).toBe(401);
    },
  );

  it('stands at the root only, and labels requests by their pattern', async () => {
    expect((await office.ask('GET /api/v1/metrics')).status).toBe(404);
    await office.ask('GET /api/v1/workspaces/018f0000-0000-7000-8000-000000000000?secret=1', { token: ann.token });
    await office.ask('GET /nowhere-in-particular');
    const { text } = await office.ask('GET /metrics');
    expect(text).toContain('route="/api/v1/workspaces/:ws",status="404"');
    expect(text).toContain('route="unmatched"');
    expect(text).not.toContain('018f0000');
    expect(text).not.toContain('nowhere');
  });

  it('has what rooms declare, with labels, and gauges that are read when asked', async () => {
    const metrics = office.app.get(Metrics);
    metrics.counter({ name: 'office_test_total', help: 'Tests.', labels: ['kind'] }).inc({ kind: 'x' }, 3);
    let value = 1;
    metrics.gauge({ name: 'office_test_now', help: 'Now.', collect: (gauge) => gauge.set(value++) });
    expect(await metrics.expose()).toContain('office_test_total{kind="x"} 3');
    expect(await metrics.expose()).toContain('office_test_now 2');
  });
});

describe('health', () => {
  it('is live and ready for anyone, with every check by name', async () => {
    const office = await openOfficeApp({ modules: [Nothing] });
    office.app.get(Readiness).register('scheduler', () => Promise.resolve());
    expect((await office.ask('GET /health/live')).body).toEqual({ status: 'ok' });
    const ready = await office.ask('GET /health/ready', { from: '192.0.2.7', token: 'office_bad' });
    expect([ready.status, ready.body]).toEqual([
      200,
      { status: 'ok', checks: { database: 'ok', migrations: 'ok', scheduler: 'ok' }, draining: false },
    ]);
    await office.close();
  });

  it('turns red when a room is not well, and says nothing of why', async () => {
    const office = await openOfficeApp({ modules: [Nothing] });
    office.app.get(Readiness).register('scheduler', () => Promise.reject(new Error('an inner detail')));
    const ready = await office.ask('GET /health/ready');
    expect([ready.status, ready.body]).toEqual([
      503,
      { status: 'unavailable', checks: { database: 'ok', migrations: 'ok', scheduler: 'failing' }, draining: false },
    ]);
    await office.close();
  });

  it('turns red when the schema is another than the program was written for', async () => {
    const office = await openOfficeApp({ modules: [Nothing] });
    await office.rows(`insert into office_migrations (timestamp, name) values (9999999999999, 'FromTheFuture9999999999999')`);
    expect((await office.ask('GET /health/ready')).body.checks).toMatchObject({ database: 'ok', migrations: 'failing' });
    await office.rows(`delete from office_migrations where timestamp = 9999999999999`);
    expect((await office.ask('GET /health/ready')).status).toBe(200);
    await office.close();
  });
});

describe('a database that is away', () => {
  let office: OfficeApp;
  let database: { url: string; drop(): Promise<void> };
  let gate: DatabaseGate;
  beforeAll(async () => {
    database = await cloneDatabase();
    gate = await openDatabaseGate(database.url);
    office = await openFrontDesk({ databaseUrl: gate.url });
  });
  afterAll(async () => {
    await gate.open();
    await office.close();
    await gate.close();
    await database.drop();
  });
  const ready = async () => {
    const { status, body } = await office.ask('GET /health/ready');
    return [status, body];
  };

  it('is told as 503 with a time to come back, readiness turns red, liveness does not, and all is well when it returns', async () => {
    const token = office.adminToken;
    expect((await office.ask('GET /api/v1/me', { token })).status).toBe(200);
    await gate.shut();
    expect(await ready()).toEqual([
      503,
      { status: 'unavailable', checks: { database: 'failing', migrations: 'failing' }, draining: false },
    ]);
    expect((await office.ask('GET /health/live')).status).toBe(200);
    expect((await office.ask('GET /metrics')).status).toBe(200);

    const before = office.log.length;
    const answers = await Promise.all(
      Array.from({ length: 100 }, () => office.ask('POST /api/v1/workspaces', { token, body: { name: 'x' } })),
    );
    expect([...new Set(answers.map(({ status, headers, text }) => `${status} ${String(headers['retry-after'])} ${text}`))]).toEqual([
      '503 2 {"error":"The database does not answer; try again.","code":"database_unavailable"}',
    ]);
    const loud = office.log.slice(before).filter((line) => !/"level":"(debug|trace)"/.test(line));
    expect(loud.length).toBeLessThanOrEqual(2);

    await gate.open();
    expect(await ready()).toMatchObject([200, { checks: { database: 'ok' } }]);
    expect((await office.ask('GET /api/v1/me', { token })).status).toBe(200);
  });

  it('that says nothing at all is told as slow after two seconds, then at once, without asking it again', async () => {
    gate.hang();
    expect(await ready()).toEqual([503, { status: 'unavailable', checks: { database: 'slow', migrations: 'slow' }, draining: false }]);
    const before = performance.now();
    for (let n = 0; n < 50; n++) expect(await ready()).toMatchObject([503, { checks: { database: 'slow' } }]);
    expect(performance.now() - before).toBeLessThan(1_000);
    await gate.open();
    await vi.waitFor(async () => expect(await ready()).toMatchObject([200, { status: 'ok' }]), 5_000);
  });
});

describe('the log of a working day', () => {
  it('has no credential in it, nor a query, and a line for each change', async () => {
    const office = await openFrontDesk();
    const ann = await aPerson(office);
    await office.ask(`GET /api/v1/me?access_token=${ann.token}&x=visible-query`, { token: ann.token });
    await office.ask('GET /api/v1/me', { headers: { authorization: `Basic ${ann.token}` } });
    new Logger('Room').warn({ authorization: `Bearer ${ann.token}`, nested: { list: [ann.token] } }, `tried ${office.adminToken}`);
    const log = office.log.join('');
    expect(log).not.toContain(ann.token);
    expect(log).not.toContain(office.adminToken);
    expect(log).not.toContain('visible-query');
    const lines = office.log.map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(lines.filter(({ msg, level, route }) => msg === 'request' && level === 'info' && route === '/api/v1/users')).toHaveLength(1);
    expect(lines.filter(({ msg, level }) => msg === 'request' && level === 'debug')).toHaveLength(2);
    await office.close();
  });
});
