import { Catch, HttpException, Logger } from '@nestjs/common';
import type { ArgumentsHost, ExceptionFilter, HttpServer } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import type { Clock } from '../clock/clock.js';
import { isRetryable, isUnavailable } from '../database/sqlstate.js';
import { OfficeError } from '../errors/office-error.js';
import type { OfficeErrorCode } from '../errors/office-error.js';

const RETRY_AFTER_SEC = '2';
const OUTAGE_LINE_EVERY_MS = 10_000;

/** What Nest and Fastify refuse by themselves, in our words. */
const BY_STATUS: Readonly<Record<number, OfficeErrorCode>> = {
  401: 'unauthenticated',
  403: 'forbidden',
  404: 'route_not_found',
  405: 'method_not_allowed',
  408: 'request_timeout',
  413: 'body_too_large',
  414: 'uri_too_long',
  415: 'unsupported_media_type',
  431: 'headers_too_large',
};

/** Refused with nothing but the sentence (wire document, 'Agents side'). */
const WITHOUT_CODE: ReadonlySet<OfficeErrorCode> = new Set(['missing_runtime_token', 'invalid_runtime_token']);

/** The body of a refusal on the wire. */
export const wireRefusal = (refusal: OfficeError): Record<string, unknown> =>
  WITHOUT_CODE.has(refusal.code) ? { error: refusal.message } : { error: refusal.message, code: refusal.code, ...refusal.facts };

/** The refusal an error stands for on the wire. Whatever nobody foresaw is an `internal_error` and says nothing of itself. */
export function refusalOf(error: unknown, requestId: string): OfficeError {
  if (error instanceof OfficeError) return error;
  if (error instanceof HttpException && error.getStatus() < 500)
    return new OfficeError(BY_STATUS[error.getStatus()] ?? 'malformed_request');
  // Aborted again and again in favour of others: nothing was done, and asking again is all there is to do.
  if (isUnavailable(error) || isRetryable(error)) return new OfficeError('database_unavailable');
  return new OfficeError('internal_error', { request_id: requestId });
}

/** The last stop of every error of a request: the only place that logs one and the only place that words one. */
@Catch()
export class OfficeErrorFilter implements ExceptionFilter {
  private readonly logger = new Logger('Http');
  private readonly outage = { silentUntilMs: 0, suppressed: 0 };

  constructor(
    private readonly adapter: HttpServer,
    private readonly clock: Clock,
  ) {}

  catch(error: unknown, host: ArgumentsHost): void {
    const request = host.switchToHttp().getRequest<FastifyRequest>();
    const response = host.switchToHttp().getResponse<object>();
    const refusal = refusalOf(error, request.id);
    if (refusal.code === 'database_unavailable') this.reportOutage(error);
    else if (refusal.status >= 500) this.logger.error({ err: error, request_id: request.id }, 'request failed');

    if (this.adapter.isHeadersSent(response)) return void this.adapter.end(response);
    if (refusal.status === 401) this.adapter.setHeader(response, 'WWW-Authenticate', 'Bearer');
    if (refusal.status === 503) this.adapter.setHeader(response, 'Retry-After', RETRY_AFTER_SEC);
    this.adapter.reply(response, wireRefusal(refusal), refusal.status);
  }

  /** One line every ten seconds however many requests fail: a database that is away must not fill the disk with its absence. */
  private reportOutage(error: unknown): void {
    const nowMs = this.clock.monotonicMs();
    if (nowMs < this.outage.silentUntilMs) {
      this.outage.suppressed++;
      return;
    }
    this.logger.warn({ err: error, suppressed: this.outage.suppressed }, 'database unavailable');
    this.outage.silentUntilMs = nowMs + OUTAGE_LINE_EVERY_MS;
    this.outage.suppressed = 0;
  }
}
