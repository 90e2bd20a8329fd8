import { FastifyAdapter } from '@nestjs/platform-fastify';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Socket } from 'node:net';
import { OFFICE_ERRORS, OfficeError } from '../errors/office-error.js';
import type { OfficeErrorCode } from '../errors/office-error.js';
import { newId } from '../ids.js';
import { parseBody, UnreadBody } from './json-body.js';

export const MAX_BODY_BYTES = 1024 * 1024;

const bodyOf = (code: OfficeErrorCode): string => JSON.stringify({ error: OFFICE_ERRORS[code][1], code });

/** Fastify as the office wants it: JSON bodies only, of bounded size, depth and duration, and no word of a client believed. */
export class OfficeHttpAdapter extends FastifyAdapter {
  constructor() {
    super({
      logger: false,
      bodyLimit: MAX_BODY_BYTES,
      // An address in a header is a claim; whoever runs a proxy loses nothing we would do with it.
      trustProxy: false,
      requestIdHeader: false,
      genReqId: newId,
      requestTimeout: 30_000,
      keepAliveTimeout: 65_000,
      http: { headersTimeout: 15_000 },
      // Answers under way are finished; `configureHttp` cuts what is left after its grace.
      forceCloseConnections: 'idle',
      routerOptions: { maxParamLength: 300 },
      frameworkErrors: (error: { statusCode?: number }, _request: FastifyRequest, reply: FastifyReply) => {
        const code = error.statusCode === 414 ? 'uri_too_long' : 'malformed_request';
        void reply.code(OFFICE_ERRORS[code][0]).type('application/json').send(bodyOf(code));
      },
      clientErrorHandler: answerBrokenRequest,
    });
    const server = this.getInstance();
    server.removeAllContentTypeParsers();
    server.addContentTypeParser('application/json', { parseAs: 'string' }, (_request, text, done) => {
      try {
        done(null, parseBody(text as string));
      } catch (error) {
        done(null, new UnreadBody(error instanceof OfficeError ? error : new OfficeError('invalid_json')));
      }
    });
  }

  /** Nest would add its own JSON parser, and one for forms, which no route takes. */
  override registerParserMiddleware(): void {}
}

/** What Node's parser could not read as HTTP at all has no request and no route: it is answered on the bare socket. */
function answerBrokenRequest(error: NodeJS.ErrnoException, socket: Socket): void {
  if (error.code === 'ECONNRESET' || socket.destroyed) return;
  const code =
    error.code === 'HPE_HEADER_OVERFLOW'
      ? 'headers_too_large'
      : error.code === 'ERR_HTTP_REQUEST_TIMEOUT'
        ? 'request_timeout'
        : 'malformed_request';
  const body = bodyOf(code);
  const head = `HTTP/1.1 ${OFFICE_ERRORS[code][0]} Refused\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n`;
  if (socket.writable) socket.write(head + body);
  socket.destroySoon();
}
