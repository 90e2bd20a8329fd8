import { describe, expect, it } from 'vitest';
import type { ExecutionEvent } from './agent-runtime.js';
import { EventLog } from './event-log.js';

const event = (processGroup: number): ExecutionEvent => ({ type: 'launched', processGroup });
const number = (told: IteratorResult<ExecutionEvent>): number | null =>
  told.done ? null : (told.value as { processGroup: number }).processGroup;

async function rest(reader: AsyncIterator<ExecutionEvent>): Promise<number[]> {
  const numbers: number[] = [];
  for (let told = number(await reader.next()); told !== null; told = number(await reader.next())) numbers.push(told);
  return numbers;
}

describe('EventLog', () => {
  it('tells the first reader everything from the beginning, also after the end', async () => {
    const log = new EventLog(() => undefined);
    for (const place of [1, 2, 3]) log.append(event(place), 10);
    log.close();
    expect(log.spent).toBe(false);
    expect(await rest(log.subscribe())).toEqual([1, 2, 3]);
    expect(log.spent).toBe(true);
  });

  it('wakes a reader that waits, and ends it', async () => {
    const log = new EventLog(() => undefined);
    const told = rest(log.subscribe());
    log.append(event(1), 0);
    await Promise.resolve();
    log.append(event(2), 0);
    log.close();
    expect(await told).toEqual([1, 2]);
  });

  it('counts what the slowest reader has not read', async () => {
    const log = new EventLog(() => undefined);
    log.append(event(1), 1_000);
    log.append(event(2), 1_000);
    const before = log.unread;
    const [fast, slow] = [log.subscribe(), log.subscribe()];
    await fast.next();
    await fast.next();
    expect(log.unread).toBe(before);
    await slow.next();
    await slow.next();
    expect(log.unread).toBe(0);
  });

  it('keeps for the next reader what one left behind', async () => {
    const log = new EventLog(() => undefined);
    for (const place of [1, 2, 3]) log.append(event(place), 0);
    for await (const told of log.subscribe()) {
      expect(told).toEqual(event(1));
      break;
    }
    log.append(event(4), 0);
    const next = log.subscribe();
    log.close();
    expect(await rest(next)).toEqual([2, 3, 4]);
  });

  it('releases a reader that waits when it is told to return', async () => {
    const log = new EventLog(() => undefined);
    const reader = log.subscribe();
    const waiting = reader.next();
    await reader.return!();
    expect((await waiting).done).toBe(true);
    expect((await reader.next()).done).toBe(true);
  });

  it('reads a hundred thousand events quickly', async () => {
    const log = new EventLog(() => undefined);
    for (let place = 0; place < 100_000; place++) log.append(event(place), 1);
    log.close();
    const start = performance.now();
    expect(await rest(log.subscribe())).toHaveLength(100_000);
    expect(performance.now() - start).toBeLessThan(2_000);
  });
});
