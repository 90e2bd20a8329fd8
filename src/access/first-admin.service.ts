import { Injectable, Logger } from '@nestjs/common';
import type { OnModuleInit } from '@nestjs/common';
import { chmod, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { OfficeSettings } from '../platform/config/office-settings.js';
import { StartError } from '../platform/errors/start-error.js';
import type { Tx } from '../platform/database/tx.js';
import { UnitOfWork } from '../platform/database/unit-of-work.js';
import { newId } from '../platform/ids.js';
import { OfficeHost } from '../platform/office-host.js';
import { writeDurably } from '../platform/state/durable-file.js';
import { hashOfToken, newAccessToken } from './access-token.js';
import { SCOPES } from './domain/route-access.js';

const ADMIN = 'admin';

interface KnownToken {
  readonly isBootstrap: boolean;
  readonly isRevoked: boolean;
}

/**
 * The way in before anybody is in: a user `admin` and its token, which is either OFFICE_ADMIN_TOKEN or, without that, made
 * here and kept in `<data dir>/admin-token`. Every host on a shared database keeps a token of its own for the same user, so
 * that no host's start can lock out whoever holds another's; a given OFFICE_ADMIN_TOKEN replaces them all.
 */
@Injectable()
export class FirstAdminService implements OnModuleInit {
  private readonly logger = new Logger(FirstAdminService.name);
  private readonly path: string;
  private readonly labels: { readonly file: string; readonly given: string };

  constructor(
    private readonly unitOfWork: UnitOfWork,
    private readonly settings: OfficeSettings,
    host: OfficeHost,
  ) {
    this.path = join(settings.OFFICE_DATA_DIR, 'admin-token');
    this.labels = { file: `admin-token of host ${host.id}`, given: `OFFICE_ADMIN_TOKEN of host ${host.id}` };
  }

  /** Before the doors open: the token works with the first request. */
  onModuleInit(): Promise<void> {
    const { OFFICE_ADMIN_TOKEN: given } = this.settings;
    return given === undefined ? this.keepInFile() : this.take(given);
  }

  private async take(given: string): Promise<void> {
    const taken = await this.alone(async (tx, adminId) => {
      const known = await this.find(tx, given);
      if (known && !known.isBootstrap) return false;
      if (known?.isRevoked) await tx.query(`update access_tokens set revoked_at = null where hash = $1`, [hashOfToken(given)]);
      if (!known) await this.add(tx, adminId, given, this.labels.given);
      await tx.query(`update access_tokens set revoked_at = now() where is_bootstrap and revoked_at is null and hash <> $1`, [
        hashOfToken(given),
      ]);
      return true;
    });
    if (taken) await rm(this.path, { force: true });
    // Taking it back would undo what a person did on purpose, stopping would punish them for it.
    else this.logger.warn('OFFICE_ADMIN_TOKEN was revoked by a person or is an ordinary token; set another, the old one stays');
  }

  private async keepInFile(): Promise<void> {
    const kept = await this.keptToken();
    const made = newAccessToken();
    const outcome = await this.alone(async (tx, adminId) => {
      const known = kept ? await this.find(tx, kept) : null;
      if (known) return known.isRevoked ? ('revoked' as const) : ('kept' as const);
      await tx.query(`update access_tokens set revoked_at = now() where is_bootstrap and revoked_at is null and label = any($1::text[])`, [
        Object.values(this.labels),
      ]);
      await this.add(tx, adminId, made, this.labels.file);
      return 'made' as const;
    });
    if (outcome === 'revoked')
      this.logger.warn({ path: this.path }, 'the admin token of this host was revoked; delete the file for a new one');
    if (outcome !== 'made') return;
    // After the commit, because the work may run twice. A crash in between leaves no file, and the next start makes a new token.
    await writeDurably(this.path, `${made}\n`);
    this.logger.log({ path: this.path }, 'admin token written');
  }

  /** What the file holds, or null. Should somebody have opened it to others, it is closed again. */
  private async keptToken(): Promise<string | null> {
    try {
      const text = await readFile(this.path, 'utf8');
      await chmod(this.path, 0o600);
      return text.trim();
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
      throw new StartError(`The admin token in ${this.path} cannot be read: ${(error as Error).message}.`, { cause: error });
    }
  }

  /** One server at a time, so that any number of first starts make one admin. */
  private alone<T>(work: (tx: Tx, adminId: string) => Promise<T>): Promise<T> {
    return this.unitOfWork.runForInstance(async (tx) => {
      await tx.query(`select pg_advisory_xact_lock(hashtextextended('first-admin', 0))`);
      return work(tx, await this.adminId(tx));
    });
  }

  private async adminId(tx: Tx): Promise<string> {
    const [admin] = await tx.query<{ id: string }>(
      `select id from users where name = $1 and is_instance_admin and not is_reserved order by id limit 1`,
      [ADMIN],
    );
    if (admin) return admin.id;
    const id = newId();
    await tx.query(`insert into users (id, name, is_instance_admin) values ($1, $2, true)`, [id, ADMIN]);
    return id;
  }

  private async find(tx: Tx, token: string): Promise<KnownToken | null> {
    const [known] = await tx.query<KnownToken>(
      `select is_bootstrap as "isBootstrap", revoked_at is not null as "isRevoked" from access_tokens where hash = $1`,
      [hashOfToken(token)],
    );
    return known ?? null;
  }

  private async add(tx: Tx, userId: string, token: string, label: string): Promise<void> {
    await tx.query(`insert into access_tokens (id, user_id, label, hash, scopes, is_bootstrap) values ($1, $2, $3, $4, $5, true)`, [
      newId(),
      userId,
      label,
      hashOfToken(token),
      [...SCOPES],
    ]);
  }
}
