import { Injectable } from '@nestjs/common';
import type { Call } from '../access/call.js';
import { IdempotentCommands } from '../access/idempotent-commands.service.js';
import type { RegisterRepositoryBody } from './repository.dto.js';
import { RepositoryService } from './repository.service.js';
import type { RepositoryView } from './repository.view.js';

/** Where admins bring repositories: looked at on the disk first, then written down. */
@Injectable()
export class RepositoryDesk {
  constructor(
    private readonly repositories: RepositoryService,
    private readonly commands: IdempotentCommands,
  ) {}

  async register(call: Call, workspaceId: string, body: RegisterRepositoryBody): Promise<RepositoryView> {
    const path = await this.repositories.realPathFor(workspaceId, body.path);
    return this.commands.once(call, workspaceId, (tx) => this.repositories.register(tx, workspaceId, body, path));
  }
}
