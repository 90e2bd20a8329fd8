import { Logger } from '@nestjs/common';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { FakeClock } from '../../../test/support/fake-clock.js';
import { Readiness } from './readiness.js';

const never = new Promise<void>(() => undefined);

describe('Readiness', () => {
  beforeAll(() => Logger.overrideLogger(false));
  afterAll(() => Logger.overrideLogger(true));

  it('is ready when every check is, and names the ones that are not', async () => {
    const readiness = new Readiness(new FakeClock());
    readiness.register('database', () => Promise.resolve());
    expect(await readiness.report()).toEqual({ ready: true, checks: { database: 'ok' }, draining: false });
    readiness.register('scheduler', () => Promise.reject(new Error('stuck')));
    expect(await readiness.report()).toEqual({ ready: false, checks: { database: 'ok', scheduler: 'failing' }, draining: false });
  });

  it('refuses a name twice', () => {
    const readiness = new Readiness(new FakeClock());
    readiness.register('x', () => never);
    expect(() => readiness.register('x', () => never)).toThrow('twice');
  });

  it('waits two seconds for a check, aborts it, and does not call it again while it is still out', async () => {
    const clock = new FakeClock();
    const readiness = new Readiness(clock);
    let calls = 0;
    let release: () => void = () => undefined;
    let signal: AbortSignal | undefined;
    readiness.register('database', (deadline) => {
      calls++;
      signal = deadline;
      return new Promise((resolve) => void (release = resolve));
    });
    const report = readiness.report();
    clock.advance(1_999);
    expect(signal?.aborted).toBe(false);
    clock.advance(1);
    expect((await report).checks).toEqual({ database: 'slow' });
    expect(signal?.aborted).toBe(true);
    expect((await readiness.report()).checks).toEqual({ database: 'slow' });
    expect(calls).toBe(1);
    release();
    await new Promise(setImmediate);
    const next = readiness.report();
    expect(calls).toBe(2);
    release();
    expect((await next).checks).toEqual({ database: 'ok' });
    expect(clock.waiting).toBe(0);
  });

  it('treats a check that throws at once like one that rejects', async () => {
    const readiness = new Readiness(new FakeClock());
    readiness.register('x', () => {
      throw new Error('at once');
    });
    expect((await readiness.report()).checks).toEqual({ x: 'failing' });
  });
});
