import { Catch, Injectable, Logger } from '@nestjs/common';
import type { ArgumentsHost, ExceptionFilter } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { FastifyRequest } from 'fastify';
import { knownRun } from '../access/run-admission.js';
import { Clock } from '../platform/clock/clock.js';
import { OfficeErrorFilter, refusalOf } from '../platform/http/office-error.filter.js';
import { RuntimeActions } from './runtime-actions.service.js';

/** Every refusal of a request whose run is known is in the run's log before it is answered. */
@Catch()
@Injectable()
export class RunRefusalFilter implements ExceptionFilter {
  private readonly logger = new Logger(RunRefusalFilter.name);
  private answering: OfficeErrorFilter | null = null;

  constructor(
    private readonly adapters: HttpAdapterHost,
    private readonly clock: Clock,
    private readonly actions: RuntimeActions,
  ) {}

  async catch(error: unknown, host: ArgumentsHost): Promise<void> {
    const request = host.switchToHttp().getRequest<FastifyRequest>();
    const refusal = refusalOf(error, request.id);
    const known = knownRun(request);
    if (known !== null && (refusal.status < 500 || refusal.code === 'runtime_dependency_missing')) {
      try {
        await this.actions.noteRefusal(known.run, known.requirement, known.fields, refusal);
      } catch (problem) {
        this.logger.error({ run_id: known.run.runId, action: known.requirement.action, err: problem }, 'refusal could not be noted');
      }
    }
    this.answering ??= new OfficeErrorFilter(this.adapters.httpAdapter, this.clock);
    this.answering.catch(error, host);
  }
}
