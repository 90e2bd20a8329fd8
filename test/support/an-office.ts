import { Dismissals } from '../../src/inbox/dismissals.service.js';
import { ProviderHolds } from '../../src/inbox/provider-holds.service.js';
import { Interruptions } from '../../src/inbox/interruptions.service.js';
import type { Clock } from '../../src/platform/clock/clock.js';
import { SystemClock } from '../../src/platform/clock/system-clock.js';
import { OfficeSettings } from '../../src/platform/config/office-settings.js';
import { OfficeHost } from '../../src/platform/office-host.js';
import { newId } from '../../src/platform/ids.js';
import type { ClaimedRun } from '../../src/runs/claim.js';
import { ClaimRepository } from '../../src/runs/claim.repository.js';
import { ClaimService, type ClaimRequest, type ClaimResult } from '../../src/runs/claim.service.js';
import { RunOwnership } from '../../src/runs/run-ownership.service.js';
import { RunStops } from '../../src/runs/run-stops.service.js';
import { StoredWakes } from '../../src/runs/stored-wakes.service.js';
import { WakeService, type Wake, type WakeAnswer } from '../../src/runs/wake.service.js';
import { Escalation } from '../../src/settlement/escalation.service.js';
import { FailureDiagnoser } from '../../src/settlement/failure-diagnosis.service.js';
import { FailureEnding } from '../../src/settlement/failure-ending.service.js';
import { FailureRecorder } from '../../src/settlement/failure-recorder.service.js';
import { RetryRepository } from '../../src/settlement/retry.repository.js';
import { SettlementRepository } from '../../src/settlement/settlement.repository.js';
import { SettlementService } from '../../src/settlement/settlement.service.js';
import { SignalEnding } from '../../src/settlement/signal-ending.service.js';
import { CompletionSignals } from '../../src/sessions/completion-signals.service.js';
import { SignalRepository } from '../../src/sessions/signal.repository.js';
import { CommentRepository } from '../../src/tasks/comment.repository.js';
import { CommentService } from '../../src/tasks/comment.service.js';
import { GateRepository } from '../../src/tasks/gate.repository.js';
import { TaskDependents } from '../../src/tasks/task-dependents.service.js';
import { TaskMoves } from '../../src/tasks/task-moves.service.js';
import { TaskRepository } from '../../src/tasks/task.repository.js';
import { TaskService } from '../../src/tasks/task.service.js';
import { WorkflowRepository } from '../../src/workflow/workflow.repository.js';
import { WorkflowService } from '../../src/workflow/workflow.service.js';
import { openOfficeDb, type OfficeDb } from './office-db.js';

export interface AnOfficeOptions {
  readonly poolSize?: number;
  readonly settings?: Partial<OfficeSettings>;
  readonly clock?: Clock;
}

/** A workspace of rows, and the parts of the office that move runs, over one real database. No HTTP, no processes. */
export class AnOffice {
  readonly claims: ClaimService;
  readonly ownership: RunOwnership;
  readonly stops = new RunStops();
  readonly wakes = new WakeService();
  readonly dismissals = new Dismissals();
  readonly holds = new ProviderHolds(this.dismissals);
  readonly storedWakes: StoredWakes;
  readonly settlement: SettlementService;
  readonly moves: TaskMoves;
  readonly signals: CompletionSignals;
  readonly signalEnding: SignalEnding;
  readonly hostId = newId();
  readonly bootId = newId();

  private constructor(
    readonly db: OfficeDb,
    readonly personId: string,
    options: AnOfficeOptions,
  ) {
    this.claims = new ClaimService(db.unitOfWork, new ClaimRepository(db.unitOfWork));
    this.ownership = new RunOwnership(db.unitOfWork);
    this.storedWakes = new StoredWakes(db.unitOfWork, this.wakes);
    const taskRows = new TaskRepository();
    this.moves = new TaskMoves(taskRows, new GateRepository());
    this.signalEnding = new SignalEnding(
      new TaskService(taskRows),
      this.moves,
      new TaskDependents(),
      new SignalRepository(),
      this.stops,
      new Interruptions(this.dismissals),
      this.wakes,
    );
    this.signals = new CompletionSignals(new TaskService(taskRows), new SignalRepository());
    this.settlement = this.anotherSettlement(options);
  }

  /** As another server has it: what it settles shares no transaction with ours. */
  anotherSettlement(options: AnOfficeOptions = {}): SettlementService {
    const { db } = this;
    const settings = Object.assign(new OfficeSettings(), options.settings);
    const rows = new SettlementRepository();
    const retries = new RetryRepository();
    const failures = new FailureEnding(
      rows,
      retries,
      new FailureDiagnoser(settings, options.clock ?? new SystemClock()),
      new FailureRecorder(this.dismissals),
      new Interruptions(this.dismissals),
      this.holds,
      new Escalation(this.wakes),
      settings,
      new OfficeHost(this.hostId, this.bootId, 'den'),
    );
    const comments = new CommentService(new CommentRepository());
    return new SettlementService(
      db.unitOfWork,
      this.ownership,
      rows,
      failures,
      comments,
      retries,
      this.holds,
      this.storedWakes,
      this.signalEnding,
    );
  }

