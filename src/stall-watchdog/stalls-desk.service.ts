import { Injectable } from '@nestjs/common';
import { OfficeSettings } from '../platform/config/office-settings.js';
import { undecided } from './domain/decision-wait.js';
import { isQuiet } from './domain/quiet-run.js';
import { gatesOf } from './domain/signal-disposition.js';
import {
  QuietTurns,
  RunsInFlight,
  SignalledSessions,
  StepDecisions,
  StepParticipants,
  TasksAtGates,
  type Evidence,
} from './stall-readers.js';
import type { StallEvidenceView, StallsView, StallView } from './stalls.view.js';

const MOST = 200;
const NOTHING = { task_id: null, session_id: null, agent_id: null, run_id: null, step_id: null, gate: null, evidence: null, seats: [] };

/** What the watchdog's predicates say of a workspace now, whoever leads. */
@Injectable()
export class StallsDesk {
  constructor(
    private readonly sessions: SignalledSessions,
    private readonly gates: TasksAtGates,
    private readonly participants: StepParticipants,
    private readonly decisions: StepDecisions,
    private readonly runs: RunsInFlight,
    private readonly turns: QuietTurns,
    private readonly settings: OfficeSettings,
  ) {}

  async of(workspaceId: string): Promise<StallsView> {
    const page = { after: null, take: MOST, workspaceId };
    const found = await Promise.all([this.signals(page), this.waiting(page), this.quiet(page)]);
    return { items: found.flat().toSorted((a, b) => b.age_ms - a.age_ms), next_cursor: null };
  }

  private async signals(page: Parameters<SignalledSessions['list']>[0]): Promise<StallView[]> {
    const thresholdMs = this.settings.OFFICE_STRANDED_SIGNAL_SEC * 1_000;
    const sessions = await this.sessions.list(page, thresholdMs);
    return sessions.flatMap((session) => {
      const { gate, disposition } = gatesOf(session, thresholdMs);
      if (disposition !== 'surface_only') return [];
      const { taskId: task_id, sessionId: session_id, agentId: agent_id, stepId: step_id, turn, evidence } = session;
      const names = { task_id, session_id, agent_id, step_id, run_id: turn?.runId ?? null };
      const age_ms = Math.round(session.signal!.ageMs);
      return [{ ...NOTHING, kind: 'stranded_signal' as const, age_ms, ...names, gate, evidence: viewEvidence(evidence) }];
    });
  }

  private async waiting(page: Parameters<TasksAtGates['list']>[0]): Promise<StallView[]> {
    const tasks = await this.gates.list(page, this.settings.OFFICE_DECISION_WAIT_SEC * 1_000);
    const [seats, made, busy] = await Promise.all([this.participants.of(tasks), this.decisions.of(tasks), this.runs.of(tasks)]);
    return tasks.flatMap(({ taskId, stepId, waitedMs }) => {
      const waiting = undecided(seats.get(taskId) ?? [], made.get(taskId) ?? []);
      if (waiting.length === 0 || busy.has(taskId)) return [];
      return [
        {
          ...NOTHING,
          kind: 'decision_waiting' as const,
          age_ms: Math.round(waitedMs),
          task_id: taskId,
          step_id: stepId,
          seats: waiting.map(({ id, role, agentId, userId, name }) => ({ id, role, agent_id: agentId, user_id: userId, name })),
        },
      ];
    });
  }

  private async quiet(page: Parameters<QuietTurns['list']>[0]): Promise<StallView[]> {
    const thresholdMs = this.settings.OFFICE_QUIET_SEC * 1_000;
    const turns = await this.turns.list(page, thresholdMs);
    return turns
      .filter((turn) => isQuiet(turn, thresholdMs))
      .map(({ quietMs, taskId: task_id, sessionId: session_id, agentId: agent_id, runId: run_id, evidence }) => ({
        ...NOTHING,
        kind: 'quiet_run' as const,
        age_ms: Math.round(quietMs!),
        task_id,
        session_id,
        agent_id,
        run_id,
        evidence: viewEvidence(evidence),
      }));
  }
}

const viewEvidence = ({ lastContentAt, processAlive, currentTool }: Evidence): StallEvidenceView => ({
  last_content_at: lastContentAt?.toISOString() ?? null,
  process_alive: processAlive,
  current_tool: currentTool,
});
