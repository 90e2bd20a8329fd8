import { Controller, Get } from '@nestjs/common';
import { AdapterRegistry } from './adapter-registry.service.js';
import type { AdapterListView } from './adapter.view.js';

@Controller('adapters')
export class AdaptersController {
  constructor(private readonly adapters: AdapterRegistry) {}

  @Get()
  async list(): Promise<AdapterListView> {
    return { items: await this.adapters.probe(), next_cursor: null };
  }
}
