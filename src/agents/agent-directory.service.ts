import { Injectable } from '@nestjs/common';
import { isDeepStrictEqual } from 'node:util';
import type { Call } from '../access/call.js';
import { capabilitiesOf, type AgentPermissions } from '../access/domain/capabilities.js';
import { holdsScope } from '../access/domain/route-access.js';
import { outside } from '../platform/database/reading.js';
import type { Reading } from '../platform/database/reading.js';
import type { Tx } from '../platform/database/tx.js';
import { UnitOfWork } from '../platform/database/unit-of-work.js';
import { OfficeError } from '../platform/errors/office-error.js';
import { decodeCursor } from '../platform/http/cursor.js';
import { invalid } from '../platform/http/input-validation.js';
import { pageFrom } from '../platform/http/page.view.js';
import { newId } from '../platform/ids.js';
import type { AgentQuery, ChangeAgentBody, HireAgentBody, PermissionsPart } from './agent.dto.js';
import { AgentReactions } from './agent-reactions.js';
import { AgentReadings } from './agent-readings.js';
import { AgentRepository } from './agent.repository.js';
import type { AgentColumns, WholeAgentRow } from './agent.repository.js';
import { AgentService } from './agent.service.js';
import type { AgentPage, AgentView } from './agent.view.js';
import { viewAgent, viewListedAgent } from './agent.view.js';
import { reachesTheMachine, readAdapterConfig } from './domain/adapter-config.js';
import type { Adapter, AdapterConfig } from './domain/adapter-config.js';
import type { Lifecycle } from './domain/agent-status.js';
import { freeHandle, handleFrom } from './domain/handle.js';

/** Who works here: hiring, changing, looking up. */
@Injectable()
export class AgentDirectory {
  constructor(
    private readonly unitOfWork: UnitOfWork,
    private readonly agents: AgentRepository,
    private readonly readings: AgentReadings,
    private readonly standing: AgentService,
    private readonly reactions: AgentReactions,
  ) {}

  /** Part of an idempotent command. Whom people hire is active at once; approvals are for whom agents hire. */
  async hire(tx: Tx, workspaceId: string, input: HireAgentBody, call: Call): Promise<AgentView> {
    const id = await this.enlist(tx, workspaceId, input, { isInstanceAdmin: call.person.isInstanceAdmin, lifecycle: 'active' });
    return this.viewFor(tx, workspaceId, id, 'everything');
  }

  /** Makes an agent, whoever asks for it; answers its id. */
  async enlist(tx: Tx, workspaceId: string, input: HireAgentBody, as: Launcher & { readonly lifecycle: Lifecycle }): Promise<string> {
    const config = this.configOf(input.adapter_config ?? {}, input.adapter);
    this.assertMayLaunch(as, null, { adapter: input.adapter, config });
    await this.agents.lockDirectory(tx, workspaceId);
    const id = newId();
    const reportsTo = input.reports_to?.toLowerCase() ?? null;
    if (reportsTo !== null) await this.standing.assertAssignable(tx, workspaceId, reportsTo);
    await this.agents.insert(tx, workspaceId, {
      id,
      name: input.name,
      handle: await this.handleFor(tx, workspaceId, input),
      role: input.role,
      adapter: input.adapter,
      adapter_config: config,
      permissions: permissionsOf(input.permissions),
      instructions: input.instructions ?? null,
      reports_to: reportsTo,
      failure_threshold: input.failure_threshold ?? null,
      max_concurrent_sessions: input.max_concurrent_sessions ?? 1,
      cooldown_sec: input.cooldown_sec ?? 0,
      lifecycle: as.lifecycle,
    });
    await this.standing.tellStanding(tx, workspaceId, id);
    return id;
  }

  /** Writes and tells only what is different; a change that changes nothing does neither. */
  async change(workspaceId: string, agentId: string, input: ChangeAgentBody, call: Call): Promise<AgentView> {
    return this.unitOfWork.run(workspaceId, async (tx) => {
      await this.amend(tx, workspaceId, agentId, input, call.person, () => undefined);
      return this.viewFor(tx, workspaceId, agentId, 'everything');
    });
  }

  /** The part of it for a caller that has a transaction. `allow` sees the locked agent and what would change of it, and may refuse. */
  async amend(
    tx: Tx,
    workspaceId: string,
    agentId: string,
    input: ChangeAgentBody,
    by: Launcher,
    allow: (agent: WholeAgentRow, changes: Partial<AgentColumns>) => void,
  ): Promise<void> {
    if (input.handle !== undefined || input.reports_to !== undefined) await this.agents.lockDirectory(tx, workspaceId);
    const agent = await this.standing.lock(tx, workspaceId, agentId);
    if (agent.lifecycle === 'archived') throw new OfficeError('agent_archived');
    const changes = this.differences(agent, input, by);
    allow(agent, changes);
    await this.assertFits(tx, agent, changes);
    if (Object.keys(changes).length === 0) return;
    await this.agents.change(tx, agent, changes);
    if (changes.role !== undefined || changes.permissions !== undefined) {
      const holds = capabilitiesOf(changes.role ?? agent.role, changes.permissions ?? agent.permissions);
      await this.reactions.entitled(tx, { id: agent.id, holds, by: by.userId ?? null });
    }
    await this.standing.tellStanding(tx, workspaceId, agent.id);
    // More places, a shorter cooldown or another adapter may make a waiting run claimable.
    tx.nudge('work');
  }

