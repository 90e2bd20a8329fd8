import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { WebSocket } from 'ws';
import type { Frame } from '../../src/realtime/domain/wire.js';
import { OfficeSocketAdapter } from '../../src/realtime/office-socket.adapter.js';
import { RealtimeModule } from '../../src/realtime/realtime.module.js';
import { openFrontDesk } from './front-desk.js';
import type { OfficeApp, OfficeAppOptions } from './office-app.js';

export interface SocketOffice extends OfficeApp {
  /** Of HTTP. */
  readonly url: string;
  /** Appends that many events to a workspace, a transaction each, and answers the last `seq`. */
  tell(workspaceId: string, events: number, payload?: object): Promise<number>;
}

/** Access, workspaces and the socket, listening on a port of its own. */
export async function openSocketOffice(options: Partial<OfficeAppOptions> = {}): Promise<SocketOffice> {
  const office = await openFrontDesk({
    ...options,
    modules: [RealtimeModule, ...(options.modules ?? [])],
    configure: (app: NestFastifyApplication) => app.useWebSocketAdapter(new OfficeSocketAdapter(app)),
  });
  await office.app.listen(0, '127.0.0.1');
  return {
    ...office,
    url: await office.app.getUrl(),
    tell: async (workspaceId, events, payload = {}) => {
      for (let event = 0; event < events; event++) {
        await office.unitOfWork.run(workspaceId, (tx) => {
          tx.emit('office.task.updated', { task_id: workspaceId, fields: ['title'], ...payload });
          return Promise.resolve();
        });
      }
      const [counter] = await office.rows<{ last_seq: string }>(`select last_seq from office_event_counters where workspace_id = $1`, [
        workspaceId,
      ]);
      return Number(counter!.last_seq);
    },
  };
}

/** A bare client, for what a proper one would not do. */
export class RawClient {
  readonly frames: Frame[] = [];
  closed: { code: number; reason: string } | null = null;
  private readonly listeners = new Set<() => void>();
  private requests = 0;

  private constructor(readonly socket: WebSocket) {
    socket.on('message', (data) => {
      this.frames.push(JSON.parse(String(data)) as Frame);
      this.changed();
    });
    socket.on('error', () => undefined);
    socket.on('close', (code, reason) => {
      this.closed = { code, reason: String(reason) };
      this.changed();
    });
  }

  static async connect(url: string, token: string, options: object = {}): Promise<RawClient> {
    const socket = new WebSocket(`${url.replace(/^http/, 'ws')}/ws`, { headers: { authorization: `Bearer ${token}` }, ...options });
    const client = new RawClient(socket);
    await new Promise<void>((resolve, reject) => socket.once('open', resolve).once('error', reject));
    return client;
  }

  /** Resolves with the answer: a response or an error that names the request. */
  async ask(action: string, payload: object = {}): Promise<Frame> {
    const id = `q${++this.requests}`;
    this.socket.send(JSON.stringify({ id, type: 'request', action, payload }));
    return this.until(() => this.frames.find((frame) => frame.id === id && frame.type !== 'notification'), `an answer to ${action}`);
  }

  get notifications(): Frame[] {
    return this.frames.filter(({ type }) => type === 'notification');
  }

  get seqs(): number[] {
    return this.notifications.map(({ seq }) => seq!);
  }

  /** Waits for a fact to come true with what arrives. */
  until<Fact>(fact: () => Fact | undefined | null | false, what: string, ms = 15_000): Promise<Fact> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(
        () => settle(() => reject(new Error(`waited ${ms} ms for ${what}; closed: ${JSON.stringify(this.closed)}`))),
        ms,
      );
      const settle = (how: () => void): void => {
        clearTimeout(timer);
        this.listeners.delete(look);
        how();
      };
      const look = (): void => {
        const found = fact();
        if (found !== undefined && found !== null && found !== false) settle(() => resolve(found));
      };
      this.listeners.add(look);
      look();
    });
  }

  gone(): Promise<{ code: number; reason: string }> {
    return this.until(() => this.closed, 'the connection to close', 30_000);
  }

  cut(): void {
    this.socket.terminate();
  }

  private changed(): void {
    for (const look of this.listeners) look();
  }
}

/** What an upgrade that is refused answers. */
export function refusedUpgrade(url: string, options: { headers?: Record<string, string>; protocols?: string[]; path?: string }) {
  const { headers = {}, protocols = [], path = '/ws' } = options;
  return new Promise<{ status: number; body: string }>((resolve, reject) => {
    const socket = new WebSocket(`${url.replace(/^http/, 'ws')}${path}`, protocols, { headers });
    socket.on('unexpected-response', (_request, response) => {
      let body = '';
      response.setEncoding('utf8').on('data', (text: string) => (body += text));
      response.on('end', () => resolve({ status: response.statusCode!, body }));
    });
    socket.on('open', () => (socket.terminate(), reject(new Error('was let in'))));
    socket.on('error', reject);
  });
}

/** Numbers from 1, or `from`, to `to`. */
export const upTo = (to: number, from = 1): number[] => Array.from({ length: to - from + 1 }, (_, index) => from + index);
