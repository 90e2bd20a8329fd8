import { Controller, Get, Header, HttpStatus, Res } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiProduces, ApiServiceUnavailableResponse, ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { LiveView, ReadyView } from '../platform/health/health.view.js';
import { Readiness } from '../platform/health/readiness.js';
import { Metrics } from '../platform/metrics/metrics.js';
import { Allow } from './allow.decorator.js';

/** What machines ask at the root. Here and not in platform/, because every route says who may call it. */
@ApiTags('operation')
@Controller()
export class ProbesController {
  constructor(
    private readonly readiness: Readiness,
    private readonly metrics: Metrics,
  ) {}

  @Get('health/live')
  @Allow('public')
  @ApiOperation({ summary: 'Is the process alive' })
  @ApiOkResponse({ type: LiveView })
  live(): LiveView {
    return { status: 'ok' };
  }

  @Get('health/ready')
  @Allow('public')
  @ApiOperation({ summary: 'Should this server be sent work' })
  @ApiOkResponse({ type: ReadyView })
  @ApiServiceUnavailableResponse({ type: ReadyView })
  async ready(@Res({ passthrough: true }) reply: FastifyReply): Promise<ReadyView> {
    const { ready, checks, draining } = await this.readiness.report();
    reply.status(ready ? HttpStatus.OK : HttpStatus.SERVICE_UNAVAILABLE);
    return { status: ready ? 'ok' : 'unavailable', checks: { ...checks }, draining };
  }

  @Get('metrics')
  @Allow('loopback_or_instance_admin')
  @ApiOperation({ summary: 'Counters and gauges in the Prometheus text format' })
  @ApiProduces('text/plain')
  @ApiOkResponse({ schema: { type: 'string' } })
  @Header('Content-Type', 'text/plain; version=0.0.4; charset=utf-8')
  expose(): Promise<string> {
    return this.metrics.expose();
  }
}
