import { Controller, Get } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { Allow } from '../access/allow.decorator.js';
import { AdapterRegistry } from '../execution/adapter-registry.service.js';
import { AdapterListView } from '../execution/adapter.view.js';

@ApiTags('operation')
@Controller('adapters')
export class AdaptersController {
  constructor(private readonly adapters: AdapterRegistry) {}

  @Get()
  @Allow('person')
  @ApiOperation({ summary: 'The kinds of agents this host can start, and what the others lack' })
  @ApiOkResponse({ type: AdapterListView })
  async list(): Promise<AdapterListView> {
    return { items: await this.adapters.probe(), next_cursor: null };
  }
}
