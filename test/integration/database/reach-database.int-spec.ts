import { afterEach, describe, expect, inject, it } from 'vitest';
import { checkServer } from '../../../src/platform/database/reach-database.js';
import { StartError } from '../../../src/platform/errors/start-error.js';
import { fakePostgres, type Answers } from '../../support/fake-postgres.js';

let close: (() => Promise<void>) | undefined;
afterEach(async () => {
  await close?.();
  close = undefined;
});

async function fake(answers: Answers): Promise<string> {
  const server = await fakePostgres(answers);
  ({ close } = server);
  return server.url;
}

async function refusal(url: string): Promise<string> {
  const error: unknown = await checkServer(url).catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(StartError);
  const { message } = error as StartError;
  expect(message).not.toMatch(/\n|secret/);
  return message;
}

describe('a database that the office is given', () => {
  it('is taken when it is PostgreSQL 15 or newer, reached directly', async () => {
    await checkServer(inject('templateUrl').replace(/office$/, 'postgres'));
    await checkServer(await fake({ version: '15.0' }));
  });

  it('is refused when it is older', async () => {
    expect(await refusal(await fake({ version: '14.19 (Debian 14.19-1)' }))).toMatch(
      /^The database at 127\.0\.0\.1:\d+\/office is PostgreSQL 14\.19 \(Debian 14\.19-1\); the office needs 15 or newer\.$/,
    );
  });

  it('is refused behind a proxy that puts two clients on one connection', async () => {
    expect(await refusal(await fake({ pid: () => 7 }))).toMatch(/transaction-pooling proxy/);
  });

  it('is refused behind a proxy that moves a client when another keeps its connection', async () => {
    let moved = 0;
    const pid = (client: number): number => (client === 1 ? 100 + moved++ : 7);
    expect(await refusal(await fake({ pid }))).toMatch(/transaction-pooling proxy/);
  });

  it.each([
    [
      'does not answer',
      'postgres://someone:secret@127.0.0.1:1/office',
      /^The database at 127\.0\.0\.1:1\/office cannot be used: connect ECONNREFUSED/,
    ],
    [
      'is at a name of two addresses',
      'postgres://someone:secret@localhost:1/office',
      /^The database at localhost:1\/office cannot be used: connect ECONNREFUSED/,
    ],
    ['is at a name nobody knows', 'postgres://someone:secret@nowhere.invalid/office', /cannot be used: getaddrinfo/],
    ['has no address at all', 'postgres://someone:secret@host:99999/office', /^OFFICE_DATABASE_URL is no address of a database\.$/],
  ])('is refused in one line when it %s', async (_why, url, line) => {
    expect(await refusal(url)).toMatch(line);
  });

  it('is refused in one line when it lets nobody in', async () => {
    const url = await fake({ refuse: { code: '28P01', message: 'password authentication failed for user "someone"' } });
    expect(await refusal(url)).toMatch(/cannot be used: password authentication failed for user "someone"\.$/);
  });
});
