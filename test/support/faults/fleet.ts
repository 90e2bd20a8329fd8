import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { RealServer, waitFor, type RealServerOptions, type Reply } from '../real-server.js';

/** Of the first admin on every server of a fleet. */
export const FLEET_TOKEN = 'fleet-admin-token-0123456789';
/** The shortest that there is: what takes two leases in production takes ten seconds here. */
export const LEASE_SEC = 5;

export interface HostView {
  readonly id: string;
  readonly boot_id: string;
  readonly online: boolean;
  readonly draining: boolean;
  readonly drain_until: string | null;
  readonly running: number;
}

export interface FleetOptions {
  /** Of the servers in turn: each may have its own way to the database. */
  readonly databaseUrls: readonly string[];
  readonly size: number;
  readonly env?: Readonly<Record<string, string>>;
  /** What is different for one of them. */
  readonly each?: (n: number) => { readonly namespace: string; readonly env: Readonly<Record<string, string>> };
}

/** Several servers on one database, spoken to as a person does: whichever answers. */
export class Fleet {
  /** What was answered with 5xx other than 503, and anything else that no client should ever see. */
  readonly complaints: string[] = [];

  private constructor(readonly servers: readonly RealServer[]) {}

  static async open({ databaseUrls, size, env = {}, each }: FleetOptions): Promise<Fleet> {
    const options = Array.from({ length: size }, (_, n): RealServerOptions => ({
      databaseUrl: databaseUrls[n % databaseUrls.length]!,
      env: {
        OFFICE_ADMIN_TOKEN: FLEET_TOKEN,
        OFFICE_LEASE_SEC: String(LEASE_SEC),
        OFFICE_MAX_EXECUTIONS: '4',
        OFFICE_LOG_LEVEL: 'info',
        ...env,
        ...each?.(n).env,
      },
      ...(each === undefined ? {} : { namespace: each(n).namespace }),
    }));
    // The first migrates nothing (the database is a clone), but it makes the first admin.
    const first = await RealServer.start(options[0]!);
    const fleet = new Fleet([first, ...(await Promise.all(options.slice(1).map((each) => RealServer.start(each))))]);
    await fleet.allSeen();
    return fleet;
  }

  get alive(): RealServer[] {
    return this.servers.filter((server) => server.alive && server.url !== '');
  }

  /** Every server has been seen by the database within a lease. */
  async allSeen(): Promise<void> {
    await waitFor(async () => (await this.hosts()).filter(({ online }) => online).length >= this.servers.length, 20_000, 'all hosts');
  }

  async hosts(): Promise<readonly HostView[]> {
    return (await this.must<{ items: HostView[] }>('GET /hosts')).items;
  }

  /**
   * Asks one server after the other until one answers; a POST with one Idempotency-Key throughout, so that it happens once.
   * Answers whatever was said in the end, refusals included.
   */
  async ask<Body = Record<string, unknown>>(
    route: string,
    body?: unknown,
    about: { pick?: number; patienceMs?: number } = {},
  ): Promise<Reply<Body>> {
    const key = randomUUID();
    const until = performance.now() + (about.patienceMs ?? 60_000);
    for (let n = about.pick ?? 0; ; n++) {
      const server = this.servers[n % this.servers.length]!;
      const reply = server.alive ? await this.once<Body>(server, route, body, key) : null;
      const again = reply === null || reply.status === 503 || (reply.body as { code?: string } | undefined)?.code === 'in_progress';
      if (!again) {
        if (reply.status >= 500)
          this.complaints.push(`${route}: ${reply.status} ${JSON.stringify(reply.body)} ${whyIn(server, reply.body)}`);
        return reply;
      }
      if (performance.now() > until) throw new Error(`nobody answers ${route}`);
      await pause(50);
    }
  }

  async must<Body = Record<string, unknown>>(route: string, body?: unknown): Promise<Body> {
    const reply = await this.ask<Body>(route, body);
    if (reply.status >= 300) throw new Error(`${route}: ${reply.status} ${JSON.stringify(reply.body)}`);
    return reply.body;
  }

  /** Everything of a list. */
  async all<Item>(route: string): Promise<Item[]> {
    const items: Item[] = [];
    for (let cursor: string | null = null; ;) {
      const more: string = cursor === null ? '' : `&cursor=${encodeURIComponent(cursor)}`;
      const page: { items: Item[]; next_cursor: string | null } = await this.must(
        `${route}${route.includes('?') ? '&' : '?'}limit=200${more}`,
      );
      items.push(...page.items);
      if (page.next_cursor === null) return items;
      cursor = page.next_cursor;
    }
  }

  async dispose(): Promise<void> {
    await Promise.all(this.servers.map((server) => server.dispose()));
  }

  private async once<Body>(server: RealServer, route: string, body: unknown, key: string): Promise<Reply<Body> | null> {
    try {
      return await server.call<Body>(route, body, {
        ...(route.startsWith('POST') ? { 'idempotency-key': key } : {}),
        connection: 'close',
      });
    } catch {
      // It died under the request, or does not listen: what became of it, the next one knows by the key.
      return null;
    }
  }
}

/** The line in which the server says what was wrong. */
const whyIn = ({ log }: RealServer, body: unknown): string =>
  log.findLast((line) => line.includes(String((body as { request_id?: string } | undefined)?.request_id))) ?? '';

/** A host's id is in its data dir. */
export const hostIdOf = (server: RealServer): string => readFileSync(join(server.dataDir, 'state', 'host-id'), 'utf8').trim();

/** The value of a metric without labels, or with these. */
export async function metricOf(server: RealServer, name: string): Promise<number> {
  const text = await (await fetch(`${server.url}/metrics`, { headers: { authorization: `Bearer ${server.token}` } })).text();
  const values = text
    .split('\n')
    .filter((line) => line.startsWith(`${name} `) || line.startsWith(`${name}{`))
    .map((line) => Number(line.slice(line.lastIndexOf(' ') + 1)));
  return values.reduce((sum, value) => sum + value, 0);
}
