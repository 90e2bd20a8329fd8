import { Body, Controller, HttpCode, HttpStatus, Post } from '@nestjs/common';
import { ApiAcceptedResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { Allow } from '../access/allow.decorator.js';
import { DrainBody } from './drain.dto.js';
import { Drain } from './drain.service.js';
import { DrainView } from './drain.view.js';

@ApiTags('operation')
@Controller('admin')
export class DrainController {
  constructor(private readonly drain: Drain) {}

  @Post('drain')
  @HttpCode(HttpStatus.ACCEPTED)
  @Allow('instance_admin')
  @ApiOperation({ summary: 'Let this server finish what it runs and start nothing new; it goes on answering' })
  @ApiAcceptedResponse({ type: DrainView })
  start(@Body() body: DrainBody): Promise<DrainView> {
    return this.drain.start(body);
  }
}
