import { Injectable } from '@nestjs/common';
import type { Person } from '../access/call.js';
import { granting } from '../access/domain/capabilities.js';
import { AgentDirectory } from '../agents/agent-directory.service.js';
import { AgentService } from '../agents/agent.service.js';
import type { PermissionDecision } from '../inbox/domain/permission-decision.js';
import { MissingCapabilities } from '../inbox/missing-capabilities.service.js';
import type { Tx } from '../platform/database/tx.js';
import { OfficeError } from '../platform/errors/office-error.js';
import { invalid } from '../platform/http/input-validation.js';
import { ALREADY, type Fixed, type Fixing } from './fixing.js';

/** `capability_missing`: an admin grants it with one press, or anybody leaves it so. */
@Injectable()
export class CapabilityGrants implements Fixing {
  readonly kind = 'capability_missing';

  constructor(
    private readonly missing: MissingCapabilities,
    private readonly agents: AgentService,
    private readonly directory: AgentDirectory,
  ) {}

  /** Null: there is no such item. True: granted by this. False: it had been. That the person may is the caller's business. */
  async answer(tx: Tx, itemId: string, decision: PermissionDecision, person: Person): Promise<boolean | null> {
    const asRead = await this.missing.find(tx, itemId);
    if (asRead === null) return null;
    if (decision !== 'allow_always') throw invalid([{ path: 'decision', problem: 'is allow_always here, or the item is dismissed' }]);
    const agent = await this.agents.lock(tx, tx.workspaceId!, asRead.agent_id);
    // Again, under the lock of the agent that whoever grants it holds.
    const { granted, capability } = (await this.missing.find(tx, itemId))!;
    if (granted === true) return false;
    if (agent.lifecycle === 'archived') throw new OfficeError('permission_gone');
    if (granted === false) throw new OfficeError('permission_answered', { decision: 'deny' });
    const permissions = granting(agent.role, agent.permissions, capability);
    await this.directory.amend(
      tx,
      tx.workspaceId!,
      agent.id,
      { permissions: { allow: [...permissions.allow], deny: [...permissions.deny] } },
      person,
      () => undefined,
    );
    return true;
  }

  async fix(tx: Tx, itemId: string, userId: string): Promise<Fixed> {
    return (await this.missing.leave(tx, itemId, userId)) ? { already: false, queued: [], skipped: [] } : ALREADY;
  }
}
