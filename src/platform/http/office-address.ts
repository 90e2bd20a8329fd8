import { Injectable } from '@nestjs/common';
import { OfficeSettings } from '../config/office-settings.js';
import { API_PREFIX } from './api-prefix.js';

/** Where this very server is reached from its own machine: what it tells the agents it launches. */
@Injectable()
export class OfficeAddress {
  private origin: string;

  constructor({ OFFICE_HOST: host, OFFICE_PORT: port }: OfficeSettings) {
    this.origin = `http://${host}:${port}`;
  }

  /** The doors are open, perhaps on a port that the system chose. Without a path. */
  openedAt(origin: string): void {
    this.origin = origin;
  }

  get apiUrl(): string {
    return `${this.origin}/${API_PREFIX}`;
  }

  get mcpUrl(): string {
    return `${this.origin}/mcp`;
  }
}
