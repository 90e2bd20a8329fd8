import { WebSocketGateway, type OnGatewayConnection } from '@nestjs/websockets';
import type { IncomingMessage } from 'node:http';
import type { WebSocket } from 'ws';
import { callOf } from '../access/current-call.decorator.js';
import { SOCKET_PATH } from './office-socket.adapter.js';
import { SocketDesk } from './socket-desk.service.js';

/**
 * The socket's door in Nest's terms. It has no message handlers: Nest would run the messages of one client side by side,
 * and drop without a word what it does not know. `OfficeSocketAdapter` has admitted whoever gets here.
 */
@WebSocketGateway({ path: SOCKET_PATH })
export class OfficeGateway implements OnGatewayConnection<WebSocket> {
  constructor(private readonly desk: SocketDesk) {}

  handleConnection(socket: WebSocket, request: IncomingMessage): void {
    this.desk.welcome(socket, request.socket, callOf(request).person);
  }
}
