import { Injectable, type BeforeApplicationShutdown, type OnApplicationBootstrap } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { Clock } from '../clock/clock.js';
import { DatabaseOutage } from './database-outage.js';
import { dedicatedClient, endSoon } from './dedicated-client.js';
import { NUDGE_CHANNEL, Nudges } from './nudges.js';

/** A connection that only listens never notices by itself that the other end vanished. */
const ARE_YOU_THERE_MS = 30_000;

/** Hears the nudges of other servers, on a connection of its own: one from the pool would not stay. */
@Injectable()
export class NudgeListener implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly stopping = new AbortController();
  private running: Promise<void> = Promise.resolve();

  constructor(
    private readonly dataSource: DataSource,
    private readonly nudges: Nudges,
    private readonly outage: DatabaseOutage,
    private readonly clock: Clock,
  ) {}

  onApplicationBootstrap(): void {
    this.start();
  }

  beforeApplicationShutdown(): Promise<void> {
    return this.stop();
  }

  start(): void {
    this.running = this.run(this.stopping.signal);
  }

  async stop(): Promise<void> {
    this.stopping.abort();
    await this.running;
  }

  private async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        await this.listen(signal);
      } catch (error) {
        if (!signal.aborted) await this.clock.sleep(this.outage.failed(error), signal);
      }
    }
  }

  /** Returns when told to stop; throws when the connection is lost. */
  private async listen(signal: AbortSignal): Promise<void> {
    const client = dedicatedClient(this.dataSource, 'nudges');
    const lost = new Promise<never>((_resolve, reject) => {
      client.on('error', reject);
      client.on('end', () => reject(new Error('Connection terminated')));
    });
    lost.catch(() => undefined);
    client.on('notification', ({ payload }) => this.nudges.receive(payload ?? ''));
    try {
      await client.connect();
      await client.query(`listen ${NUDGE_CHANNEL}`);
      this.outage.recovered();
      this.nudges.greet();
      this.nudges.everything();
      while (!signal.aborted) {
        await Promise.race([lost, this.clock.sleep(ARE_YOU_THERE_MS, signal)]);
        if (!signal.aborted) await Promise.race([lost, client.query('select 1')]);
      }
    } finally {
      await endSoon(client, this.clock);
    }
  }
}
