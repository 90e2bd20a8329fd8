import { Injectable, Logger } from '@nestjs/common';
import { Clock } from '../../platform/clock/clock.js';
import { newId } from '../../platform/ids.js';
import { ExecutionOptions } from '../execution-options.js';
import type { AgentTree } from '../process/agent-tree.js';
import { RegistrationRefused, SupervisorLink } from './supervisor-link.js';
import { newRecordFile } from './tree-record.js';

const START_MS = 5_000;
const FIRST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 5_000;
const LEAVE_MS = 6_000;

/**
 * Keeps this host's supervisor process: tells it of every agent before the agent starts, and of the lease. One that dies
 * is replaced at once and told everything again. It starts with the first agent.
 */
@Injectable()
export class ProcessSupervision {
  private readonly logger = new Logger(ProcessSupervision.name);
  private readonly trees = new Map<string, AgentTree>();
  private recordFile: string | null = null;
  private link: SupervisorLink | null = null;
  private lease: { readonly endsAt: number; readonly enforce: boolean } | null = null;
  private closed = false;

  constructor(
    private readonly options: ExecutionOptions,
    private readonly clock: Clock,
  ) {}

  /** The supervisor's pid, for those who watch it. */
  get supervisorPid(): number | undefined {
    return this.link?.pid;
  }

  /** Resolves once the supervisor will end this tree whatever happens to us. Rejects when it must not start. */
  async register(tree: AgentTree): Promise<void> {
    this.trees.set(tree.executionId, tree);
    try {
      await this.announce(tree);
    } catch (error) {
      this.unregister(tree.executionId);
      throw error;
    }
  }

  /** No process of the tree is left. */
  unregister(executionId: string): void {
    if (this.trees.delete(executionId)) this.link?.say({ say: 'unregister', executionId });
  }

  /**
   * The present lease of this host lasts `expiresInMs` from now; call it with every renewal. With `enforce` the supervisor
   * ends all agents by itself when it passes without another call, which is right as soon as another host could take over.
   */
  setLease(expiresInMs: number, enforce: boolean): void {
    this.lease = { endsAt: this.clock.monotonicMs() + expiresInMs, enforce };
    this.link?.say({ say: 'lease', expiresInMs, enforce });
  }

  /** The lease has passed and is being enforced: whatever ends now was ended by the supervisor, or is about to be. */
  get leaseOver(): boolean {
    return this.lease !== null && this.lease.enforce && this.clock.monotonicMs() >= this.lease.endsAt;
  }

  /** Lets the supervisor go; it first ends what is still registered. */
  async close(): Promise<void> {
    this.closed = true;
    const link = this.link;
    if (link === null) return;
    link.leave();
    const late = this.clock.after(LEAVE_MS, () => link.kill());
    await link.ended;
    late.cancel();
  }

  private async announce(tree: AgentTree): Promise<void> {
    const giveUpAt = this.clock.monotonicMs() + START_MS;
    for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(2 * pause, LONGEST_PAUSE_MS)) {
      if (this.closed) throw new Error('the office is shutting down');
      try {
        return await (this.link ?? this.start()).register([tree]);
      } catch (error) {
        if (error instanceof RegistrationRefused || this.clock.monotonicMs() >= giveUpAt) throw error;
      }
      await this.clock.sleep(pause);
    }
  }

  private start(): SupervisorLink {
    this.recordFile ??= newRecordFile(this.options.stateDir, newId());
    const link = new SupervisorLink(this.options.supervisorEntry, this.recordFile);
    this.link = link;
    if (this.lease !== null) {
      link.say({ say: 'lease', expiresInMs: Math.max(0, this.lease.endsAt - this.clock.monotonicMs()), enforce: this.lease.enforce });
    }
    void link.ended.then((how) => this.replace(link, how));
    return link;
  }

  /** What a dead supervisor watched is unwatched until the next one knows of it. */
  private async replace(dead: SupervisorLink, how: string): Promise<void> {
    if (this.link === dead) this.link = null;
    if (this.closed) return;
    this.logger.warn({ how, agents: this.trees.size }, 'supervisor ended');
    for (let pause = FIRST_PAUSE_MS; this.trees.size > 0 && !this.closed; pause = Math.min(2 * pause, LONGEST_PAUSE_MS)) {
      try {
        await (this.link ?? this.start()).register([...this.trees.values()]);
        return;
      } catch (error) {
        // It watches them all the same (or is ending them); one that ended again has said so itself.
        if (error instanceof RegistrationRefused) return;
      }
      await this.clock.sleep(pause);
    }
  }
}
