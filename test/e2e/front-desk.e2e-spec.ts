import type { OpenAPIObject } from '@nestjs/swagger';
import { mkdtemp, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { adminTokenIn, FrontDeskProcess } from '../support/front-desk-process.js';
import { cloneDatabase } from '../support/office-db.js';
import { openApiFaults } from '../support/open-api-rules.js';

describe('the front desk of a running office', () => {
  let database: { url: string; drop(): Promise<void> };
  let dir: string;
  const offices: FrontDeskProcess[] = [];

  beforeEach(async () => {
    database = await cloneDatabase();
    dir = await mkdtemp(join(tmpdir(), 'office-desk-'));
  });
  afterEach(async () => {
    await Promise.all(offices.splice(0).map((office) => office.kill('SIGKILL')));
    await database.drop();
    await rm(dir, { recursive: true, force: true });
  });

  function start(name = 'one', env: Record<string, string> = {}): FrontDeskProcess {
    const office = new FrontDeskProcess({
      OFFICE_DATABASE_URL: database.url,
      OFFICE_DATA_DIR: join(dir, name),
      OFFICE_WORK_DIR: join(dir, `${name}-work`),
      OFFICE_LOG_LEVEL: 'debug',
      ...env,
    });
    offices.push(office);
    return office;
  }
  const isListening = (url: string) =>
    new Promise<boolean>((resolve) => {
      const socket = connect(Number(new URL(url).port), '127.0.0.1', () => resolve(true));
      socket.once('error', () => resolve(false)).once('connect', () => socket.destroy());
    });
  const call = (url: string, token: string, route: string, body?: unknown, headers: Record<string, string> = {}) => {
    const [method, path] = route.split(' ') as [string, string];
    return fetch(`${url}${path}`, {
      method,
      headers: { authorization: `Bearer ${token}`, ...(body !== undefined && { 'content-type': 'application/json' }), ...headers },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
  };

  it('describes all of itself well enough to generate a client', async () => {
    const url = await start().url();
    const document = (await (await fetch(`${url}/api/docs-json`)).json()) as OpenAPIObject;
    expect(openApiFaults(document)).toEqual([]);
    expect(Object.keys(document.paths).length).toBeGreaterThan(25);
    expect((await fetch(`${url}/api/docs`)).status).toBe(200);
  });

  it('answers a repeated request the same after it was killed and started again, and acts once', async () => {
    const first = start();
    const url = await first.url();
    const token = await adminTokenIn(join(dir, 'one'));
    const once = { 'idempotency-key': 'the one workspace' };
    const answer = await call(url, token, 'POST /api/v1/workspaces', { name: 'Acme' }, once);
    const text = await answer.text();
    expect(answer.status).toBe(201);
    await first.kill('SIGKILL');

    const again = await start().url();
    expect(await adminTokenIn(join(dir, 'one'))).toBe(token);
    const repeated = await call(again, token, 'POST /api/v1/workspaces', { name: 'Acme' }, once);
    expect([repeated.status, await repeated.text()]).toEqual([201, text]);
    const listed = (await (await call(again, token, 'GET /api/v1/workspaces')).json()) as { items: unknown[] };
    expect(listed.items).toHaveLength(1);
  });

  it('has one admin for two servers that start at once on one database, and both their files open both doors', async () => {
    const urls = await Promise.all([start('one').url(), start('two').url()]);
    const tokens = await Promise.all([adminTokenIn(join(dir, 'one')), adminTokenIn(join(dir, 'two'))]);
    const people = new Set<string>();
    for (const url of urls) {
      for (const token of tokens) {
        const me = await call(url, token, 'GET /api/v1/me');
        expect(me.status).toBe(200);
        people.add(((await me.json()) as { user: { id: string } }).user.id);
      }
    }
    expect(people.size).toBe(1);
  });

  it('logs nothing but lines of JSON, and no credential in them', async () => {
    const office = start('one', { OFFICE_ADMIN_TOKEN: 'given-by-the-operator-0123456789', OFFICE_SECRETS_KEY: 'k'.repeat(32) });
    const url = await office.url();
    const token = 'given-by-the-operator-0123456789';
    const { id } = (await (await call(url, token, 'POST /api/v1/workspaces', { name: 'Acme' })).json()) as { id: string };
    expect((await call(url, token, `PUT /api/v1/workspaces/${id}/secrets/KEY`, { value: 'sk-live-4711' })).status).toBe(200);
    await call(url, token, `GET /api/v1/me?token=${token}`);
    await call(url, 'wrong', 'GET /api/v1/me');
    expect(await office.kill('SIGTERM')).toBe(0);
    expect(office.log.length).toBeGreaterThan(5);
    expect(office.stderr).toBe('');
    for (const secret of [token, 'k'.repeat(32), 'sk-live-4711']) expect(office.stdout).not.toContain(secret);
  });

  it('finishes the answer it is working on when told to go', async () => {
    const office = start();
    const url = await office.url();
    const token = await adminTokenIn(join(dir, 'one'));
    const { id } = (await (await call(url, token, 'POST /api/v1/workspaces', { name: 'Acme' })).json()) as { id: string };
    const user = (await (await call(url, token, 'POST /api/v1/users', { name: 'Ann' })).json()) as { id: string };

    const holder = new pg.Client({ connectionString: database.url });
    await holder.connect();
    await holder.query('begin');
    await holder.query('select 1 from workspaces where id = $1 for update', [id]);
    const answer = call(url, token, `PUT /api/v1/workspaces/${id}/members/${user.id}`, { role: 'member' });
    const waits = async () =>
      (await holder.query(`select 1 from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`)).rows;
    while ((await waits()).length === 0) await new Promise((resolve) => setImmediate(resolve));
    const gone = office.kill('SIGTERM');
    // Work ends before the door shuts, because agents that finish their turns still call.
    while (await isListening(url)) await new Promise((resolve) => setImmediate(resolve));
    await holder.query('commit');
    await holder.end();
    const { status, headers } = await answer;
    expect([status, headers.get('connection')]).toEqual([200, 'close']);
    expect(await gone).toBe(0);
  });

  describe('on a bare socket', () => {
    /** Sends these bytes and answers everything that comes back until the end. */
    const raw = (url: string, ...bytes: string[]): Promise<string> =>
      new Promise((resolve, reject) => {
        const socket = connect(Number(new URL(url).port), '127.0.0.1', () => bytes.forEach((part) => socket.write(part)));
        let heard = '';
        socket.on('data', (chunk: Buffer) => (heard += chunk.toString()));
        socket.on('close', () => resolve(heard));
        socket.on('error', (error: NodeJS.ErrnoException) => (error.code === 'ECONNRESET' ? resolve(heard) : reject(error)));
      });

    it('refuses what is no request, too much of one, and a body that grows too large, each in its own words', async () => {
      const url = await start().url();
      expect(await raw(url, 'HELLO\r\n\r\n')).toMatch(/^HTTP\/1\.1 400 [^]*"code":"malformed_request"/);
      expect(await raw(url, `GET / HTTP/1.1\r\nHost: x\r\nX: ${'x'.repeat(20_000)}\r\n\r\n`)).toMatch(
        /^HTTP\/1\.1 431 [^]*"code":"headers_too_large"/,
      );
      const head = 'POST /api/v1/users HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nConnection: close\r\n';
      expect(await raw(url, `${head}Content-Length: ${1024 * 1024 + 1}\r\n\r\n`)).toMatch(/^HTTP\/1\.1 413 [^]*"code":"body_too_large"/);
      const chunk = `${(1024 * 1024).toString(16)}\r\n${' '.repeat(1024 * 1024)}\r\n`;
      expect(await raw(url, `${head}Transfer-Encoding: chunked\r\n\r\n`, chunk, '1\r\n \r\n')).toMatch(
        /^HTTP\/1\.1 413 [^]*"code":"body_too_large"/,
      );
      expect(await raw(url, `${head}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n`)).toMatch(/^HTTP\/1\.1 400 /);
      expect((await fetch(`${url}/health/live`)).status).toBe(200);
    });

    it('is not found by a request without a credential, whatever its method', async () => {
      const url = await start().url();
      for (const method of ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'PROPFIND', 'QUERY', 'SEARCH']) {
        const answer = await raw(url, `${method} /api/v1/workspaces HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`);
        expect(answer, method).toMatch(/^HTTP\/1\.1 (400|401|404) /);
      }
    });
  });
});
