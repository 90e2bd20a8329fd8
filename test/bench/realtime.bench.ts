import { fork } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect as connectTcp, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DataSource } from 'typeorm';
import { WebSocket } from 'ws';
import { databaseOptions } from '../../src/database-options.js';
import { SystemClock } from '../../src/platform/clock/system-clock.js';
import { Nudges } from '../../src/platform/database/nudges.js';
import { UnitOfWork } from '../../src/platform/database/unit-of-work.js';
import type { Frame } from '../../src/realtime/domain/wire.js';
import { RealServer } from '../support/real-server.js';
import { percentile, type Bench, type BenchPlace, type Figure } from './figures.js';

const WORKSPACES = 50;
const EVENTS_PER_SECOND = 200;
const REPLAYED = 10_000;

/** The server is a process of its own; events are committed by another, so that every one of them crosses both. */
export const realtimeBench: Bench = {
  name: 'realtime',
  async run(place: BenchPlace): Promise<Figure[]> {
    const databaseUrl = await place.database();
    const server = await RealServer.start({ databaseUrl, env: { OFFICE_LOG_LEVEL: 'info' } });
    const dataSource = await new DataSource(databaseOptions(databaseUrl, { poolSize: 4 })).initialize();
    const unitOfWork = new UnitOfWork(dataSource, new Nudges(dataSource, new SystemClock()), new SystemClock());
    try {
      const workspaces: string[] = [];
      for (let n = 0; n < WORKSPACES; n++) workspaces.push((await server.must<{ id: string }>('POST /workspaces', { name: `W${n}` })).id);
      return [
        ...(await delivery(server, unitOfWork, workspaces, place.size)),
        await fanOut(server, unitOfWork, workspaces[0]!, place.size),
        await replay(server, unitOfWork, workspaces[1]!),
      ];
    } finally {
      await dataSource.destroy();
      await server.dispose();
    }
  },
};

const tell = (unitOfWork: UnitOfWork, workspaceId: string, names: readonly string[]): Promise<void> =>
  unitOfWork.run(workspaceId, async (tx) => {
    for (const name of names) tx.emit('office.task.updated', { task_id: name, fields: ['title', 'description'] });
  });

async function delivery(server: RealServer, unitOfWork: UnitOfWork, workspaces: readonly string[], size: number): Promise<Figure[]> {
  const clients = Math.max(WORKSPACES, Math.round(1_000 * size));
  const seconds = Math.max(1, Math.round(20 * size));
  const committed = new Map<string, number>();
  const arrivals: { name: string; at: number }[] = [];
  const sockets = await Promise.all(
    Array.from({ length: clients }, (_, n) =>
      subscribe(server, workspaces[n % WORKSPACES]!, undefined, (frame) =>
        arrivals.push({ name: (frame.payload as { task_id: string }).task_id, at: performance.now() }),
      ),
    ),
  );
  const total = seconds * EVENTS_PER_SECOND;
  const began = performance.now();
  const telling: Promise<void>[] = [];
  for (let n = 0; n < total; n++) {
    const due = began + (n / EVENTS_PER_SECOND) * 1_000;
    if (due > performance.now()) await new Promise((resolve) => setTimeout(resolve, due - performance.now()));
    telling.push(tell(unitOfWork, workspaces[n % WORKSPACES]!, [`e${n}`]).then(() => void committed.set(`e${n}`, performance.now())));
  }
  await Promise.all(telling);
  const expected = Math.round((total / WORKSPACES) * clients);
  while (arrivals.length < expected) await new Promise((resolve) => setTimeout(resolve, 20));
  for (const socket of sockets) socket.terminate();
  const delays = arrivals.slice(Math.floor(arrivals.length / 10)).map(({ name, at }) => Math.max(0, at - (committed.get(name) ?? at)));
  const what = `commit to delivery, ${clients} clients, ${WORKSPACES} workspaces, ${EVENTS_PER_SECOND} events/s`;
  return [
    { what: `${what}, p50`, ours: percentile(delays, 0.5), unit: 'ms', target: '' },
    { what: `${what}, p99`, ours: percentile(delays, 0.99), unit: 'ms', target: 'under 50' },
  ];
}

/** Of what a server can send: its clients only count bytes. */
async function fanOut(server: RealServer, unitOfWork: UnitOfWork, workspaceId: string, size: number): Promise<Figure> {
  const clients = 200;
  const events = Math.max(500, Math.round(5_000 * size));
  const frames: string[] = [];
  const reference = await subscribe(server, workspaceId, undefined, (_frame, text) => frames.push(text));
  const sinks = await Promise.all(Array.from({ length: clients }, () => sink(server.url, '/ws', server.token)));
  for (const { wire } of sinks)
    wire.write(masked(JSON.stringify({ type: 'request', action: 'workspace.subscribe', payload: { workspace_id: workspaceId } })));
  // The answer, before anything is counted.
  while (sinks.some((one) => one.bytes === 0)) await new Promise((resolve) => setTimeout(resolve, 10));
  for (const one of sinks) one.bytes = 0;
  await tell(
    unitOfWork,
    workspaceId,
    Array.from({ length: events }, (_, n) => `f${n}`),
  );
  const began = performance.now();
  while (frames.length < events) await new Promise((resolve) => setTimeout(resolve, 5));
  const bytes = frames.reduce((sum, frame) => sum + Buffer.byteLength(frame) + (Buffer.byteLength(frame) < 126 ? 2 : 4), 0);
  while (sinks.some((one) => one.bytes < bytes)) await new Promise((resolve) => setTimeout(resolve, 5));
  const ours = (events * clients) / ((performance.now() - began) / 1_000);
  reference.terminate();
  for (const { wire } of sinks) wire.destroy();
  return {
    what: `fan-out, ${events} events to ${clients} clients`,
    ours,
    baseline: { of: 'bare ws', value: await bareFanOut(frames, clients, bytes) },
    unit: 'frames/s',
    target: 'at least 0.8x',
  };
}

