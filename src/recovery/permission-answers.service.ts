import { Injectable } from '@nestjs/common';
import type { Call } from '../access/call.js';
import { holdsScope } from '../access/domain/route-access.js';
import { IdempotentCommands } from '../access/idempotent-commands.service.js';
import type { PermissionDecision } from '../inbox/domain/permission-decision.js';
import { PermissionRequests } from '../inbox/permission-requests.service.js';
import type { Tx } from '../platform/database/tx.js';
import { OfficeError } from '../platform/errors/office-error.js';
import { CapabilityGrants } from './capability-grants.service.js';
import type { AnsweredPermissionView } from './permission.view.js';

/** People's answers to agents that wait for one, or were refused for want of a capability. */
@Injectable()
export class PermissionAnswers {
  constructor(
    private readonly commands: IdempotentCommands,
    private readonly requests: PermissionRequests,
    private readonly grants: CapabilityGrants,
  ) {}

  answer(call: Call, workspaceId: string, itemId: string, decision: PermissionDecision): Promise<AnsweredPermissionView> {
    return this.commands.once(call, workspaceId, async (tx) => {
      if (decision === 'allow_always') await this.assertAdmin(tx, call);
      const answered = await this.requests.answer(tx, itemId, decision, call.person.userId);
      if (answered === null) {
        const granted = await this.grants.answer(tx, itemId, decision, call.person);
        if (granted === null) throw new OfficeError('not_found', { what: 'permission request', id: itemId });
        return { item_id: itemId, decision, already_answered: !granted };
      }
      if (answered === 'gone') throw new OfficeError('permission_gone');
      if (answered.decision !== decision) throw new OfficeError('permission_answered', { decision: answered.decision });
      return { item_id: itemId, decision, already_answered: !answered.now };
    });
  }

  private async assertAdmin(tx: Tx, { person }: Call): Promise<void> {
    const admins = await tx.query(`select 1 from workspace_members where workspace_id = $1 and user_id = $2 and role = 'admin'`, [
      tx.workspaceId,
      person.userId,
    ]);
    if (admins.length === 0 || !holdsScope(person.scopes, 'admin'))
      throw new OfficeError('forbidden', { reason: 'allow_always is for workspace admins' });
  }
}
