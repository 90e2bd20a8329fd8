import { Logger } from '@nestjs/common';
import { QueryFailedError } from 'typeorm';
import { describe, expect, it } from 'vitest';
import { readSettings } from '../config/office-settings.js';
import { loggerFor, OfficeLogger } from './office-logger.js';

function aLogger(level: 'trace' | 'info' = 'trace') {
  const lines: string[] = [];
  const logger = new OfficeLogger(level, [], { write: (line: string) => void lines.push(line) });
  return { logger, lines, last: () => JSON.parse(lines.at(-1)!) as Record<string, unknown> };
}

describe('OfficeLogger', () => {
  it('writes facts first and the phrase last, with level, time and context', () => {
    const { logger, lines, last } = aLogger();
    logger.warn({ run_id: 'r', waited_ms: 5 }, 'lease lost', 'Leases');
    expect(last()).toEqual({
      level: 'warn',
      time: expect.stringMatching(/Z$/),
      context: 'Leases',
      run_id: 'r',
      waited_ms: 5,
      msg: 'lease lost',
    });
    expect(lines[0]).toMatch(/"msg":"lease lost"}\n$/);
  });

  it.each([
    [['hello', 'Ctx'], { msg: 'hello', context: 'Ctx' }],
    [['hello'], { msg: 'hello' }],
    [[{ a: 1 }, 'phrase'], { msg: 'phrase', a: 1 }],
    [['it broke', 'Error: x\n at y', 'Ctx'], { msg: 'it broke', stack: 'Error: x\n at y', context: 'Ctx' }],
  ] as const)('understands %j as Nest hands it over', ([message, ...rest], expected) => {
    const { logger, last } = aLogger();
    logger.log(message, ...rest);
    const { level: _level, time: _time, ...said } = last();
    expect(said).toEqual(expected);
  });

  it("tells of an error what it is and where, down to its cause, but not a statement's parameters", () => {
    const { logger, lines, last } = aLogger();
    const refused = Object.assign(new Error('duplicate key'), {
      code: '23505',
      constraint: 'users_pkey',
      detail: 'Key (name)=(Ann) exists',
    });
    logger.error(
      { err: new Error('outer', { cause: new QueryFailedError('insert', ['the secret parameter'], refused) }) },
      'request failed',
    );
    expect(last()).toMatchObject({
      err: { type: 'Error', message: 'outer', stack: expect.any(String), cause: { code: '23505', message: 'duplicate key' } },
    });
    expect(lines[0]).not.toContain('secret parameter');
    expect(lines[0]).not.toContain('Key (name)');
  });

  it('keeps the chatter of the framework for those who look for it', () => {
    const { logger, lines } = aLogger('info');
    logger.log('Mapped {/x, GET} route', 'RouterExplorer');
    logger.log('listening', 'Server');
    expect(lines).toHaveLength(1);
  });

  it('masks the secrets of its settings by value', () => {
    const lines: string[] = [];
    const settings = readSettings({
      OFFICE_ADMIN_TOKEN: 'given-by-the-operator-0123',
      OFFICE_SECRETS_KEY: 'k'.repeat(40),
      OFFICE_DATABASE_URL: 'postgres://office:p%40ssw0rd-long@db/x',
    });
    const logger = loggerFor(settings, { write: (line: string) => void lines.push(line) });
    logger.log({ a: 'given-by-the-operator-0123', b: ['k'.repeat(40)] }, 'connected as p@ssw0rd-long');
    expect(lines[0]).toContain('"a":"[redacted]","b":["[redacted]"],"msg":"connected as [redacted]"');
  });

  it('never throws, whatever it is given', () => {
    const { logger, lines } = aLogger();
    const circle: Record<string, unknown> = {};
    circle.self = circle;
    for (const message of [circle, null, undefined, 5n, Symbol('x'), new Error('e'), () => 1, [], { big: 5n }]) logger.log(message);
    expect(lines.length).toBe(9);
  });

  it('serves the loggers of the rooms', () => {
    const { logger, last } = aLogger();
    Logger.overrideLogger(logger);
    new Logger('Room').log({ n: 1 }, 'done');
    Logger.overrideLogger(true);
    expect(last()).toMatchObject({ context: 'Room', n: 1, msg: 'done' });
  });
});