  async list(workspaceId: string, query: AgentQuery): Promise<AgentPage> {
    const db = outside(this.unitOfWork);
    const after = decodeCursor(query.cursor);
    const rows = await this.agents.list(db, workspaceId, { archived: query.archived, after, take: query.limit + 1 });
    const ids = rows.map(({ id }) => id);
    const read = await this.readings.of(db, workspaceId, ids);
    return pageFrom(
      rows,
      query.limit,
      ({ id }) => id,
      (row) => viewListedAgent(row, read.get(row.id)),
    );
  }

  async get(workspaceId: string, agentId: string, call: Call): Promise<AgentView> {
    const db = outside(this.unitOfWork);
    // The scope counts as well: a token that may only read is handed to programs that have no business with launch secrets.
    const seesAll = holdsScope(call.person.scopes, 'admin') && (await this.agents.isAdmin(db, workspaceId, call.person.userId));
    return this.viewFor(db, workspaceId, agentId, seesAll ? 'everything' : 'redacted');
  }

  async viewFor(db: Reading, workspaceId: string, agentId: string, sees: 'everything' | 'redacted'): Promise<AgentView> {
    const row = await this.agents.find(db, workspaceId, agentId);
    if (!row) throw new OfficeError('not_found');
    const read = await this.readings.of(db, workspaceId, [row.id]);
    return viewAgent(row, read.get(row.id), sees, await this.readings.usageOf(db, workspaceId, row.id));
  }

  private async handleFor(tx: Tx, workspaceId: string, { name, handle }: HireAgentBody): Promise<string> {
    if (handle === undefined) {
      const wanted = handleFrom(name);
      return freeHandle(wanted, await this.agents.handlesLike(tx, workspaceId, wanted));
    }
    if (await this.agents.handleTaken(tx, workspaceId, handle)) throw new OfficeError('handle_taken', { handle });
    return handle;
  }

  private differences(agent: WholeAgentRow, input: ChangeAgentBody, by: Launcher): Partial<AgentColumns> {
    const wanted: Partial<AgentColumns> = {
      name: input.name,
      handle: input.handle,
      role: input.role,
      adapter: input.adapter,
      adapter_config: this.configAfter(agent, input, by),
      permissions: input.permissions && permissionsOf(input.permissions),
      instructions: input.instructions,
      reports_to: input.reports_to?.toLowerCase() ?? input.reports_to,
      failure_threshold: input.failure_threshold,
      max_concurrent_sessions: input.max_concurrent_sessions,
      cooldown_sec: input.cooldown_sec,
    };
    const isDifferent = ([name, value]: [string, unknown]): boolean =>
      value !== undefined && !isDeepStrictEqual(value, agent[name as keyof AgentColumns]);
    return Object.fromEntries(Object.entries(wanted).filter(isDifferent));
  }

  /** Undefined where neither the configuration nor what it is for changes. */
  private configAfter(agent: WholeAgentRow, input: ChangeAgentBody, by: Launcher): AdapterConfig | undefined {
    const adapter = input.adapter ?? agent.adapter;
    if (input.adapter_config === undefined && adapter === agent.adapter) return undefined;
    const config = this.configOf(input.adapter_config ?? agent.adapter_config, adapter);
    this.assertMayLaunch(by, { adapter: agent.adapter, config: agent.adapter_config }, { adapter, config });
    return config;
  }

  private async assertFits(tx: Tx, agent: WholeAgentRow, { handle, reports_to: bossId }: Partial<AgentColumns>): Promise<void> {
    if (handle !== undefined && (await this.agents.handleTaken(tx, agent.workspace_id, handle)))
      throw new OfficeError('handle_taken', { handle });
    if (bossId === undefined || bossId === null) return;
    await this.standing.assertAssignable(tx, agent.workspace_id, bossId);
    if (await this.agents.isAbove(tx, agent.workspace_id, agent.id, bossId)) throw new OfficeError('reporting_cycle');
  }

  private configOf(value: unknown, adapter: Adapter): AdapterConfig {
    const read = readAdapterConfig(value, adapter);
    if ('config' in read) return read.config;
    throw invalid(read.problems.map(({ path, problem }) => ({ path: path === '' ? 'adapter_config' : `adapter_config.${path}`, problem })));
  }

  private assertMayLaunch(by: Launcher, before: Launch | null, after: Launch): void {
    if (!by.isInstanceAdmin && reachesTheMachine(before, after)) {
      throw new OfficeError('forbidden', { reason: 'command and home "server" are for instance admins' });
    }
  }
}

/** Only what was given, so that the same permissions are stored, and compared, as the same. */
const permissionsOf = ({ allow, deny }: PermissionsPart = {}): AgentPermissions => ({ ...(allow && { allow }), ...(deny && { deny }) });

/** Whoever says how an agent is launched. Agents never do, so they are never instance admins. */
interface Launcher {
  readonly isInstanceAdmin: boolean;
  /** Left out: an agent. */
  readonly userId?: string;
}

interface Launch {
  readonly adapter: Adapter;
  readonly config: AdapterConfig;
}
