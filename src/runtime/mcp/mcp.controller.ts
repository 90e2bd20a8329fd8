import { Controller, Delete, Get, Post, Req, Res } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { CurrentRun } from '../../access/current-call.decorator.js';
import { Requires } from '../../access/requires.decorator.js';
import type { RunAdmission } from '../../access/run-admission.js';
import { OfficeError } from '../../platform/errors/office-error.js';
import { McpDesk } from './mcp-desk.service.js';

/** Whoever runs may come in; what each tool asks is asked again there. */
const WHOEVER_RUNS = { action: 'mcp', capability: null, names: [] };

/** The tools of the office for agents. Its own protocol, so it is not in the document of the API. */
@ApiExcludeController()
@Controller('mcp')
export class McpController {
  constructor(private readonly desk: McpDesk) {}

  @Post()
  @Requires(WHOEVER_RUNS)
  async call(@CurrentRun() { run }: RunAdmission, @Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    await send(reply, await this.desk.answer(run, asWebRequest(request), request.body));
  }

  /** There is no stream to listen to: everything is said in answers. */
  @Get()
  @Requires(WHOEVER_RUNS)
  listen(): never {
    throw new OfficeError('method_not_allowed');
  }

  /** Nor a session to end. */
  @Delete()
  @Requires(WHOEVER_RUNS)
  end(): never {
    throw new OfficeError('method_not_allowed');
  }
}

function asWebRequest(request: FastifyRequest): Request {
  const headers = new Headers();
  for (const [name, value] of Object.entries(request.headers)) {
    for (const one of [value].flat()) if (one !== undefined) headers.append(name, one);
  }
  return new Request(new URL(request.url, 'http://office'), { method: request.method, headers });
}

async function send(reply: FastifyReply, answer: Response): Promise<void> {
  const text = await answer.text();
  const type = answer.headers.get('content-type');
  reply.code(answer.status);
  if (type !== null) reply.type(type);
  await reply.send(text);
}
