import { Injectable } from '@nestjs/common';
import type { AgentPermissions, AgentRole, Capability } from '../access/domain/capabilities.js';
import type { Tx } from '../platform/database/tx.js';
import { newId } from '../platform/ids.js';
import { Dismissals } from './dismissals.service.js';
import { lacksTitle } from './domain/item-title.js';
import { asksForIt } from './domain/missing-capability.js';

export interface MissingCapability {
  readonly id: string;
  readonly agent_id: string;
  readonly agent_name: string;
  readonly task_id: string | null;
  readonly capability: Capability;
  readonly action: string;
  /** Null while it is open. */
  readonly granted: boolean | null;
}

interface Standing {
  readonly role: AgentRole;
  readonly permissions: AgentPermissions;
  /** It is asked already, or was when this run had begun: what a run may do does not change any more. */
  readonly asked: boolean;
  readonly left_so: boolean;
}

const NAMES = `c.id, c.agent_id, c.capability, c.action, c.granted, a.name as agent_name,
  (select r.task_id from runs r where r.id = c.run_id) as task_id`;

const LOOK = `
  select a.role, a.permissions,
         exists (select from missing_capabilities c where c.agent_id = a.id and c.capability = $3
                    and (c.closed_at is null or c.closed_at > r.claimed_at)) as asked,
         exists (select from missing_capabilities c where c.agent_id = a.id and c.capability = $3 and not c.granted) as left_so
    from runs r join agent_instances a on a.id = r.agent_id
   where r.workspace_id = $1 and r.id = $2`;
const LOOK_HELD = `${LOOK} for share of a`;

/**
 * What agents were refused for want of a capability: one open item per agent and capability, however often they try. Locked after
 * agents.
 */
@Injectable()
export class MissingCapabilities {
  constructor(private readonly dismissals: Dismissals) {}

  /** Of a refusal that is noted in this transaction, which holds the run. Asked with every one of them: nearly always it ends with one look. */
  async miss(tx: Tx, runId: string, capability: Capability, action: string): Promise<void> {
    if (!(await this.isNew(tx, LOOK, runId, capability))) return;
    // Against whoever grants it at this moment: they hold the agent, and would not see what is not there yet.
    if (!(await this.isNew(tx, LOOK_HELD, runId, capability))) return;
    const [opened] = await tx.query<MissingCapability>(
      `with c as (
         insert into missing_capabilities (id, workspace_id, agent_id, capability, action, run_id)
         select $3, r.workspace_id, r.agent_id, $4, $5, r.id from runs r where r.workspace_id = $1 and r.id = $2
         on conflict (agent_id, capability) where closed_at is null do nothing returning *
       ) select ${NAMES} from c join agent_instances a on a.id = c.agent_id`,
      [tx.workspaceId, runId, newId(), capability, action],
    );
    if (opened !== undefined) tell(tx, opened, 'opened');
  }

  async find(tx: Tx, id: string): Promise<MissingCapability | null> {
    const [row] = await tx.query<MissingCapability>(
      `select ${NAMES} from missing_capabilities c join agent_instances a on a.id = c.agent_id where c.workspace_id = $1 and c.id = $2`,
      [tx.workspaceId, id],
    );
    return row ?? null;
  }

  /** A person leaves it so. False: it was closed before. */
  async leave(tx: Tx, id: string, userId: string): Promise<boolean> {
    return (await this.close(tx, { condition: 'c.id = $3', of: id, granted: false, userId })) > 0;
  }

  /** The agent, which the caller holds, may do this now. `userId`: who said so; null: another agent. */
  async settle(tx: Tx, agentId: string, holds: readonly Capability[], userId: string | null): Promise<void> {
    await this.close(tx, { condition: 'c.agent_id = $3 and c.capability = any($4)', of: agentId, holds, granted: true, userId });
  }

  /** The agent is archived: nobody is left to grant it to. */
  async withdraw(tx: Tx, agentId: string): Promise<void> {
    await this.close(tx, { condition: 'c.agent_id = $3', of: agentId, granted: false, userId: null });
  }

  private async isNew(tx: Tx, look: string, runId: string, capability: Capability): Promise<boolean> {
    const [standing] = await tx.prepared<Standing>(look, [tx.workspaceId, runId, capability]);
    return standing !== undefined && !standing.asked && asksForIt(standing, capability, standing.left_so);
  }

  private async close(
    tx: Tx,
    what: {
      readonly condition: string;
      readonly of: string;
      readonly holds?: readonly Capability[];
      readonly granted: boolean;
      readonly userId: string | null;
    },
  ): Promise<number> {
    const closed = await tx.query<MissingCapability>(
      `with c as (
         update missing_capabilities c set closed_at = clock_timestamp(), granted = $2
          where c.workspace_id = $1 and c.closed_at is null and ${what.condition} returning *
       ) select ${NAMES} from c join agent_instances a on a.id = c.agent_id order by c.id`,
      [tx.workspaceId, what.granted, what.of, ...(what.holds === undefined ? [] : [what.holds])],
    );
    for (const row of closed) {
      await this.dismissals.dismiss(tx, 'capability_missing', row.id, what.userId === null ? {} : { userId: what.userId });
      tell(tx, row, 'resolved');
    }
    return closed.length;
  }
}

function tell(tx: Tx, { id, agent_id, agent_name, task_id, capability, action }: MissingCapability, change: 'opened' | 'resolved'): void {
  tx.emit('office.inbox_item', {
    kind: 'capability_missing',
    item_id: id,
    agent_id,
    ...(task_id === null ? {} : { task_ids: [task_id] }),
    title: lacksTitle(agent_name, capability, action),
    change,
  });
}
