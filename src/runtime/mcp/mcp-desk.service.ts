import { Injectable, Optional } from '@nestjs/common';
import type { RunIdentity } from '../../access/domain/run-access.js';
import { AgentRuntime, type McpMode } from '../../execution/agent-runtime.js';
import { UnitOfWork } from '../../platform/database/unit-of-work.js';
import { McpTools } from './mcp-tools.service.js';

const INSTRUCTIONS =
  'The office you work in: comment on your task, move it on, divide it, wake and hire others, ask people, remember. `me` says what you may do.';

/**
 * MCP over streamable HTTP, without sessions: every request carries the run's token and is judged by itself, so a server that
 * was restarted, or a token that died, needs nothing to be told.
 */
@Injectable()
export class McpDesk {
  constructor(
    private readonly tools: McpTools,
    private readonly unitOfWork: UnitOfWork,
    @Optional() private readonly runtime?: AgentRuntime,
  ) {}

  async answer(run: RunIdentity, request: Request, parsedBody: unknown): Promise<Response> {
    const { Server, WebStandardStreamableHTTPServerTransport, CallToolRequestSchema, ErrorCode, ListToolsRequestSchema, McpError } =
      await import('./mcp-protocol.js');
    const server = new Server({ name: 'agent-office', version: '1' }, { capabilities: { tools: {} }, instructions: INSTRUCTIONS });
    server.setRequestHandler(ListToolsRequestSchema, async () => ({ tools: this.tools.list(run, await this.modeOf(run)) }));
    server.setRequestHandler(CallToolRequestSchema, async ({ params }) => {
      const result = await this.tools.call(run, await this.modeOf(run), params.name, params.arguments ?? {});
      if (result === null) throw new McpError(ErrorCode.InvalidParams, `there is no tool ${params.name.slice(0, 100)}`);
      return result;
    });
    const transport = new WebStandardStreamableHTTPServerTransport({ enableJsonResponse: true });
    await server.connect(transport);
    try {
      return await transport.handleRequest(request, { parsedBody });
    } finally {
      await server.close();
    }
  }

  /** As the run's execution has been told (`setMcpMode`). One that is not on this server has the tools it was launched with. */
  private async modeOf(run: RunIdentity): Promise<McpMode> {
    const [attempt] = await this.unitOfWork.read<{ execution_id: string | null }>(
      `select execution_id from run_attempts where workspace_id = $1 and run_id = $2 and generation = $3`,
      [run.workspaceId, run.runId, run.generation],
    );
    const execution = attempt?.execution_id == null ? null : this.runtime?.getExecution(attempt.execution_id);
    return execution?.mcpMode ?? 'office';
  }
}
