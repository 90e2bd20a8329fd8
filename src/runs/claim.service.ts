import { Injectable } from '@nestjs/common';
import { join } from 'node:path';
import { capabilitiesOf } from '../access/domain/capabilities.js';
import { skillsFolderOf } from '../execution/adapters/skills-folder.js';
import { UnitOfWork } from '../platform/database/unit-of-work.js';
import type { Tx } from '../platform/database/tx.js';
import { newId } from '../platform/ids.js';
import type { ClaimedRun, ClaimInput, ClaimWrite, WrittenClaim } from './claim.js';
import { ClaimRepository, type ClaimPlace } from './claim.repository.js';
import { composePrompt, type Prompt } from './domain/prompt.js';
import type { FencedRun } from './fenced-run.js';
import { judgeStaleness, type CancelledAsStale, type Staleness } from './domain/staleness.js';

export interface ClaimRequest extends ClaimPlace {
  /** Where folders of tasks are made when a task has none yet. */
  readonly workDir: string;
}

export interface ClaimResult {
  readonly claimed: readonly ClaimedRun[];
  /** Runs that were looked at and found worthless. */
  readonly cancelled: number;
  /** Retries that are too old (contract 4); whoever claims gives them up, in transactions of their own. */
  readonly tooOld: readonly FencedRun[];
  /** True when the claim stopped at its limit or cleared something away: look again at once. */
  readonly mayHaveMore: boolean;
}

interface Prepared {
  readonly input: ClaimInput;
  readonly staleness: Staleness;
  readonly prompt: Prompt;
  readonly write: ClaimWrite;
}

/** Takes waiting runs of one workspace for one host: one transaction, fenced from here on by the generation (contract 4). */
@Injectable()
export class ClaimService {
  constructor(
    private readonly unitOfWork: UnitOfWork,
    private readonly claims: ClaimRepository,
  ) {}

  async claim(request: ClaimRequest): Promise<ClaimResult> {
    let written: readonly WrittenClaim[] = [];
    const { prepared, ...seen } = await this.unitOfWork.run(request.workspaceId, (tx) =>
      this.claimIn(tx, request, (rows) => (written = rows)),
    );
    // Cannot be: all of them were locked. What is ours then and nobody drives is settled as one that was interrupted.
    if (written.length !== prepared.length) throw new Error('a locked run was not there to be claimed');
    const byRun = new Map(prepared.map((one) => [one.input.run_id, one]));
    return { ...seen, claimed: written.map((row) => claimedRun(request, row, byRun.get(row.run_id)!)) };
  }

  private async claimIn(
    tx: Tx,
    request: ClaimRequest,
    heard: (written: readonly WrittenClaim[]) => void,
  ): Promise<Omit<ClaimResult, 'claimed'> & { readonly prepared: readonly Prepared[] }> {
    const chosen = await this.claims.chooseRuns(tx, request);
    if (chosen.length === 0) return { prepared: [], cancelled: 0, tooOld: [], mayHaveMore: false };
    // In one trip. What is read of runs that could not be locked is not looked at.
    const [mine, read] = await Promise.all([this.claims.lockRuns(tx, chosen), this.claims.readInputs(tx, chosen, request)]);
    const sessionOf = new Map(mine.map(({ id, session_id }) => [id, session_id]));
    const inputs = read.filter(
      ({ run_id, session }) => sessionOf.has(run_id) && (session === null || session.id === sessionOf.get(run_id)),
    );
    const [stale, valid] = separate(inputs);
    for (const { input, cancel } of stale) await this.cancel(tx, input, cancel);
    const tooOld = valid.filter(({ input }) => input.too_old).map(({ input }) => oldRetry(request.workspaceId, input));
    const young = valid.filter(({ input }) => !input.too_old);
    const fresh = await this.unheld(tx, young, idsOf(mine));
    const prepared = fresh.map(({ input, staleness }) => prepare(request, input, staleness));
    await this.write(tx, request, prepared, heard);
    return {
      prepared,
      cancelled: stale.length,
      tooOld,
      // Whoever has been left out behind one that went first is not claimable any more, and may have hidden others.
      mayHaveMore:
        stale.length > 0 || tooOld.length > 0 || fresh.some(({ input }) => input.hold_id !== null) || prepared.length >= request.limit,
    };
  }

  /** Those that nothing holds, and of those behind a hold that is over the one that goes first. */
  private async unheld<One extends { readonly input: ClaimInput }>(tx: Tx, runs: readonly One[], order: readonly string[]): Promise<One[]> {
    const behind = runs
      .flatMap(({ input }) => (input.hold_id === null ? [] : [{ runId: input.run_id, holdId: input.hold_id }]))
      .sort((a, b) => order.indexOf(a.runId) - order.indexOf(b.runId));
    const first = await this.claims.goFirst(tx, behind);
    return runs.filter(({ input }) => input.hold_id === null || first.has(input.run_id));
  }

  private async cancel(tx: Tx, input: ClaimInput, reason: CancelledAsStale): Promise<void> {
    await this.claims.cancelStale(tx, input.run_id, reason);
    tx.emit('office.wakeup.updated', { ...namesOf(input), status: 'cancelled' });
  }

  private async write(
    tx: Tx,
    request: ClaimRequest,
    prepared: readonly Prepared[],
    heard: (written: readonly WrittenClaim[]) => void,
  ): Promise<void> {
    if (prepared.length === 0) return;
    const writes = prepared.map(({ write }) => write);
    await this.claims.write(tx, request, writes, heard);
    tellOfAgents(tx, prepared);
    for (const { input, write } of prepared) tell(tx, input, write);
  }
}

