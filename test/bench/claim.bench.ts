import pg from 'pg';
import { DataSource } from 'typeorm';
import { databaseOptions } from '../../src/database-options.js';
import { THE_SYSTEM } from '../../src/platform/actor.js';
import { SystemClock } from '../../src/platform/clock/system-clock.js';
import { Nudges } from '../../src/platform/database/nudges.js';
import { UnitOfWork } from '../../src/platform/database/unit-of-work.js';
import { newId } from '../../src/platform/ids.js';
import { ClaimRepository } from '../../src/runs/claim.repository.js';
import { ClaimService } from '../../src/runs/claim.service.js';
import { WakeService } from '../../src/runs/wake.service.js';
import { percentile, type Bench, type BenchPlace, type Figure } from './figures.js';
import { furnish, type Pair } from './furnish.js';

/** One claim of one run in a quiet workspace, again and again. */
async function claimMs(dataSource: DataSource, pairs: readonly Pair[]): Promise<number> {
  const unitOfWork = new UnitOfWork(dataSource, new Nudges(dataSource, new SystemClock()), new SystemClock());
  const claims = new ClaimService(unitOfWork, new ClaimRepository(unitOfWork));
  const wakes = new WakeService();
  const [hostId, bootId] = [newId(), newId()];
  await dataSource.query(`insert into hosts (id, boot_id, name, adapters, max_executions) values ($1, $2, 'bench', '{mock}', 1000)`, [
    hostId,
    bootId,
  ]);
  const times: number[] = [];
  for (const { workspaceId, agentId, taskId } of pairs) {
    await unitOfWork.run(workspaceId, (tx) => wakes.wake(tx, { agentId, on: { taskId }, reason: 'task_assigned', actor: THE_SYSTEM }));
    const began = performance.now();
    const { claimed } = await claims.claim({ workspaceId, hostId, bootId, leaseSec: 120, busyTaskIds: [], limit: 8, workDir: '/nowhere' });
    times.push(performance.now() - began);
    if (claimed.length !== 1) throw new Error(`claimed ${claimed.length}`);
    await dataSource.query(
      `update runs set status = 'completed', finished_at = now(), lease_host_id = null, lease_boot_id = null, lease_expires_at = null where id = $1`,
      [claimed[0]!.runId],
    );
  }
  return percentile(times.slice(20), 0.5);
}

export const claimBench: Bench = {
  name: 'claim',
  async run(place: BenchPlace): Promise<Figure[]> {
    const finished = Math.round(1_000_000 * place.size);
    const paused = Math.round(100_000 * place.size);
    // The first twenty are not counted.
    const samples = Math.min(220, Math.max(40, Math.round(2_200 * place.size)));
    const url = await place.database();
    const dataSource = await new DataSource(databaseOptions(url, { poolSize: 4 })).initialize();
    // The office's own connections give a statement less time than filling takes.
    const filler = new pg.Client({ connectionString: url });
    await filler.connect();
    try {
      const pairs = await furnish(url, { workspaces: 1, agents: 4, tasks: 2 * samples, concurrent: 100 });
      await dataSource.query('analyze');
      const empty = await claimMs(dataSource, pairs.slice(0, samples));
      const { workspaceId } = pairs[0]!;
      await filler.query(
        `insert into runs (id, workspace_id, agent_id, task_id, status, reason, wake_class, entitlement, claimed_at, launched_at, started_at,
                           finished_at, requested_at)
         select gen_random_uuid(), $1, t.assignee_agent_instance_id, t.id, 'completed', 'task_assigned', 1, 'assignee', now(), now(), now(),
                now(), now() - interval '1 day'
           from generate_series(1, $2::int) n join lateral (
             select id, assignee_agent_instance_id from tasks where workspace_id = $1 and number = 1 + n % $3::int) t on true`,
        [workspaceId, finished, pairs.length],
      );
      const waiting = await furnish(url, { workspaces: 1, agents: 50, tasks: paused, concurrent: 1, paused: true });
      // Into the same workspace would be a lie of constraints; the claim looks per workspace, so both places are filled.
      await filler.query(
        `insert into runs (id, workspace_id, agent_id, task_id, status, reason, wake_class, entitlement, requested_at)
         select gen_random_uuid(), workspace_id, assignee_agent_instance_id, id, 'queued', 'task_assigned', 1, 'assignee', now() - interval '1 day'
           from tasks where workspace_id = $1`,
        [waiting[0]!.workspaceId],
      );
      await filler.query(
        `with a as (
           insert into agent_instances (id, workspace_id, name, handle, role, adapter, pause_reason, pause_source)
           select gen_random_uuid(), $1, 'Paused', 'p' || n, 'worker', 'mock', 'bench', 'person' from generate_series(1, 50) n returning id
         ), t as (
           insert into tasks (id, workspace_id, number, identifier, title, workflow_id, step_id, created_by_kind)
           select gen_random_uuid(), $1, 100000 + n, 'P-' || n, 'Bench', s.workflow_id, s.id, 'system'
             from generate_series(1, $2::int) n, (select id, workflow_id from workflow_steps where workspace_id = $1 limit 1) s
           returning id, number
         ), ranked as (select id, row_number() over () as place from a)
         insert into runs (id, workspace_id, agent_id, task_id, status, reason, wake_class, entitlement, requested_at)
         select gen_random_uuid(), $1, ranked.id, t.id, 'queued', 'task_assigned', 1, 'none', now() - interval '1 day'
           from t join ranked on ranked.place = 1 + t.number % 50`,
        [workspaceId, paused],
      );
      await filler.query('analyze');
      const full = await claimMs(dataSource, pairs.slice(samples));
      return [
        {
          what: `claim with ${finished.toLocaleString('en')} finished and ${paused.toLocaleString('en')} paused runs`,
          ours: full,
          baseline: { of: 'the same, empty', value: empty },
          unit: 'ms',
          target: 'flat: at most 1.3x',
        },
      ];
    } finally {
      await filler.end();
      await dataSource.destroy();
    }
  },
};
