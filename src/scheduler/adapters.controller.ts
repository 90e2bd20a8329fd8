import { Controller, Get } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { Allow } from '../access/allow.decorator.js';
import { AdapterProbe } from '../execution/adapter-probe.service.js';
import { AdapterListView } from '../execution/adapter.view.js';
import { AgentUsers } from '../workspaces/agent-users.service.js';

@ApiTags('operation')
@Controller('adapters')
export class AdaptersController {
  constructor(
    private readonly adapters: AdapterProbe,
    private readonly users: AgentUsers,
  ) {}

  @Get()
  @Allow('person')
  @ApiOperation({ summary: 'The kinds of agents this host can start, asked of them, and what they lack' })
  @ApiOkResponse({ type: AdapterListView })
  async list(): Promise<AdapterListView> {
    return { items: await this.adapters.list(this.users.stranger), next_cursor: null };
  }
}
