import { randomUUID } from 'node:crypto';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { AgentView } from '../../src/agents/agent.view.js';
import { processesWith, waitFor, type RealServer } from '../support/real-server.js';
import { AnyModel } from './any-model.js';
import { Assignment } from './codex-desk.js';
import type { RealAgent } from './real-agents.js';

/** A real agent hired into a workspace of its own, with a home of its own and a model of its own. */
export class AgentDesk {
  private readonly home = mkdtempSync(join(tmpdir(), 'office-agent-'));
  /** In the environment of all its processes. */
  private readonly mark = randomUUID();
  private workspaceId = '';
  private agentId = '';

  private constructor(
    private readonly server: RealServer,
    readonly model: AnyModel,
  ) {}

  static async open(server: RealServer, agent: RealAgent, policy: 'allow' | 'deny'): Promise<AgentDesk> {
    const desk = new AgentDesk(server, await AnyModel.open());
    await desk.hire(agent, policy);
    return desk;
  }

  private async hire({ adapter, command, env, files }: RealAgent, policy: string): Promise<void> {
    // Where the office is root its agents are somebody else.
    chmodSync(this.home, 0o777);
    for (const [name, text] of Object.entries(files?.(this.model.url) ?? {})) {
      const file = join(this.home, name);
      mkdirSync(dirname(file), { recursive: true });
      chmodSync(dirname(file), 0o777);
      writeFileSync(file, text);
      chmodSync(file, 0o666);
    }
    const { id } = await this.server.must<{ id: string }>('POST /workspaces', { name: 'Acme' });
    this.workspaceId = id;
    const agent = await this.server.must<AgentView>(`POST /workspaces/${id}/agents`, {
      name: 'Robin',
      role: 'worker',
      adapter,
      adapter_config: {
        command,
        env: { HOME: this.home, AGENT_DESK: this.mark, ...env(this.model.url, this.home) },
        permission_policy: policy,
      },
    });
    this.agentId = agent.id;
  }

  async assign(title: string): Promise<Assignment> {
    const task = await this.server.must<{ id: string }>(`POST /workspaces/${this.workspaceId}/tasks`, {
      title,
      assignee_agent_instance_id: this.agentId,
    });
    return new Assignment(this.server, this.workspaceId, task.id);
  }

  /** It has asked the model for the `n`th time. */
  async asked(n = 1): Promise<void> {
    await waitFor(() => this.model.requests.length >= n, 60_000, `request ${n} to the model`);
  }

  cancel(runId: string): Promise<unknown> {
    return this.server.must(`POST /runs/${runId}/cancel`);
  }

  processes(): number[] {
    return processesWith(`AGENT_DESK=${this.mark}`);
  }

  async noProcessLeft(): Promise<void> {
    await waitFor(() => this.processes().length === 0, 15_000, 'its processes to be gone');
  }

  async close(): Promise<void> {
    await this.model.close();
    await this.noProcessLeft();
    rmSync(this.home, { recursive: true, force: true, maxRetries: 5 });
  }
}
