import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { Clock } from '../platform/clock/clock.js';
import { DatabaseOutage } from '../platform/database/database-outage.js';
import { UnitOfWork } from '../platform/database/unit-of-work.js';
import { CLOSE } from './connection.js';
import { Connections } from './connections.service.js';
import { Feeds } from './feeds.service.js';

const ROUND_MS = 1_000;
export const PING_EVERY_MS = 25_000;
/** With a round in between, a dead peer is noticed within 60 s. */
export const SILENT_FOR_MS = 58_000;

const IS_VALID = `t.revoked_at is null and (t.expires_at is null or t.expires_at > now())`;

/** One round over everything that is followed here: what is new, whose token ended, and who lost their role. */
const LOOK = `
  select 'news' as what, c.workspace_id as workspace_id, null::uuid as token_id, c.last_seq as last
    from office_event_counters c where c.workspace_id = any($1::uuid[])
  union all
  select 'token', null, p.token, null from unnest($2::uuid[]) p(token)
   where not exists (select from access_tokens t where t.id = p.token and ${IS_VALID})
  union all
  select 'role', p.workspace, p.token, null from unnest($3::uuid[], $4::uuid[]) p(token, workspace)
   where not exists (select from access_tokens t join workspace_members m on m.user_id = t.user_id
                      where t.id = p.token and m.workspace_id = p.workspace)`;

interface Finding {
  readonly what: 'news' | 'token' | 'role';
  readonly workspace_id: string | null;
  readonly token_id: string | null;
  readonly last: string | null;
}

/**
 * Goes round while anybody is connected: hearts beat, ended tokens close, lost roles end, and what no nudge told of is found.
 * Nothing is delivered against a revocation or a removal in the meantime: that every read of a feed sees to by itself.
 */
@Injectable()
export class Patrol implements OnApplicationShutdown {
  private readonly stopping = new AbortController();
  private going = false;
  private looking = false;

  constructor(
    private readonly connections: Connections,
    private readonly feeds: Feeds,
    private readonly unitOfWork: UnitOfWork,
    private readonly outage: DatabaseOutage,
    private readonly clock: Clock,
  ) {}

  /** Somebody came. */
  watch(): void {
    if (this.going || this.stopping.signal.aborted) return;
    this.going = true;
    this.clock.after(ROUND_MS, () => this.round());
  }

  onApplicationShutdown(): void {
    this.stopping.abort();
  }

  /** Whether a token that was turned away is still good for anything. Unknown counts as good: the next round asks again. */
  async isValid(tokenId: string): Promise<boolean> {
    try {
      return (await this.unitOfWork.read(`select from access_tokens t where t.id = $1 and ${IS_VALID}`, [tokenId])).length > 0;
    } catch (error) {
      this.outage.failed(error);
      return true;
    }
  }

  /** Hearts go on beating at their own pace while the database keeps a look waiting. */
  private round(): void {
    this.listenToHearts();
    if (!this.looking && this.connections.size > 0) {
      this.looking = true;
      void this.look()
        .then(
          () => (this.outage.recovered(), 0),
          (error: unknown) => this.outage.failed(error),
        )
        .then((pause) => this.clock.sleep(pause, this.stopping.signal))
        .finally(() => (this.looking = false));
    }
    this.going = this.connections.size > 0 && !this.stopping.signal.aborted;
    if (this.going) this.clock.after(ROUND_MS, () => this.round());
  }

  private listenToHearts(): void {
    const now = this.clock.monotonicMs();
    for (const connection of this.connections) {
      if (now - connection.heardAtMs >= SILENT_FOR_MS) connection.cut();
      else if (now - connection.pingedAtMs >= PING_EVERY_MS && connection.isOpen) connection.ping();
    }
  }

  private async look(): Promise<void> {
    const positions = new Map(this.feeds.workspacePositions().map(({ workspaceId, position }) => [workspaceId, position]));
    const tokens = new Set<string>();
    const roles = new Map<string, { token: string; workspace: string }>();
    for (const { person, subscriptions } of this.connections) {
      tokens.add(person.tokenId);
      for (const { workspaceId } of subscriptions.values()) {
        roles.set(`${person.tokenId} ${workspaceId}`, { token: person.tokenId, workspace: workspaceId });
      }
    }
    const pairs = [...roles.values()];
    const findings = await this.unitOfWork.read<Finding>(LOOK, [
      [...positions.keys()],
      [...tokens],
      pairs.map(({ token }) => token),
      pairs.map(({ workspace }) => workspace),
    ]);
    const ended = new Set(findings.filter(({ what }) => what === 'token').map(({ token_id }) => token_id));
    for (const connection of this.connections) {
      if (ended.has(connection.person.tokenId)) connection.close(CLOSE.unauthenticated, 'the token has ended');
    }
    for (const { what, workspace_id, last } of findings) {
      // A feed that asks again finds out by itself whom it may not serve any more.
      if (what === 'role' || (what === 'news' && Number(last) > (positions.get(workspace_id!) ?? Infinity))) {
        this.feeds.nudgeWorkspace(workspace_id!);
      }
    }
    this.feeds.nudgeOthers();
  }
}
