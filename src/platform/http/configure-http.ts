import { Logger, RequestMethod } from '@nestjs/common';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { Clock } from '../clock/clock.js';
import { Metrics } from '../metrics/metrics.js';
import { API_PREFIX } from './api-prefix.js';
import { InputValidation } from './input-validation.js';
import { OfficeErrorFilter } from './office-error.filter.js';
import { serveOpenApi } from './open-api.js';

/** What stands at the root, beside the prefix. */
const ROOT_ROUTES = ['metrics', 'mcp', 'health/live', 'health/ready'];

/** How long answers under way may take once the server closes. */
const CLOSING_GRACE_MS = 5_000;

/** For the documentation page: its own scripts and styles, nothing from elsewhere, in nobody's frame. */
const PAGE_POLICY =
  "default-src 'self'; img-src 'self' data:; style-src 'self' 'unsafe-inline'; object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/**
 * Everything about HTTP that is the same for every route. Call it once, before `init` or `listen`, on an application made
 * with `new OfficeHttpAdapter()`.
 */
export function configureHttp(app: NestFastifyApplication, { rootRoutes = [] }: { rootRoutes?: readonly string[] } = {}): void {
  const exclude = [...ROOT_ROUTES, ...rootRoutes].map((path) => ({ path, method: RequestMethod.ALL }));
  app.setGlobalPrefix(API_PREFIX, { exclude });
  app.useGlobalPipes(new InputValidation());
  app.useGlobalFilters(new OfficeErrorFilter(app.getHttpAdapter(), app.get(Clock)));
  const server: FastifyInstance = app.getHttpAdapter().getInstance();
  addHeaders(server);
  tellRequests(server, app.get(Metrics));
  closeGently(server, app.get(Clock));
  serveOpenApi(app);
}

function addHeaders(server: FastifyInstance): void {
  server.addHook('onSend', (request: FastifyRequest, reply: FastifyReply, payload, done) => {
    reply.header('X-Request-Id', request.id);
    reply.header('X-Content-Type-Options', 'nosniff');
    reply.header('Referrer-Policy', 'no-referrer');
    if (String(reply.getHeader('Content-Type')).startsWith('text/html')) {
      if (!reply.hasHeader('Content-Security-Policy')) reply.header('Content-Security-Policy', PAGE_POLICY);
    } else if (!reply.hasHeader('Cache-Control') && request.url.startsWith(`/${API_PREFIX}/`)) reply.header('Cache-Control', 'no-store');
    done(null, payload);
  });
}

/**
 * One metric and one line per request: the route's pattern, never the URL, whose query may hold what should not be kept.
 * Reads and refusals are told at debug: they are many, and during an outage they are all there is.
 */
function tellRequests(server: FastifyInstance, metrics: Metrics): void {
  const logger = new Logger('Http');
  const duration = metrics.histogram({
    name: 'office_http_request_duration_seconds',
    help: 'Time from the request to the end of its answer.',
    labels: ['method', 'route', 'status'],
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
  });
  server.addHook('onResponse', (request: FastifyRequest, reply: FastifyReply, done) => {
    const { method } = request;
    const { statusCode: status, elapsedTime } = reply;
    const route = request.routeOptions.url ?? 'unmatched';
    duration.observe({ method, route, status: String(status) }, elapsedTime / 1_000);
    const facts = { method, route, status, ms: Math.round(elapsedTime * 10) / 10, request_id: request.id };
    if (method !== 'GET' && method !== 'HEAD' && status < 400) logger.log(facts, 'request');
    else logger.debug(facts, 'request');
    done();
  });
}

/** Connections are told to go, answers under way are finished, and after the grace whatever is left is cut. */
function closeGently(server: FastifyInstance, clock: Clock): void {
  let closing = false;
  server.addHook('onSend', (_request, reply: FastifyReply, payload, done) => {
    if (closing) reply.header('Connection', 'close');
    done(null, payload);
  });
  server.addHook('preClose', (done) => {
    closing = true;
    const cut = clock.after(CLOSING_GRACE_MS, () => server.server.closeAllConnections());
    server.server.once('close', () => cut.cancel());
    done();
  });
}
