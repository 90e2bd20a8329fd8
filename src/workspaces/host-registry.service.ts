import { Injectable } from '@nestjs/common';
import { OfficeSettings } from '../platform/config/office-settings.js';
import { UnitOfWork } from '../platform/database/unit-of-work.js';
import { decodeCursor } from '../platform/http/cursor.js';
import type { PageQuery } from '../platform/http/page.dto.js';
import { pageFrom } from '../platform/http/page.view.js';
import type { Page } from '../platform/http/page.view.js';
import { OfficeHost } from '../platform/office-host.js';
import { liveHostSql } from './live-host.sql.js';
import type { HostView } from './workspace.view.js';

/** After a gap longer than a lease (a stop, a database that was away) a host begins anew: nothing could be claimed there. */
const resumedAt = (lease: string): string =>
  `case when hosts.last_seen_at < now() - make_interval(secs => ${lease}) then now() else hosts.resumed_at end`;

/** The machines that run agents, this one among them. Every write of this host is fenced by its boot. */
@Injectable()
export class HostRegistry {
  constructor(
    private readonly unitOfWork: UnitOfWork,
    private readonly settings: OfficeSettings,
    private readonly host: OfficeHost,
  ) {}

  /**
   * This host with its new boot is there. Answers the boot it replaces, whose processes and runs are to be ended, or null.
   * Safe to repeat, for a change of adapters: then it answers null and keeps the draining flag.
   */
  register(adapters: readonly string[]): Promise<{ previousBootId: string | null }> {
    const { id, bootId, name } = this.host;
    return this.unitOfWork.runForInstance(async (tx) => {
      const [before] = await tx.query<{ boot_id: string }>(`select boot_id from hosts where id = $1 for no key update`, [id]);
      await tx.query(
        `insert into hosts (id, boot_id, name, adapters, max_executions) values ($1, $2, $3, $4, $5)
         on conflict on constraint hosts_pkey do update
           set boot_id = excluded.boot_id, name = excluded.name, adapters = excluded.adapters, max_executions = excluded.max_executions,
               draining = hosts.draining and hosts.boot_id = excluded.boot_id,
               drain_until = case when hosts.boot_id = excluded.boot_id then hosts.drain_until end,
               started_at = case when hosts.boot_id = excluded.boot_id then hosts.started_at else now() end,
               resumed_at = ${resumedAt('$6')}, last_seen_at = now()`,
        [id, bootId, name, [...adapters], this.settings.OFFICE_MAX_EXECUTIONS, this.settings.OFFICE_LEASE_SEC],
      );
      return { previousBootId: before && before.boot_id !== bootId ? before.boot_id : null };
    });
  }

  /** Says "still here". False when another boot of this host has taken over. */
  async heartbeat(): Promise<boolean> {
    const { id, bootId } = this.host;
    const seen = await this.unitOfWork.runForInstance((tx) =>
      tx.query(`update hosts set resumed_at = ${resumedAt('$3')}, last_seen_at = now() where id = $1 and boot_id = $2 returning 1`, [
        id,
        bootId,
        this.settings.OFFICE_LEASE_SEC,
      ]),
    );
    return seen.length === 1;
  }

  /** Whether any other host has been seen within a lease: then a lease of ours that ends may be taken over. */
  async othersLive(): Promise<boolean> {
    const rows = await this.unitOfWork.read(`select from hosts where id <> $1 and ${liveHostSql('$2', 'hosts')} limit 1`, [
      this.host.id,
      this.settings.OFFICE_LEASE_SEC,
    ]);
    return rows.length === 1;
  }

  /**
   * Draining, until this boot ends: what runs has `deadlineSec` to finish, nothing new is claimed. Answers until when, or null when
   * this boot is not registered (yet), or not any more.
   */
  async startDraining(deadlineSec: number): Promise<Date | null> {
    const { id, bootId } = this.host;
    const rows = await this.unitOfWork.runForInstance((tx) =>
      tx.query<{ drain_until: Date }>(
        `update hosts set draining = true, drain_until = clock_timestamp() + make_interval(secs => $3)
          where id = $1 and boot_id = $2 returning drain_until`,
        [id, bootId, deadlineSec],
      ),
    );
    return rows[0]?.drain_until ?? null;
  }

  async list({ limit, cursor }: PageQuery): Promise<Page<HostView>> {
    const rows = await this.unitOfWork.read<HostRow>(
      `select id, boot_id, name, adapters, max_executions, draining, drain_until, started_at, last_seen_at,
              ${liveHostSql('$3', 'hosts')} as online,
              (select count(*)::int from runs r where r.status = 'running' and r.lease_host_id = hosts.id) as running
         from hosts where $1::uuid is null or id > $1::uuid order by id limit $2`,
      [decodeCursor(cursor), limit + 1, this.settings.OFFICE_LEASE_SEC],
    );
    return pageFrom(rows, limit, ({ id }) => id, hostView);
  }
}

interface HostRow extends Omit<HostView, 'drain_until' | 'started_at' | 'last_seen_at'> {
  readonly drain_until: Date | null;
  readonly started_at: Date;
  readonly last_seen_at: Date;
}

const hostView = ({ drain_until, started_at, last_seen_at, ...host }: HostRow): HostView => ({
  ...host,
  drain_until: drain_until?.toISOString() ?? null,
  started_at: started_at.toISOString(),
  last_seen_at: last_seen_at.toISOString(),
});
