import { Injectable } from '@nestjs/common';
import { capabilitiesOf } from '../../access/domain/capabilities.js';
import { mayGrant } from '../../access/domain/granting.js';
import { AgentDirectory } from '../../agents/agent-directory.service.js';
import { AgentSwitches } from '../../agents/agent-switches.service.js';
import { AgentService } from '../../agents/agent.service.js';
import { OfficeError } from '../../platform/errors/office-error.js';
import { WakeService } from '../../runs/wake.service.js';
import { WakeAnswerView } from '../../runs/run.view.js';
import { HireDesk } from '../hire-desk.service.js';
import { RefusedWithEffect, RuntimeAction, type ActionCall, type ActionDeclaration } from '../runtime-action.js';
import { CreateAgentBody, ModifyAgentBody, SpawnRunBody } from '../runtime.dto.js';
import { ChangedAgentView } from '../runtime.view.js';

@Injectable()
export class CreateAgent extends RuntimeAction<CreateAgentBody, ChangedAgentView> {
  static readonly declared: ActionDeclaration = {
    action: 'create_agent',
    capability: 'create_agent',
    route: 'POST agents',
    status: 201,
    summary: 'Hire an agent that may do no more than you. Where the workspace wants it, a person has to approve first.',
    names: [{ field: 'reports_to', kind: 'agent' }],
    body: CreateAgentBody,
    answer: ChangedAgentView,
    idempotent: true,
  };

  constructor(
    private readonly hires: HireDesk,
    private readonly directory: AgentDirectory,
  ) {
    super();
  }

  override async perform({ tx, run, body, about }: ActionCall<CreateAgentBody>): Promise<ChangedAgentView> {
    const { agentId } = await this.hires.hire(tx, run, body, 'as_the_workspace_says');
    about('agent', agentId);
    return { agent: await this.directory.viewFor(tx, run.workspaceId, agentId, 'redacted') };
  }
}

@Injectable()
export class ModifyAgent extends RuntimeAction<ModifyAgentBody, ChangedAgentView> {
  static readonly declared: ActionDeclaration = {
    action: 'modify_agent',
    capability: 'modify_agents',
    route: 'PATCH agents/:agent_id',
    status: 200,
    summary: 'Change an agent that may do no more than you, to one that may do no more than you.',
    names: [
      { field: 'agent_id', kind: 'agent', isTarget: true },
      { field: 'reports_to', kind: 'agent' },
    ],
    body: ModifyAgentBody,
    answer: ChangedAgentView,
  };

  constructor(
    private readonly hires: HireDesk,
    private readonly directory: AgentDirectory,
  ) {
    super();
  }

  override async perform({ tx, run, body, params }: ActionCall<ModifyAgentBody>): Promise<ChangedAgentView> {
    const agentId = String(params['agent_id']).toLowerCase();
    const granter = await this.hires.granter(tx, run);
    await this.directory.amend(tx, run.workspaceId, agentId, body, { isInstanceAdmin: false }, (agent, changes) => {
      const before = { id: agent.id, role: agent.role, holds: capabilitiesOf(agent.role, agent.permissions) };
      const role = changes.role ?? agent.role;
      const after = { role, holds: capabilitiesOf(role, changes.permissions ?? agent.permissions) };
      const changesItself = agent.id === run.agentId && (changes.role !== undefined || changes.permissions !== undefined);
      if (changesItself || !mayGrant(granter, { before, after })) throw new OfficeError('capability_denied', { agent_id: agent.id });
      // A person has been shown it as it is.
      if (agent.lifecycle === 'pending_approval') throw new OfficeError('agent_not_active', { lifecycle: agent.lifecycle });
    });
    return { agent: await this.directory.viewFor(tx, run.workspaceId, agentId, 'redacted') };
  }
}

@Injectable()
export class UnpauseAgent extends RuntimeAction<object, ChangedAgentView> {
  static readonly declared: ActionDeclaration = {
    action: 'unpause_agent',
    capability: 'modify_agents',
    route: 'POST agents/:agent_id/unpause',
    status: 200,
    summary: "End another agent's pause. For the CEO, and never its own.",
    names: [{ field: 'agent_id', kind: 'agent', isTarget: true }],
    body: null,
    answer: ChangedAgentView,
  };

  constructor(
    private readonly hires: HireDesk,
    private readonly agents: AgentService,
    private readonly switches: AgentSwitches,
    private readonly directory: AgentDirectory,
  ) {
    super();
  }

  override async perform({ tx, run, params }: ActionCall): Promise<ChangedAgentView> {
    const agentId = String(params['agent_id']).toLowerCase();
    if (run.role !== 'ceo' || agentId === run.agentId) throw new OfficeError('capability_denied', { agent_id: agentId });
    const granter = await this.hires.granter(tx, run);
    const agent = await this.agents.lock(tx, run.workspaceId, agentId);
    const standing = { id: agent.id, role: agent.role, holds: capabilitiesOf(agent.role, agent.permissions) };
    if (!mayGrant(granter, { before: standing, after: standing })) throw new OfficeError('capability_denied', { agent_id: agentId });
    if (agent.lifecycle === 'archived') throw new OfficeError('agent_archived');
    if (await this.switches.liftPause(tx, agent)) await this.agents.tellStanding(tx, run.workspaceId, agent.id);
    return { agent: await this.directory.viewFor(tx, run.workspaceId, agentId, 'redacted') };
  }
}

@Injectable()
export class SpawnAgentRun extends RuntimeAction<SpawnRunBody, WakeAnswerView> {
  static readonly declared: ActionDeclaration = {
    action: 'spawn_agent_run',
    capability: 'spawn_agent_run',
    route: 'POST agents/:agent_id/runs',
    status: 202,
    summary: 'Ask an agent to work, on a task or on none. Answers at once; it works under its own permissions.',
    names: [
      { field: 'agent_id', kind: 'agent', isTarget: true },
      { field: 'task_id', kind: 'task', changes: true },
    ],
    body: SpawnRunBody,
    answer: WakeAnswerView,
    idempotent: true,
  };

  constructor(private readonly wakes: WakeService) {
    super();
  }

  override async perform({ tx, body, params, task, actor }: ActionCall<SpawnRunBody>): Promise<WakeAnswerView | RefusedWithEffect> {
    const note = [body.note, body.payload && JSON.stringify(body.payload, null, 2)].filter((part) => part !== undefined).join('\n\n');
    const answer = await this.wakes.wake(tx, {
      agentId: String(params['agent_id']).toLowerCase(),
      on: task === null ? { scope: 'manual' } : { taskId: task.id },
      reason: 'agent_spawned',
      actor,
      ...(note === '' ? {} : { note }),
    });
    if (answer.outcome === 'refused') return new RefusedWithEffect(new OfficeError('wake_refused', { reason: answer.refusedReason }));
    return { run_id: answer.runId, outcome: answer.outcome };
  }
}
