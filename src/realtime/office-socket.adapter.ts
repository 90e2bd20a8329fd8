import { Logger, type INestApplicationContext } from '@nestjs/common';
import { WsAdapter } from '@nestjs/platform-ws';
import { STATUS_CODES, type IncomingMessage, type Server } from 'node:http';
import type { Duplex } from 'node:stream';
import { WebSocketServer, type WebSocket } from 'ws';
import { bearerToken } from '../access/access-token.js';
import { admit } from '../access/admission.js';
import { Doorkeeper } from '../access/doorkeeper.service.js';
import { Clock } from '../platform/clock/clock.js';
import { isUnavailable } from '../platform/database/sqlstate.js';
import { OFFICE_ERRORS, type OfficeErrorCode } from '../platform/errors/office-error.js';
import { CLOSE } from './connection.js';
import { Connections } from './connections.service.js';
import { SUBPROTOCOL, tokenAmong } from './domain/presented-token.js';

export const SOCKET_PATH = '/ws';
const HOP_BY_HOP: ReadonlySet<string> = new Set(['upgrade', 'connection', 'http2-settings']);
const MAX_INBOUND_BYTES = 64 * 1024;
/** How long clients may take over their goodbye when the server closes. */
const CLOSING_MS = 2_000;

/**
 * WebSockets on the port of HTTP. Who comes is found out before the upgrade and answered in plain HTTP when it is nobody.
 * No Origin is looked at: a foreign page has no token to offer, and there are no cookies.
 */
export class OfficeSocketAdapter extends WsAdapter {
  private readonly doorkeeper: Doorkeeper;
  private readonly connections: Connections;
  private readonly clock: Clock;
  private http: Server | null = null;

  constructor(app: INestApplicationContext) {
    super(app);
    this.doorkeeper = app.get(Doorkeeper, { strict: false });
    this.connections = app.get(Connections, { strict: false });
    this.clock = app.get(Clock, { strict: false });
  }

  override create(port: number, { path = SOCKET_PATH }: { path?: string } = {}): WebSocketServer {
    const options = {
      noServer: true,
      maxPayload: MAX_INBOUND_BYTES,
      perMessageDeflate: false,
      // We answer pings ourselves: not to whoever does not read the answers.
      autoPong: false,
      handleProtocols: (offered: ReadonlySet<string>) => (offered.has(SUBPROTOCOL) ? SUBPROTOCOL : (false as const)),
    };
    const server = new WebSocketServer(options);
    this.ensureHttpServerExists(port, this.httpServer as Server);
    this.addWsServerToRegistry(server as WebSocketServer & { path: string }, port, path);
    return server;
  }

  /** Messages are heard by the desk, in their order. */
  override bindMessageHandlers(): void {}

  /** Says goodbye, so that clients go elsewhere at once, and does not wait long for theirs. */
  override async close(server: WebSocketServer): Promise<void> {
    for (const client of server.clients) client.close(CLOSE.goingAway, 'the server is closing');
    for (let waited = 0; server.clients.size > 0 && waited < CLOSING_MS; waited += 50) await this.clock.sleep(50);
    await super.close(server);
  }

  override async dispose(): Promise<void> {
    this.http?.off('upgrade', this.onUpgrade);
    await super.dispose();
  }

  /** Instead of the parent's listener, which lets everybody in and answers a wrong path with nothing at all. */
  protected override ensureHttpServerExists(_port: number, http?: Server): undefined {
    if (this.http !== null || http === undefined) return;
    this.http = http;
    http.on('upgrade', this.onUpgrade);
  }

  private readonly onUpgrade = (request: IncomingMessage, socket: Duplex, head: Buffer): void => {
    if (request.headers.upgrade?.toLowerCase() !== 'websocket') return this.goOnInHttp(request, socket, head);
    // Until the library has it, and after a refusal, an error of the socket is nobody's; unheard it would end the process.
    socket.on('error', () => undefined);
    this.upgrade(request, socket, head).catch((error: unknown) => {
      if (!isUnavailable(error)) new Logger(OfficeSocketAdapter.name).error({ err: error }, 'upgrade failed');
      refuse(socket, isUnavailable(error) ? 'database_unavailable' : 'internal_error');
    });
  };

  /**
   * Clients that would rather speak HTTP/2 ask for it with their first request, whatever that is, and are content to be
   * ignored. Once anybody listens for upgrades Node ignores no such request any more, so it is given back without the question.
   */
  private goOnInHttp({ method, url, httpVersion, rawHeaders }: IncomingMessage, socket: Duplex, head: Buffer): void {
    const lines = [`${method} ${url} HTTP/${httpVersion}`];
    for (let at = 0; at < rawHeaders.length; at += 2) {
      if (!HOP_BY_HOP.has(rawHeaders[at]!.toLowerCase())) lines.push(`${rawHeaders[at]}: ${rawHeaders[at + 1]}`);
    }
    this.http!.emit('connection', socket);
    socket.unshift(Buffer.concat([Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1'), head]));
  }

  private async upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    const [path, query] = (request.url ?? '').split('?', 2);
    const server = ((this.wsServersRegistry.get(0) ?? []) as (WebSocketServer & { path: string })[]).find((one) => one.path === path);
    if (server === undefined) return refuse(socket, 'route_not_found');
    // Addresses are logged, shared and kept; a credential in one is none.
    if (query !== undefined) return refuse(socket, 'unauthenticated');
    const token = tokenOf(request);
    const person = token === null ? null : await this.doorkeeper.identify(token);
    if (person === null) return refuse(socket, 'unauthenticated');
    if (!this.connections.hasPlaceFor(person.userId)) return refuse(socket, 'too_many_connections');
    admit(request, { call: { person, idempotency: null }, workspaceId: null });
    server.handleUpgrade(request, socket, head, (client: WebSocket) => server.emit('connection', client, request));
  }
}

function tokenOf({ headers }: IncomingMessage): string | null {
  if (headers.authorization !== undefined) return bearerToken(headers.authorization);
  const offered = tokenAmong(headers['sec-websocket-protocol']);
  return offered === null ? null : bearerToken(`Bearer ${offered}`);
}

/** The refusal of any route, on a socket that has no response to write it to. */
function refuse(socket: Duplex, code: OfficeErrorCode): void {
  const [status, sentence] = OFFICE_ERRORS[code];
  const body = JSON.stringify({ error: sentence, code });
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    'Content-Type: application/json',
    `Content-Length: ${Buffer.byteLength(body)}`,
    ...(status === 401 ? ['WWW-Authenticate: Bearer'] : []),
    ...(status === 503 ? ['Retry-After: 2'] : []),
    'Connection: close',
  ];
  if (socket.writable) socket.end(`${head.join('\r\n')}\r\n\r\n${body}`, () => socket.destroy());
  else socket.destroy();
}