  static async open(options: AnOfficeOptions = {}): Promise<AnOffice> {
    const db = await openOfficeDb(options);
    const personId = newId();
    await db.dataSource.query(`insert into users (id, name) values ($1, 'Pat')`, [personId]);
    const office = new AnOffice(db, personId, options);
    await office.host();
    return office;
  }

  close(): Promise<void> {
    return this.db.close();
  }

  async host(about: { id?: string; adapters?: string[]; maxExecutions?: number } = {}): Promise<string> {
    const id = about.id ?? this.hostId;
    await this.db.dataSource.query(`insert into hosts (id, boot_id, name, adapters, max_executions) values ($1, $2, 'den', $3, $4)`, [
      id,
      this.bootId,
      about.adapters ?? ['mock', 'custom'],
      about.maxExecutions ?? 100,
    ]);
    return id;
  }

  async workspace(about: { threshold?: number } = {}): Promise<string> {
    const id = newId();
    await this.db.unitOfWork.run(id, async (tx) => {
      await tx.query(`insert into workspaces (id, name, task_prefix) values ($1, 'Acme', 'OFF')`, [id]);
      await tx.query(`insert into workspace_settings (workspace_id, agent_failure_threshold) values ($1, $2)`, [id, about.threshold ?? 3]);
      await tx.query(`insert into office_event_counters (workspace_id) values ($1)`, [id]);
      await new WorkflowService(new WorkflowRepository()).furnish(tx, id);
    });
    return id;
  }

  async agent(workspaceId: string, about: Readonly<Record<string, unknown>> = {}): Promise<string> {
    const row: Record<string, unknown> = { id: newId(), workspace_id: workspaceId, name: 'Ada', role: 'worker', adapter: 'mock', ...about };
    row.handle ??= `a${String(row.id).replaceAll('-', '')}`;
    return this.insert('agent_instances', row);
  }

  async task(workspaceId: string, about: Readonly<Record<string, unknown>> = {}): Promise<string> {
    const [{ number }] = await this.db.dataSource
      .query<[[{ number: number }], number]>(
        `update workspaces set last_task_number = last_task_number + 1 where id = $1 returning last_task_number as number`,
        [workspaceId],
      )
      .then(([rows]) => rows);
    const [step] = await this.db.dataSource.query<{ id: string; workflow_id: string }[]>(
      `select id, workflow_id from workflow_steps where workspace_id = $1 order by position limit 1`,
      [workspaceId],
    );
    return this.insert('tasks', {
      id: newId(),
      workspace_id: workspaceId,
      number,
      identifier: `OFF-${number}`,
      title: `Task ${number}`,
      workflow_id: step!.workflow_id,
      step_id: step!.id,
      created_by_kind: 'user',
      ...about,
    });
  }

  /** An agent and a task of its own. */
  async pair(workspaceId: string, agentAbout: Readonly<Record<string, unknown>> = {}): Promise<{ agentId: string; taskId: string }> {
    const agentId = await this.agent(workspaceId, agentAbout);
    return { agentId, taskId: await this.task(workspaceId, { assignee_agent_instance_id: agentId }) };
  }

  wake(workspaceId: string, wake: Partial<Wake> & Pick<Wake, 'agentId' | 'on'>): Promise<WakeAnswer> {
    const full: Wake = { reason: 'task_assigned', actor: { kind: 'user', id: this.personId }, ...wake };
    return this.db.unitOfWork.run(workspaceId, (tx) => this.wakes.wake(tx, full));
  }

  claim(workspaceId: string, about: Partial<ClaimRequest> = {}): Promise<ClaimResult> {
    return this.claims.claim({
      workspaceId,
      hostId: this.hostId,
      bootId: this.bootId,
      leaseSec: 120,
      busyTaskIds: [],
      limit: 10,
      workDir: '/nowhere',
      ...about,
    });
  }

  /** Wakes the pair, claims exactly that run and takes it to RUNNING. */
  async started(
    workspaceId: string,
    { agentId, taskId }: { agentId: string; taskId: string },
    reason: Wake['reason'] = 'task_assigned',
  ): Promise<ClaimedRun> {
    await this.wake(workspaceId, { agentId, on: { taskId }, reason });
    const { claimed } = await this.claim(workspaceId);
    const run = claimed.find((one) => one.agentId === agentId && one.taskId === taskId);
    if (run === undefined) throw new Error('the run was not claimed');
    await this.ownership.markLaunched(run);
    await this.ownership.markStarted(run, run.acpSessionId ?? `acp-${run.sessionId}`);
    return run;
  }

  async row<Row>(sql: string, ...parameters: unknown[]): Promise<Row> {
    const [row] = await this.rows<Row>(sql, ...parameters);
    if (row === undefined) throw new Error(`no row: ${sql}`);
    return row;
  }

  rows<Row>(sql: string, ...parameters: unknown[]): Promise<Row[]> {
    return this.db.dataSource.query<Row[]>(sql, parameters);
  }

  async change(sql: string, ...parameters: unknown[]): Promise<void> {
    await this.db.dataSource.query(sql, parameters);
  }

  private async insert(table: string, row: Readonly<Record<string, unknown>>): Promise<string> {
    const names = Object.keys(row);
    const places = names.map((_, index) => `$${index + 1}`);
    await this.db.dataSource.query(`insert into ${table} (${names.join(', ')}) values (${places.join(', ')})`, Object.values(row));
    return row.id as string;
  }
}
