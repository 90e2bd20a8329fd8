import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ClaimRepository } from '../../../src/runs/claim.repository.js';
import { aPerson } from '../../support/front-desk.js';
import { gate, lockWaits } from '../../support/gate.js';
import { openByEvents, RecoveryOffice } from '../../support/recovery-office.js';

const FULL = process.env['OFFICE_FAULTS'] === 'full';
const faults = (full: number): number => (FULL ? full : full / 10);
const LONG = { timeout: FULL ? 1_200_000 : 120_000 };

let office: RecoveryOffice;
let people: [string, string];
let people_ids: string[];
beforeAll(async () => {
  office = await RecoveryOffice.open();
  const [ann, bob] = [await aPerson(office.app, { name: 'Ann' }), await aPerson(office.app, { name: 'Bob' })];
  people = [ann.token, bob.token];
  people_ids = [ann.id, bob.id];
});
afterAll(() => office.close());

const aShared = async (settings: Record<string, unknown> = {}): Promise<string> => {
  const ws = await office.workspace(settings);
  for (const id of people_ids) await office.must(`PUT /workspaces/${ws}/members/${id}`, { role: 'admin' });
  return ws;
};

/** An agent at work on three tasks, over and over. */
class Lane {
  private constructor(
    readonly ws: string,
    readonly agentId: string,
    readonly tasks: readonly string[],
  ) {}

  static async open(): Promise<Lane> {
    const ws = await aShared({ agent_failure_threshold: 2 });
    const agentId = await office.agent(ws);
    const tasks: string[] = [];
    for (let n = 0; n < 3; n++) tasks.push(await office.task(ws, { assignee_agent_instance_id: agentId }));
    return new Lane(ws, agentId, tasks);
  }

  /** A person sees to everything that is left, so that the next round begins with a clean slate and all three tasks queued. */
  async clear(): Promise<void> {
    await office.must(`POST /agents/${this.agentId}/unpause`);
    const items = await office.inbox(this.ws);
    if (items.length > 0) await office.must(`POST /workspaces/${this.ws}/inbox/dismiss`, { item_ids: items.map(({ id }) => id) });
    await office.rows(`update agent_instances set consecutive_failures = 0 where id = $1`, this.agentId);
  }

  async comment(): Promise<void> {
    for (const task of this.tasks) await office.must(`POST /tasks/${task}/comments`, { body: 'Go on.' });
  }

  async atWork() {
    const runs = await office.start(this.ws);
    if (runs.length !== 3) throw new Error(`${runs.length} of the three tasks were queued`);
    return runs as [(typeof runs)[0], (typeof runs)[0], (typeof runs)[0]];
  }
}

/** The pause was over before the third run failed: that failure stands by itself. */
const FIXED_FIRST = {
  answer: [200, false],
  queued: 2,
  agent: ['idle', true, 1],
  items: [['agent_run_failed', true, false, 1]],
};
/** The third run failed first: the newer pause covers all three and stays actionable; nothing was reset or queued. */
const FAILED_FIRST = {
  answer: [409, 'pause_changed'],
  queued: 0,
  agent: ['paused', false, 3],
  items: [['agent_paused_after_failures', false, false, 3]],
};

describe('an auto-pause and Mark fixed', () => {
  it(`never lose each other, in ${faults(1_000)} interleavings`, LONG, async () => {
    const lanes = await Promise.all([Lane.open(), Lane.open(), Lane.open()]);
    const outcomes = { fixed: 0, refused: 0 };
    const rounds = Math.ceil(faults(1_000) / lanes.length);
    await Promise.all(
      lanes.map(async (lane) => {
        // How much later the failure begins: always near the point where the order tips over.
        let lead = 0;
        for (let round = 0; round < rounds; round++) {
          if (round > 0) await lane.clear();
          const [first, second, third] = await lane.atWork();
          await office.fail(first);
          await office.fail(second);
          const [before] = await office.inbox(lane.ws);
          const by = lead + (Math.random() - 0.5) * 12;
          const [answer] = await Promise.all([
            pause(Math.max(0, -by)).then(() => office.dismiss(lane.ws, before!.id, people[round % 2])),
            pause(Math.max(0, by)).then(() => office.fail(third)),
          ]);
          lead += answer.status === 200 ? -4 : 4;
          const { status, pause_reason, consecutive_failures } = await office.agentNow(lane.agentId);
          const items = await office.inbox(lane.ws);
          const queued = await office.rows(`select id from runs where agent_id = $1 and status = 'queued'`, lane.agentId);
          const seen = {
            answer: [answer.status, answer.body['code'] ?? answer.body['already_dismissed']],
            queued: queued.length,
            agent: [status, pause_reason === null, consecutive_failures],
            items: items.map(({ id, kind, task_ids }) => [kind, id === third.runId, id === before!.id, task_ids.length]),
          };
          outcomes[answer.status === 200 ? 'fixed' : 'refused']++;
          expect(seen).toEqual(answer.status === 200 ? FIXED_FIRST : FAILED_FIRST);
        }

        const left = (await office.inbox(lane.ws)).map(({ id }) => id).sort();
        expect([...openByEvents(await office.told(lane.ws)).keys()].sort()).toEqual(left);
      }),
    );
    // Both orders have been seen, or this has shown nothing.
    expect(Math.min(outcomes.fixed, outcomes.refused)).toBeGreaterThan(0);
  });
});

