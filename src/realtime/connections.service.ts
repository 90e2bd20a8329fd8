import { Injectable } from '@nestjs/common';
import type { Counter } from 'prom-client';
import { Metrics } from '../platform/metrics/metrics.js';
import type { Connection } from './connection.js';

/** A socket costs some tens of kilobytes; one person's sockets must not be all there are. */
const MOST = 10_000;
const MOST_OF_A_PERSON = 2_000;

/** Who is connected to this server. */
@Injectable()
export class Connections implements Iterable<Connection> {
  private readonly open = new Set<Connection>();
  private readonly ofPerson = new Map<string, number>();
  private readonly closed: Counter<'code'>;

  constructor(metrics: Metrics) {
    metrics.gauge({
      name: 'office_socket_connections',
      help: 'Open WebSocket connections of this server.',
      collect: (gauge) => gauge.set(this.open.size),
    });
    this.closed = metrics.counter({
      name: 'office_socket_closed_total',
      help: 'WebSocket connections that ended, by close code.',
      labels: ['code'],
    });
  }

  get size(): number {
    return this.open.size;
  }

  hasPlaceFor(userId: string): boolean {
    return this.open.size < MOST && (this.ofPerson.get(userId) ?? 0) < MOST_OF_A_PERSON;
  }

  add(connection: Connection): void {
    const { userId } = connection.person;
    this.open.add(connection);
    this.ofPerson.set(userId, (this.ofPerson.get(userId) ?? 0) + 1);
  }

  remove(connection: Connection, code: number): void {
    if (!this.open.delete(connection)) return;
    const { userId } = connection.person;
    const left = (this.ofPerson.get(userId) ?? 1) - 1;
    if (left === 0) this.ofPerson.delete(userId);
    else this.ofPerson.set(userId, left);
    // A client may close with any code it likes; labels must not be its to make up.
    this.closed.inc({ code: KNOWN_CODES.has(code) ? String(code) : 'other' });
  }

  [Symbol.iterator](): Iterator<Connection> {
    return this.open.values();
  }
}

const KNOWN_CODES: ReadonlySet<number> = new Set([1000, 1001, 1002, 1003, 1005, 1006, 1007, 1008, 1009, 1011, 4001, 4008]);
