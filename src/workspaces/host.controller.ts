import { Controller, Get, Query } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { Allow } from '../access/allow.decorator.js';
import { PageQuery } from '../platform/http/page.dto.js';
import type { Page } from '../platform/http/page.view.js';
import { HostRegistry } from './host-registry.service.js';
import { HostPage, HostView } from './workspace.view.js';

@ApiTags('operation')
@Controller('hosts')
export class HostController {
  constructor(private readonly hosts: HostRegistry) {}

  @Get()
  @Allow('instance_admin')
  @ApiOperation({ summary: 'The machines that run agents' })
  @ApiOkResponse({ type: HostPage })
  list(@Query() query: PageQuery): Promise<Page<HostView>> {
    return this.hosts.list(query);
  }
}
