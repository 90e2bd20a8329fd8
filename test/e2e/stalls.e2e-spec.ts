import { afterAll, beforeAll, expect, it } from 'vitest';
import { mockScript, RealServer, waitFor } from '../support/real-server.js';

interface Stall {
  readonly kind: string;
  readonly run_id: string;
  readonly age_ms: number;
  readonly evidence: {
    readonly last_content_at: string | null;
    readonly process_alive: boolean | null;
    readonly current_tool: string | null;
  };
}

let server: RealServer;
beforeAll(async () => {
  // Renewed twice a second, so that what is seen of an agent is never old.
  server = await RealServer.start({ env: { OFFICE_LEASE_SEC: '5', OFFICE_QUIET_SEC: '1', OFFICE_WATCHDOG_CRON: '* * * * * *' } });
});
afterAll(() => server?.dispose());

it('an agent that goes quiet in the middle of a tool is shown with what it was doing, told once, and over when it is', async () => {
  const { id: workspace } = await server.must<{ id: string }>('POST /workspaces', { name: 'Acme' });
  const agent = await server.must<{ id: string }>(`POST /workspaces/${workspace}/agents`, { name: 'Ada', role: 'worker', adapter: 'mock' });
  await server.must(`POST /workspaces/${workspace}/tasks`, {
    title: 'Work',
    description: mockScript({ say: 'one moment' }, { sleep_ms: 8_000 }, { say: 'done' }),
    assignee_agent_instance_id: agent.id,
  });
  const stalls = async () => (await server.must<{ items: Stall[] }>(`GET /workspaces/${workspace}/stalls`)).items;
  const told = async () => {
    const { items } = await server.must<{ items: { action: string; payload: Record<string, unknown> }[] }>(
      `GET /workspaces/${workspace}/events?limit=200`,
    );
    return items.filter(({ action }) => action === 'office.stall').map(({ payload }) => payload);
  };

  const [quiet] = await waitFor(async () => ((await stalls()).length > 0 ? stalls() : false), 10_000, 'the turn to be quiet');
  expect(quiet).toMatchObject({ kind: 'quiet_run', evidence: { last_content_at: expect.any(String), process_alive: true } });
  expect(quiet!.age_ms).toBeGreaterThan(1_000);
  await waitFor(async () => (await told()).length === 1, 5_000, 'the stall to be told');
  await waitFor(async () => (await told()).length === 2, 15_000, 'its end to be told');
  expect((await told()).map(({ kind, change, run_id }) => [kind, change, run_id])).toEqual([
    ['quiet_run', 'opened', quiet!.run_id],
    ['quiet_run', 'ended', quiet!.run_id],
  ]);
  expect(await stalls()).toEqual([]);
});
