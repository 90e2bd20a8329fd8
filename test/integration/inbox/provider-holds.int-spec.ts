import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { ClaimedRun } from '../../../src/runs/claim.js';
import { AnOffice } from '../../support/an-office.js';
import { failureOf } from '../../support/failing-runs.js';

let office: AnOffice;
let workspaceId: string;
beforeAll(async () => {
  office = await AnOffice.open();
});
afterAll(() => office.close());
beforeEach(async () => {
  workspaceId = await office.workspace();
  await office.change(`update workspace_settings set wait_for_reset = 'on' where workspace_id = $1`, workspaceId);
});

type Pair = { agentId: string; taskId: string };
const weekly = (seconds = 7_200): string =>
  JSON.stringify({ type: 'error', error: { type: 'usage_limit_reached', resets_in_seconds: seconds } });
const END = { kind: 'turn_ended', stopReason: 'end_turn', usage: null, lastMessage: null } as const;

const holds = () =>
  office.rows<{ id: string; ended: boolean; ended_by: string | null; run_id: string; left: number }>(
    `select id, ended_at is not null as ended, ended_by, run_id, round(extract(epoch from held_until - now()))::int as left
       from provider_holds where workspace_id = $1 order by id`,
    workspaceId,
  );
const told = async (): Promise<unknown[]> =>
  (
    await office.rows<{ payload: { kind: string; change: string } }>(
      `select payload from office_events where workspace_id = $1 and action = 'office.inbox_item' order by seq`,
      workspaceId,
    )
  )
    .map(({ payload }) => payload)
    .filter(({ kind }) => kind === 'provider_hold')
    .map(({ change }) => change);
const queue = async (howMany: number, about: object = {}): Promise<Pair[]> => {
  const pairs: Pair[] = [];
  for (let one = 0; one < howMany; one++) {
    const pair = await office.pair(workspaceId, { ...about });
    await office.wake(workspaceId, { agentId: pair.agentId, on: { taskId: pair.taskId } });
    pairs.push(pair);
  }
  return pairs;
};
/** One agent runs into the limit; answers its run. */
const limited = async (payload = weekly()): Promise<ClaimedRun> => {
  const pair = await office.pair(workspaceId);
  const run = await office.started(workspaceId, pair);
  expect(await office.settlement.settle(run, failureOf(run, payload))).toBe('failed');
  return run;
};
const timeIsOver = () =>
  office.change(`update provider_holds set held_until = now() where workspace_id = $1 and ended_at is null`, workspaceId);
const claim = async (): Promise<ClaimedRun[]> => [...(await office.claim(workspaceId)).claimed];

