import { Logger } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { databaseOptions } from '../../src/database-options.js';
import { SystemClock } from '../../src/platform/clock/system-clock.js';
import { OfficeSettings } from '../../src/platform/config/office-settings.js';
import { Nudges } from '../../src/platform/database/nudges.js';
import { UnitOfWork } from '../../src/platform/database/unit-of-work.js';
import { newId } from '../../src/platform/ids.js';
import { Metrics } from '../../src/platform/metrics/metrics.js';
import { DecisionWaiting } from '../../src/stall-watchdog/decision-waiting.pass.js';
import { QuietRuns } from '../../src/stall-watchdog/quiet-runs.pass.js';
import type { SignalReclaimer } from '../../src/stall-watchdog/signal-reclaimer.service.js';
import { StallMetrics } from '../../src/stall-watchdog/stall-metrics.js';
import {
  QuietTurnRows,
  RunInFlightRows,
  SignalledSessionRows,
  StepDecisionRows,
  StepParticipantRows,
  TaskAtGateRows,
} from '../../src/stall-watchdog/stall-readers.repository.js';
import { StallTeller } from '../../src/stall-watchdog/stall-teller.service.js';
import { StallWatchdog } from '../../src/stall-watchdog/stall-watchdog.service.js';
import { StrandedSignals } from '../../src/stall-watchdog/stranded-signals.pass.js';
import { WorkflowRepository } from '../../src/workflow/workflow.repository.js';
import { WorkflowService } from '../../src/workflow/workflow.service.js';
import { manyLiveTurns, manyTasks } from '../support/many-rows.js';
import { percentile, type Bench, type Figure } from './figures.js';

const TASKS = 1_000_000;
const AT_GATE = 1_000;
const TURNS = 10_000;
const ROUNDS = 50;

async function furnish(db: DataSource, unitOfWork: UnitOfWork, size: number): Promise<void> {
  const [workspaceId, agentId, hostId, bootId] = [newId(), newId(), newId(), newId()];
  await unitOfWork.run(workspaceId, async (tx) => {
    await tx.query(`insert into workspaces (id, name, task_prefix) values ($1, 'Acme', 'OFF')`, [workspaceId]);
    await tx.query(`insert into workspace_settings (workspace_id) values ($1)`, [workspaceId]);
    await tx.query(`insert into office_event_counters (workspace_id) values ($1)`, [workspaceId]);
    await new WorkflowService(new WorkflowRepository()).furnish(tx, workspaceId);
    await tx.query(
      `insert into agent_instances (id, workspace_id, name, handle, role, adapter) values ($1, $2, 'Ada', 'ada', 'reviewer', 'mock')`,
      [agentId, workspaceId],
    );
  });
  await db.query(`insert into hosts (id, boot_id, name, adapters, max_executions) values ($1, $2, 'den', '{mock}', 100000)`, [
    hostId,
    bootId,
  ]);
  await manyTasks(db, { workspaceId, tasks: Math.ceil(TASKS * size), atGate: Math.ceil(AT_GATE * size), holderId: agentId });
  const turns = Math.ceil(TURNS * size);
  await manyLiveTurns(
    db,
    { workspaceId, agentId, hostId, bootId },
    { turns, quiet: Math.ceil(turns / 100), signalled: Math.ceil(turns / 100) },
  );
  await db.query('vacuum analyze');
}

/** One tick of the watchdog over an office in which a thousand tasks wait and ten thousand turns are under way. */
export const watchdogBench: Bench = {
  name: 'watchdog',
  async run(place): Promise<Figure[]> {
    const db = await new DataSource(databaseOptions(await place.database(), { statementTimeoutMs: 0 })).initialize();
    try {
      // A line for each of a thousand stalls would be most of the first tick.
      Logger.overrideLogger(false);
      const clock = new SystemClock();
      const unitOfWork = new UnitOfWork(db, new Nudges(db, clock), clock);
      await furnish(db, unitOfWork, place.size);
      const settings = new OfficeSettings();
      const metrics = new StallMetrics(new Metrics());
      const sessions = new SignalledSessionRows(unitOfWork, settings);
      const gates = new TaskAtGateRows(unitOfWork);
      const participants = new StepParticipantRows(unitOfWork);
      const decisions = new StepDecisionRows(unitOfWork);
      const runs = new RunInFlightRows(unitOfWork);
      const turns = new QuietTurnRows(unitOfWork, settings);
      const teller = new StallTeller(unitOfWork, settings, sessions, gates, participants, decisions, runs, turns);
      const watchdog = new StallWatchdog(
        new StrandedSignals(sessions, teller, {} as SignalReclaimer, metrics, settings),
        new DecisionWaiting(gates, participants, decisions, runs, teller, metrics, settings),
        new QuietRuns(turns, teller, metrics, settings),
        clock,
      );
      const timed = async (): Promise<number> => {
        const since = performance.now();
        await watchdog.tick();
        return performance.now() - since;
      };
      const first = await timed();
      for (let n = 0; n < 5; n++) await timed();
      const took: number[] = [];
      for (let n = 0; n < ROUNDS; n++) took.push(await timed());
      const [told] = await db.query<{ n: number }[]>(`select count(*)::int as n from office_events where action = 'office.stall'`);
      return [
        {
          what: `watchdog tick, ${TASKS} tasks, ${AT_GATE} waiting, ${TURNS} turns, p95`,
          ours: percentile(took, 0.95),
          unit: 'ms',
          target: 'under 50',
        },
        { what: `watchdog tick, the same, median`, ours: percentile(took, 0.5), unit: 'ms', target: 'under 50' },
        // What it costs by itself, on a machine that has others to serve.
        { what: `watchdog tick, the same, the quickest`, ours: Math.min(...took), unit: 'ms', target: 'under 50' },
        { what: `watchdog tick that tells of ${told!.n} stalls`, ours: first, unit: 'ms', target: 'under 20000' },
      ];
    } finally {
      await db.destroy();
    }
  },
};