async function bareFanOut(frames: readonly string[], clients: number, bytes: number): Promise<number> {
  const dir = mkdtempSync(join(tmpdir(), 'office-bench-ws-'));
  const file = join(dir, 'frames.json');
  writeFileSync(file, JSON.stringify(frames));
  const child = fork(join(import.meta.dirname, 'bare-ws.mjs'), [file], { execArgv: [] });
  try {
    const { port } = await new Promise<{ port: number }>((resolve) =>
      child.once('message', (message) => resolve(message as { port: number })),
    );
    const sinks = await Promise.all(Array.from({ length: clients }, () => sink(`http://127.0.0.1:${port}`, '/', 'nobody')));
    const began = performance.now();
    child.send('go');
    while (sinks.some((one) => one.bytes < bytes)) await new Promise((resolve) => setTimeout(resolve, 5));
    const perSecond = (frames.length * clients) / ((performance.now() - began) / 1_000);
    for (const { wire } of sinks) wire.destroy();
    return perSecond;
  } finally {
    child.kill();
    rmSync(dir, { recursive: true, force: true });
  }
}

async function replay(server: RealServer, unitOfWork: UnitOfWork, workspaceId: string): Promise<Figure> {
  for (let n = 0; n < REPLAYED; n += 500) {
    await tell(
      unitOfWork,
      workspaceId,
      Array.from({ length: 500 }, (_, index) => `r${n + index}`),
    );
  }
  let last = 0;
  const began = performance.now();
  const socket = await subscribe(server, workspaceId, 0, ({ seq }) => (last = seq!));
  while (last < REPLAYED) await new Promise((resolve) => setTimeout(resolve, 2));
  const ms = performance.now() - began;
  socket.terminate();
  return { what: `replay of ${REPLAYED} events, connection included`, ours: ms, unit: 'ms', target: 'under 1000' };
}

/** A proper client, subscribed. */
async function subscribe(
  { url, token }: RealServer,
  workspaceId: string,
  after: number | undefined,
  onEvent: (frame: Frame, text: string) => void,
): Promise<WebSocket> {
  const socket = new WebSocket(`${url.replace('http', 'ws')}/ws`, { headers: { authorization: `Bearer ${token}` } });
  await new Promise<void>((resolve, reject) => socket.once('open', resolve).once('error', reject));
  const answered = new Promise<void>((resolve) => {
    socket.on('message', (data) => {
      const text = String(data);
      const frame = JSON.parse(text) as Frame;
      if (frame.type === 'notification') onEvent(frame, text);
      else resolve();
    });
  });
  const payload = { workspace_id: workspaceId, ...(after !== undefined && { after }) };
  socket.send(JSON.stringify({ type: 'request', action: 'workspace.subscribe', payload }));
  await answered;
  return socket;
}

interface Sink {
  readonly wire: Socket;
  bytes: number;
}

/** A connection that counts what comes and looks at none of it. */
function sink(url: string, path: string, token: string): Promise<Sink> {
  const { port, hostname } = new URL(url);
  const wire = connectTcp(Number(port), hostname);
  wire.write(
    [
      `GET ${path} HTTP/1.1`,
      `Host: ${hostname}`,
      'Upgrade: websocket',
      'Connection: Upgrade',
      'Sec-WebSocket-Key: MDEyMzQ1Njc4OWFiY2RlZg==',
      'Sec-WebSocket-Version: 13',
      `Authorization: Bearer ${token}`,
      '\r\n',
    ].join('\r\n'),
  );
  return new Promise((resolve, reject) => {
    wire.once('error', reject);
    wire.once('data', (head: Buffer) => {
      if (!head.includes('101 ')) return reject(new Error(String(head)));
      const one = { wire, bytes: 0 };
      wire.on('data', (chunk: Buffer) => (one.bytes += chunk.length));
      resolve(one);
    });
  });
}

/** A client's text frame; the mask may be zeroes. */
function masked(text: string): Buffer {
  const body = Buffer.from(text);
  if (body.length > 125) return Buffer.concat([Buffer.from([0x81, 0x80 | 126, body.length >> 8, body.length & 0xff, 0, 0, 0, 0]), body]);
  return Buffer.concat([Buffer.from([0x81, 0x80 | body.length, 0, 0, 0, 0]), body]);
}