describe('two people who press Mark fixed in the same instant', () => {
  it.each(['agent_run_failed', 'agent_paused_after_failures'] as const)(
    `get one requeue and two truthful answers: %s`,
    LONG,
    async (kind) => {
      const lane = await Lane.open();
      for (let round = 0; round < faults(200) / 2; round++) {
        if (round > 0) await lane.comment();
        const [first, second, third] = await lane.atWork();
        await office.complete(third);
        await office.fail(first);
        if (kind === 'agent_paused_after_failures') await office.fail(second);
        else await office.complete(second);
        const items = await office.inbox(lane.ws);
        // A completed run resets the counter, not another pair's failure.
        expect(items.map((item) => item.kind)).toEqual([kind]);
        const answers = await Promise.all(people.map((token) => office.dismiss(lane.ws, items[0]!.id, token)));
        expect(answers.map(({ status }) => status)).toEqual([200, 200]);
        const [winner, loser] = answers
          .map(({ body }) => body)
          .toSorted((a, b) => Number(a['already_dismissed']) - Number(b['already_dismissed']));
        const queued = await office.rows<{ id: string }>(
          `select id from runs where agent_id = $1 and status = 'queued' order by id`,
          lane.agentId,
        );
        expect(queued).toHaveLength(kind === 'agent_run_failed' ? 1 : 2);
        expect(winner).toMatchObject({ dismissed: true, already_dismissed: false });
        expect((winner!['queued_runs'] as { run_id: string }[]).map(({ run_id }) => run_id).sort()).toEqual(queued.map(({ id }) => id));
        expect(loser).toMatchObject({ dismissed: true, already_dismissed: true, queued_runs: [], skipped: [] });
        expect([...openByEvents(await office.told(lane.ws))]).toEqual([]);
      }
    },
  );

  it('and one who comments, one who reassigns and one who resumes: everything is told once and nothing stays open', LONG, async () => {
    const ws = await aShared({ agent_failure_threshold: 50 });
    const [ada, eve] = [await office.agent(ws, { name: 'Ada' }), await office.agent(ws, { name: 'Eve' })];
    for (let round = 0; round < faults(100); round++) {
      const { taskId, runId, sessionId } = await office.failedTask(ws, ada);
      const answers = await Promise.all([
        office.dismiss(ws, runId, people[0]),
        office.ask(`POST /tasks/${taskId}/sessions/${sessionId}/resume`, undefined, people[1]),
        office.ask(`POST /tasks/${taskId}/comments`, { body: 'Go on.' }, people[0]),
        office.ask(`PATCH /tasks/${taskId}`, { assignee_agent_instance_id: eve }, people[1]),
      ]);
      expect(answers.map(({ status }) => status).every((status) => status < 300 || status === 409)).toBe(true);
      const left = await office.rows(`select agent_id from runs where task_id = $1 and status in ('queued', 'scheduled_retry')`, taskId);
      expect(left).toContainEqual({ agent_id: eve });
      expect(await office.inbox(ws)).toEqual([]);
      expect([...openByEvents(await office.told(ws))]).toEqual([]);
      await office.must(`PATCH /tasks/${taskId}`, { state: 'CANCELLED' });
      await office.rows(`update agent_instances set consecutive_failures = 0 where id = $1`, ada);
    }
  });
});

describe('a stop of the workspace', () => {
  it('waits for a claim that is under way, and then stops what it took', async () => {
    const lane = await Lane.open();
    const claims = office.app.app.get(ClaimRepository, { strict: false });
    const held = gate();
    const claiming = office.app.unitOfWork.run(lane.ws, async (tx) => {
      const at = { workspaceId: lane.ws, hostId: office.hostId, bootId: office.bootId, leaseSec: 120, busyTaskIds: [], limit: 1 };
      const [runId] = await claims.chooseRuns(tx, at);
      await held.pass();
      await tx.query(
        `update runs set status = 'running', generation = 1, lease_host_id = $2, lease_boot_id = $3, lease_expires_at = now() + interval '1 hour' where id = $1`,
        [runId, office.hostId, office.bootId],
      );
      return runId!;
    });
    await held.reached;
    const stopping = office.must(`POST /workspaces/${lane.ws}/stop`);
    await lockWaits(office.app);
    expect((await office.claim(lane.ws)).claimed).toEqual([]);
    held.open();
    expect(await stopping).toMatchObject({ stopping_runs: 1 });
    expect(await office.row(`select stop_requested_reason as why from runs where id = $1`, await claiming)).toEqual({
      why: 'workspace_stopped',
    });
    expect((await office.claim(lane.ws)).claimed).toEqual([]);
  });

  it('never leaves a run running, in whichever order they come', LONG, async () => {
    for (let round = 0; round < faults(100); round++) {
      const lane = await Lane.open();
      const [, , , stopped] = await Promise.all([
        office.claim(lane.ws, 1),
        office.claim(lane.ws, 1),
        pause(Math.random() * 5).then(() => office.claim(lane.ws, 1)),
        pause(Math.random() * 5).then(() => office.must<{ stopping_runs: number }>(`POST /workspaces/${lane.ws}/stop`)),
      ]);
      const running = await office.rows<{ stopping: boolean }>(
        `select stop_requested_at is not null as stopping from runs where workspace_id = $1 and status = 'running'`,
        lane.ws,
      );
      expect(running.every(({ stopping }) => stopping)).toBe(true);
      expect(running).toHaveLength(stopped.stopping_runs);
    }
  });
});
