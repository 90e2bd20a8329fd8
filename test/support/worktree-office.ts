import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ExecutionModule } from '../../src/execution/execution.module.js';
import { ExecutionOptions } from '../../src/execution/execution-options.js';
import { newId } from '../../src/platform/ids.js';
import type { ClaimedRun } from '../../src/runs/claim.js';
import { ClaimService, type ClaimResult } from '../../src/runs/claim.service.js';
import { RunOwnership } from '../../src/runs/run-ownership.service.js';
import { SettlementService } from '../../src/settlement/settlement.service.js';
import { RepositoryModule } from '../../src/repositories/repository.module.js';
import { AgentUsers, type AgentUser } from '../../src/workspaces/agent-users.service.js';
import { TaskFolders } from '../../src/worktrees/task-folders.service.js';
import { WorktreeKeeper } from '../../src/worktrees/worktree-keeper.service.js';
import { WorktreeModule } from '../../src/worktrees/worktree.module.js';
import { openFrontDesk } from './front-desk.js';
import { aFolder } from './git-folder.js';
import type { Answer, OfficeApp } from './office-app.js';
import { anAgent, aTask } from './office-rooms.js';
import { OFFICE_ROOMS } from './recovery-office.js';

/** The office without its scheduler, with real repositories below a root of its own. A test claims, prepares and ends runs itself. */
export class WorktreeOffice {
  private constructor(
    readonly app: OfficeApp,
    readonly hostId: string,
    /** Repositories may be below it. */
    readonly root: string,
    private readonly dispose: () => Promise<void>,
  ) {}

  static async open(about: { dataDir?: string; hostId?: string; root?: string; account?: AgentUser } = {}): Promise<WorktreeOffice> {
    const folder = about.root === undefined ? await aFolder('repositories') : { path: about.root, remove: async () => undefined };
    const stateDir = mkdtempSync(join(tmpdir(), 'office-state-'));
    const hostId = about.hostId ?? newId();
    const app = await openFrontDesk({
      ...(about.dataDir === undefined ? {} : { dataDir: about.dataDir }),
      hostId,
      env: { OFFICE_REPOSITORY_ROOTS: `${folder.path}:/nowhere` },
      modules: [
        ExecutionModule.from({ useFactory: () => new ExecutionOptions(stateDir) }),
        ...OFFICE_ROOMS,
        RepositoryModule,
        WorktreeModule,
      ],
      providers: [],
    });
    const { account } = about;
    if (account !== undefined) app.app.get(AgentUsers, { strict: false }).of = () => Promise.resolve(account);
    await app.rows(
      `insert into hosts (id, boot_id, name, adapters, max_executions) values ($1, $2, 'den', '{mock}', 1000) on conflict do nothing`,
      [hostId, newId()],
    );
    return new WorktreeOffice(app, hostId, folder.path, async () => {
      rmSync(stateDir, { recursive: true, force: true });
      await folder.remove();
    });
  }

  async close(how: { keep?: boolean } = {}): Promise<void> {
    await this.app.close(how);
    await this.dispose();
  }

  get folders(): TaskFolders {
    return this.app.app.get(TaskFolders, { strict: false });
  }

  get keeper(): WorktreeKeeper {
    return this.app.app.get(WorktreeKeeper, { strict: false });
  }

  ask(route: string, body?: unknown, token = this.app.adminToken): Promise<Answer> {
    const [method, path] = route.split(' ') as [string, string];
    return this.app.ask(`${method} /api/v1${path}`, { token, ...(body === undefined ? {} : { body }) });
  }

  /** As `ask`, but a refusal is an error of the test. */
  async must<Body = Record<string, unknown>>(route: string, body?: unknown): Promise<Body> {
    const answer = await this.ask(route, body);
    if (answer.status >= 300) throw new Error(`${route}: ${answer.status} ${answer.text}`);
    return answer.body as Body;
  }

  async workspace(): Promise<string> {
    return (await this.must<{ id: string }>('POST /workspaces', { name: 'Acme', task_prefix: 'OFF' })).id;
  }

  async register(workspaceId: string, path: string): Promise<string> {
    return (await this.must<{ id: string }>(`POST /workspaces/${workspaceId}/repositories`, { name: 'doors', path })).id;
  }

  /** A task of an agent of its own, in a repository. */
  async task(workspaceId: string, about: Record<string, unknown>): Promise<{ agentId: string; taskId: string }> {
    const agentId = await anAgent(this.app, workspaceId);
    return { agentId, taskId: await aTask(this.app, workspaceId, { assignee_agent_instance_id: agentId, ...about }) };
  }

  async claim(workspaceId: string, bootId = newId()): Promise<ClaimResult> {
    await this.app.rows(`update hosts set last_seen_at = now() where id = $1`, [this.hostId]);
    return this.app.app.get(ClaimService, { strict: false }).claim({
      workspaceId,
      hostId: this.hostId,
      bootId,
      leaseSec: 120,
      busyTaskIds: [],
      limit: 100,
      workDir: join(this.app.dataDir, 'work'),
    });
  }

  /** Claims the task's waiting run and gives it its folder. */
  async prepared(workspaceId: string, taskId: string): Promise<ClaimedRun> {
    const run = (await this.claim(workspaceId)).claimed.find((one) => one.taskId === taskId);
    if (run === undefined) throw new Error('the run of the task was not claimable');
    await this.folders.prepare(run);
    return run;
  }

  /** A prepared run whose turn has ended well; its session has begun, so the next run of the pair is in the same conversation. */
  async worked(workspaceId: string, taskId: string): Promise<ClaimedRun> {
    const run = await this.prepared(workspaceId, taskId);
    const ownership = this.app.app.get(RunOwnership, { strict: false });
    await ownership.markLaunched(run);
    await ownership.markStarted(run, `acp-${run.sessionId}`);
    await this.end(run);
    return run;
  }

  async end(run: ClaimedRun): Promise<void> {
    const settlement = this.app.app.get(SettlementService, { strict: false });
    await settlement.settle(run, { kind: 'turn_ended', stopReason: 'end_turn', usage: null, lastMessage: null });
  }

  async wake(agentId: string, taskId: string): Promise<void> {
    await this.must(`POST /agents/${agentId}/runs`, { task_id: taskId });
  }

  async row<Row>(sql: string, ...parameters: unknown[]): Promise<Row> {
    const [row] = await this.app.rows<Row>(sql, parameters);
    if (row === undefined) throw new Error(`no row: ${sql}`);
    return row;
  }
}