const claimedRun = (
  { workspaceId }: ClaimRequest,
  { run_id, generation, execution_id }: WrittenClaim,
  { input, prompt, write }: Prepared,
): ClaimedRun => ({
  runId: run_id,
  generation,
  executionId: execution_id,
  workspaceId,
  agentId: input.agent_id,
  taskId: input.task_id,
  sessionId: write.session_id,
  adapter: input.adapter,
  adapterConfig: input.adapter_config,
  acpSessionId: write.new_conversation ? null : (input.session?.acpSessionId ?? null),
  folder: write.path,
  repositoryId: write.repository_id,
  prompt,
  skillsVersion: input.skills_version,
  reason: input.reason,
  capabilities: write.capabilities,
  role: write.role,
  attempt: input.retry_count + 1,
  turn: (input.session?.turns ?? 0) + 1,
});

function separate(
  inputs: readonly ClaimInput[],
): [{ input: ClaimInput; cancel: CancelledAsStale }[], { input: ClaimInput; staleness: Staleness }[]] {
  const stale: { input: ClaimInput; cancel: CancelledAsStale }[] = [];
  const fresh: { input: ClaimInput; staleness: Staleness }[] = [];
  for (const input of inputs) {
    const staleness = judgeStaleness(input.task, input.agent_id, input.holds_seat, input.wakes);
    if (staleness.cancel === null) fresh.push({ input, staleness });
    else stale.push({ input, cancel: staleness.cancel });
  }
  return [stale, fresh];
}

function prepare(request: ClaimRequest, input: ClaimInput, staleness: Staleness): Prepared {
  const wakes = input.wakes.filter(({ id }) => !staleness.staleWakeIds.includes(id));
  const prompt = composePrompt({
    agent: { name: input.agent_name, role: input.agent_role, instructions: input.instructions },
    workspace: input.workspace_name,
    skills: { folder: skillsFolderOf(input.adapter), list: input.skills },
    wakes,
    refusedWakes: input.refused_wakes,
    task:
      input.task === null || input.task_id === null
        ? null
        : {
            ...input.task,
            id: input.task_id,
            descriptionIsNews: input.task.descriptionIsNews,
            comments: input.comments,
            earlierComments: input.comments_total - input.comments.length,
            openBlockers: input.open_blockers,
            seats: input.seats,
          },
    mayHaveBegun: input.may_have_begun,
  });
  const isAssignee = input.task?.assigneeId === input.agent_id;
  const taskStarts = isAssignee && (input.task.state === 'TODO' || (input.task.state === 'REVIEW' && input.task.reviewAfterFailure));
  const place = input.task_id === null ? join('runs', input.run_id) : join('tasks', input.task_id);
  const write: ClaimWrite = {
    run_id: input.run_id,
    agent_id: input.agent_id,
    task_id: input.task_id,
    session_id: input.session?.id ?? newId(),
    new_session: input.session === null,
    new_conversation: input.session !== null && input.session.adapter !== input.adapter,
    adapter: input.adapter,
    path: input.folder ?? join(request.workDir, request.workspaceId, place),
    repository_id: input.task?.repositoryId ?? null,
    task_starts: taskStarts,
    // Frozen at the first claim: what was granted then holds for the life of the run (contract 4, 12).
    capabilities: input.capabilities ?? capabilitiesOf(input.agent_role, input.permissions),
    role: input.run_role ?? input.agent_role,
    input_snapshot: {
      prompt,
      wakes: wakes.map(({ id, reason }) => ({ id, reason })),
      stale_wakes: staleness.staleWakeIds,
      agent: { name: input.agent_name, role: input.agent_role, adapter: input.adapter },
      attempt: input.retry_count + 1,
    },
    stale_wake_ids: staleness.staleWakeIds,
  };
  return { input, staleness, prompt, write };
}

const oldRetry = (workspaceId: string, input: ClaimInput): FencedRun => ({
  runId: input.run_id,
  generation: input.generation,
  workspaceId,
  agentId: input.agent_id,
  taskId: input.task_id,
  sessionId: input.session_id!,
});

const idsOf = (runs: readonly { id: string }[]): string[] => runs.map(({ id }) => id);

const namesOf = ({ run_id, agent_id, task_id }: ClaimInput) => ({
  wakeup_id: run_id,
  agent_id,
  ...(task_id === null ? {} : { task_id }),
});

function tell(tx: Tx, input: ClaimInput, write: ClaimWrite): void {
  if (write.task_starts) tx.emit('office.task.updated', { task_id: input.task_id!, fields: ['state'] });
  tx.emit('office.wakeup.updated', { ...namesOf(input), status: 'running' });
  tx.emit('office.task.session.updated', { session_id: write.session_id, task_id: input.task_id, state: 'STARTING' });
}

/** An agent that had nothing running works from now on: once per agent, however many of its runs were taken. */
function tellOfAgents(tx: Tx, prepared: readonly Prepared[]): void {
  const told = new Set<string>();
  for (const { input } of prepared) {
    if (input.agent_running > 0 || told.has(input.agent_id)) continue;
    told.add(input.agent_id);
    tx.emit('office.agent.updated', {
      agent_id: input.agent_id,
      status: 'working',
      consecutive_failures: input.consecutive_failures,
    });
  }
}
