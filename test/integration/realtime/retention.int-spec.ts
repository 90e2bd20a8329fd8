import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { EventRetention } from '../../../src/realtime/event-retention.service.js';
import { aWorkspace } from '../../support/front-desk.js';
import { openSocketOffice, RawClient, upTo, type SocketOffice } from '../../support/socket-office.js';

const KEEP = 300;
const ALL = 'all of it';
const NUMBER = expect.any(Number) as number;
const TEXT = expect.any(String) as string;

let office: SocketOffice;
beforeAll(
  async () => void (office = await openSocketOffice({ env: { OFFICE_EVENTS_KEEP_DAYS: '7', OFFICE_EVENTS_KEEP_ROWS: String(KEEP) } })),
);
afterAll(() => office.close());

const prune = () => office.app.get(EventRetention).work(new AbortController().signal);

async function kept(workspaceId: string): Promise<{ oldest: number; last: number; seqs: number[] }> {
  const [row] = await office.rows<{ oldest: string; last: string; seqs: string[] | null }>(
    `select c.oldest_seq as oldest, c.last_seq as last, (select array_agg(seq order by seq) from office_events e where e.workspace_id = c.workspace_id) as seqs
       from office_event_counters c where c.workspace_id = $1`,
    [workspaceId],
  );
  return { oldest: Number(row!.oldest), last: Number(row!.last), seqs: (row!.seqs ?? []).map(Number) };
}

/** Many at once, `days` old. */
async function past(workspaceId: string, events: number, days: number): Promise<void> {
  await office.rows(
    `with c as (update office_event_counters set last_seq = last_seq + $2 where workspace_id = $1 returning last_seq - $2 as before)
     insert into office_events (workspace_id, seq, action, payload, created_at)
     select $1, c.before + n, 'office.task.updated', '{"task_id":"t","fields":[]}', now() - make_interval(days => $3)
       from c, generate_series(1, $2::int) n`,
    [workspaceId, events, days],
  );
}

describe('old events', () => {
  it('are forgotten by number, in batches, up to exactly what is to be kept', async () => {
    const ws = await aWorkspace(office);
    await past(ws, 5_000, 0);
    await prune();
    // The office's own leader may be at the same workspace: the one leaves the rest to the other.
    await expect.poll(() => kept(ws)).toEqual({ oldest: 5_001 - KEEP, last: 5_000, seqs: upTo(5_000, 5_001 - KEEP) });
  });

  it('are forgotten by age, and the young ones stay', async () => {
    const ws = await aWorkspace(office);
    await past(ws, 50, 8);
    await past(ws, 20, 6);
    await prune();
    expect(await kept(ws)).toEqual({ oldest: 51, last: 70, seqs: upTo(70, 51) });
  });

  it('are kept behind a younger one, so that what is kept has no hole', async () => {
    const ws = await aWorkspace(office);
    await past(ws, 5, 8);
    await past(ws, 1, 1);
    await past(ws, 5, 8);
    await prune();
    expect(await kept(ws)).toEqual({ oldest: 6, last: 11, seqs: upTo(11, 6) });
  });

  it('are forgotten to the last, and counting goes on', async () => {
    const ws = await aWorkspace(office);
    await past(ws, 30, 8);
    await prune();
    expect(await kept(ws)).toEqual({ oldest: 31, last: 30, seqs: [] });
    expect(await office.tell(ws, 1)).toBe(31);
    expect((await office.ask(`GET /api/v1/workspaces/${ws}/events?after=30`, { token: office.adminToken })).body).toMatchObject({
      items: [{ seq: 31 }],
      oldest_seq: 31,
    });
  });

  it('are left alone where nothing is over', async () => {
    const ws = await aWorkspace(office);
    await past(ws, KEEP, 6);
    await prune();
    expect(await kept(ws)).toMatchObject({ oldest: 1, last: KEEP });
  });

  it('are never a hole for a reader, whatever is forgotten while it reads', async () => {
    const ws = await aWorkspace(office);
    const readers = await Promise.all(
      upTo(6).map(async () => {
        const client = await RawClient.connect(office.url, office.adminToken);
        await client.ask('workspace.subscribe', { workspace_id: ws, after: 0 });
        return client;
      }),
    );
    for (const _ of upTo(5)) {
      await past(ws, 2 * KEEP, 0);
      // Nobody is nudged by this, so readers and the pruning race.
      await Promise.all([prune(), office.tell(ws, 1)]);
    }
    const { last } = await kept(ws);
    for (const client of readers) {
      const end = await client.until(
        () => client.frames.find(({ type, id }) => type === 'error' && id === undefined) ?? (client.seqs.at(-1) === last && ALL),
        'everything, or the word that it cannot be had',
      );
      expect(client.seqs).toEqual(upTo(client.seqs.length));
      expect([ALL, { code: 'RESYNC_REQUIRED', workspace_id: ws, oldest_seq: NUMBER, last_seq: NUMBER, message: TEXT }]).toContainEqual(
        end === ALL ? ALL : end.payload,
      );
      client.cut();
    }
  });

  it('are forgotten once by two servers that both believe to lead', async () => {
    const ws = await aWorkspace(office);
    await past(ws, 9_000, 8);
    await Promise.all([prune(), prune(), prune()]);
    expect(await kept(ws)).toEqual({ oldest: 9_001, last: 9_000, seqs: [] });
  });
});