describe('a limit whose end is told', () => {
  it('fails, counts, and holds the runs behind it, with one item', async () => {
    const run = await limited();
    expect(await office.row(`select status, error_code, retry_after is not null as told from runs where id = $1`, run.runId)).toEqual({
      status: 'failed',
      error_code: 'quota',
      told: true,
    });
    const [hold] = await holds();
    expect(hold).toMatchObject({ ended: false, run_id: run.runId });
    expect(hold!.left).toBeGreaterThan(7_200);
    expect(hold!.left).toBeLessThanOrEqual(7_261);
    await queue(2);
    expect(await claim()).toEqual([]);
    expect(await told()).toEqual(['opened']);
  });

  it('holds nothing where the workspace does not want it', async () => {
    await office.change(`update workspace_settings set wait_for_reset = 'off' where workspace_id = $1`, workspaceId);
    await limited();
    await queue(1);
    expect(await holds()).toEqual([]);
    expect(await claim()).toHaveLength(1);
  });

  it.each([
    ['no end', `You've hit your weekly limit`],
    ['a clock without a zone', `You've hit your usage limit, try again at 2:51 PM.`],
    ['an end in the past', 'Claude AI usage limit reached|1762952400'],
  ])('holds nothing for %s', async (_what, payload) => {
    await limited(payload);
    expect(await holds()).toEqual([]);
  });

  it('holds neither other providers nor other credentials nor other workspaces', async () => {
    await limited();
    await queue(1, { adapter: 'custom', adapter_config: { command: ['x'] } });
    await queue(1, { adapter_config: { env: { API_KEY: 'another' } } });
    expect(await claim()).toHaveLength(2);
    const elsewhere = await office.workspace();
    const pair = await office.pair(elsewhere);
    await office.wake(elsewhere, { agentId: pair.agentId, on: { taskId: pair.taskId } });
    expect((await office.claim(elsewhere)).claimed).toHaveLength(1);
  });

  it('takes settings that are no credentials for the same provider', async () => {
    await limited();
    await queue(1, { adapter_config: { env: { DEBUG: '1' } } });
    expect(await claim()).toEqual([]);
  });

  it('lets exactly one go first when its time is over, then the others', async () => {
    await limited();
    await queue(3);
    await timeIsOver();
    const [first, ...more] = await claim();
    expect(more).toEqual([]);
    expect(await claim()).toEqual([]);
    await office.ownership.markStarted(first!, 'acp-1');
    await office.settlement.settle(first!, END);
    expect(await holds()).toMatchObject([{ ended: true, ended_by: null }]);
    expect(await told()).toEqual(['opened', 'resolved']);
    expect(await claim()).toHaveLength(2);
  });

  it('lets one go first also when two servers look at once', async () => {
    await limited();
    await queue(4);
    await timeIsOver();
    const claims = await Promise.all([office.claim(workspaceId), office.claim(workspaceId), office.claim(workspaceId)]);
    expect(claims.flatMap(({ claimed }) => claimed)).toHaveLength(1);
  });

  it('is prolonged, without a second item, when the first runs into it again', async () => {
    await limited();
    await queue(2);
    await timeIsOver();
    const [first] = await claim();
    await office.ownership.markStarted(first!, 'acp-1');
    await office.settlement.settle(first!, failureOf(first!, weekly(600), { acpSessionId: 'acp-1' }));
    expect(await holds()).toMatchObject([{ ended: false, run_id: first!.runId }]);
    expect(await claim()).toEqual([]);
    expect(await told()).toEqual(['opened']);
  });

  it('is over when the first fails for another reason', async () => {
    await limited();
    await queue(2);
    await timeIsOver();
    const [first] = await claim();
    await office.ownership.markStarted(first!, 'acp-1');
    await office.settlement.settle(first!, failureOf(first!, 'hm', { acpSessionId: 'acp-1' }));
    expect(await holds()).toMatchObject([{ ended: true }]);
    expect(await claim()).toHaveLength(1);
  });

  it('lets another go first when the first was taken away', async () => {
    await limited();
    await queue(2);
    await timeIsOver();
    const [first] = await claim();
    await office.settlement.settle(first!, { kind: 'interrupted', cause: 'host_restart' });
    expect(await claim()).toHaveLength(1);
    expect(await claim()).toEqual([]);
  });

  it('ends at once when a person lifts it, once', async () => {
    await limited();
    await queue(3);
    const [hold] = await holds();
    const lift = () => office.db.unitOfWork.run(workspaceId, (tx) => office.holds.lift(tx, hold!.id, office.personId));
    expect(await lift()).toBe(true);
    expect(await lift()).toBe(false);
    expect(await holds()).toMatchObject([{ ended: true, ended_by: office.personId }]);
    expect(await told()).toEqual(['opened', 'resolved']);
    expect(await office.rows(`select user_id from inbox_dismissals where item_id = $1`, hold!.id)).toEqual([{ user_id: office.personId }]);
    expect(await claim()).toHaveLength(3);
  });

  it('does not keep agents of other providers from being claimed', async () => {
    await limited();
    await queue(10);
    const others = await queue(3, { adapter_config: { env: { API_KEY: 'other' } } });
    const { claimed } = await office.claim(workspaceId, { limit: 3 });
    expect(claimed.map(({ agentId }) => agentId).toSorted()).toEqual(others.map(({ agentId }) => agentId).toSorted());
  });
});
