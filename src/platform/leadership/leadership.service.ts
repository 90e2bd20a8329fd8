import { Injectable, type BeforeApplicationShutdown, type OnApplicationBootstrap } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { Clock } from '../clock/clock.js';
import { DatabaseOutage } from '../database/database-outage.js';
import { dedicatedClient, endSoon } from '../database/dedicated-client.js';

/** Something that one server at a time does for all. */
export interface LeaderWork {
  readonly name: string;
  /** From the end of one turn to the begin of the next; the first comes as soon as this server leads. */
  readonly everyMs: number;
  /**
   * One turn, in small transactions. It ends soon after `signal` aborts: this server leads no more, or closes. For the time
   * a broken connection goes unnoticed two servers may be at it, so it must be harmless twice.
   */
  work(signal: AbortSignal): Promise<void>;
}

/** Of the advisory lock; the other half of the key names what it is about. */
const LOCK = `hashtext('agent-office'), hashtext('leader')`;
/** How soon a server takes over, and how often the leader makes sure that it still is. */
const LOOK_EVERY_MS = 5_000;

/**
 * Which server leads: the one that holds a session-level advisory lock, on a connection of its own that it is lost with.
 * Waiting for the lock inside PostgreSQL would take over sooner, and hold a transaction open all the while, which keeps
 * dead rows alive.
 */
@Injectable()
export class Leadership implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly works: LeaderWork[] = [];
  private readonly stopping = new AbortController();
  private running: Promise<void> = Promise.resolve();
  private isLeading = false;
  private isWanted = false;

  constructor(
    private readonly dataSource: DataSource,
    private readonly outage: DatabaseOutage,
    private readonly clock: Clock,
  ) {}

  get leads(): boolean {
    return this.isLeading;
  }

  /** Before the application has started, in `onModuleInit`. */
  register(work: LeaderWork): void {
    if (this.works.some(({ name }) => name === work.name)) throw new Error(`the work ${work.name} is registered twice`);
    this.works.push(work);
  }

  /** For what keeps a time of its own and only asks `leads`. Before the application has started, as `register`. */
  stand(): void {
    this.isWanted = true;
  }

  /** A server without such work has no use for the connection. */
  onApplicationBootstrap(): void {
    if (this.works.length > 0 || this.isWanted) this.running = this.run(this.stopping.signal);
  }

  async beforeApplicationShutdown(): Promise<void> {
    this.stopping.abort();
    await this.running;
  }

  private async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        await this.standForElection(signal);
      } catch (error) {
        if (!signal.aborted) await this.clock.sleep(this.outage.failed(error), signal);
      }
    }
  }

  /** Returns when told to stop; throws when the connection is lost. */
  private async standForElection(signal: AbortSignal): Promise<void> {
    const client = dedicatedClient(this.dataSource, 'leader');
    const term = new AbortController();
    // The connection may break under the work: nothing may go on then.
    client.on('error', () => term.abort());
    client.on('end', () => term.abort());
    const resign = (): void => term.abort();
    signal.addEventListener('abort', resign, { once: true });
    let terms: Promise<unknown> = Promise.resolve();
    try {
      await client.connect();
      while (!term.signal.aborted) {
        // Asking again for what one holds is how one learns that one still holds it; but it would have to be given back as often.
        const sql = this.isLeading ? 'select true as held' : `select pg_try_advisory_lock(${LOCK}) as held`;
        const { rows } = await client.query<{ held: boolean }>(sql);
        this.outage.recovered();
        if (rows[0]!.held && !this.isLeading) {
          this.isLeading = true;
          terms = Promise.all(this.works.map((work) => this.doAgainAndAgain(work, term.signal)));
        }
        await this.clock.sleep(LOOK_EVERY_MS, term.signal);
      }
      if (!signal.aborted) throw new Error('Connection terminated');
    } finally {
      signal.removeEventListener('abort', resign);
      term.abort();
      await terms;
      this.isLeading = false;
      // The lock goes with the connection, and only now that nothing is done in its name.
      await endSoon(client, this.clock);
    }
  }

  private async doAgainAndAgain(one: LeaderWork, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      let pause = one.everyMs;
      try {
        await one.work(signal);
        this.outage.recovered();
      } catch (error) {
        if (!signal.aborted) pause = Math.min(one.everyMs, this.outage.failed(error));
      }
      await this.clock.sleep(pause, signal);
    }
  }
}
