import { Injectable, Logger } from '@nestjs/common';
import type { OnModuleInit } from '@nestjs/common';
import { hkdfSync, randomBytes } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { OfficeSettings } from '../platform/config/office-settings.js';
import { StartError } from '../platform/errors/start-error.js';
import { readOrMake } from '../platform/state/durable-file.js';

const SALT = 'agent-office';
const PURPOSE = 'workspace secrets, version 1';
const HEX = /^[0-9a-f]{64}$/;

/** The key secrets are sealed with: from OFFICE_SECRETS_KEY, else 32 bytes kept in `<data dir>/state/secrets-key`. */
@Injectable()
export class SecretsKey implements OnModuleInit {
  private readonly logger = new Logger(SecretsKey.name);
  private bytes: Buffer | null = null;

  constructor(private readonly settings: OfficeSettings) {}

  async onModuleInit(): Promise<void> {
    const { OFFICE_SECRETS_KEY: given, OFFICE_DATABASE_URL: shared } = this.settings;
    const master = given === undefined ? await this.kept() : Buffer.from(given, 'utf8');
    this.bytes = Buffer.from(hkdfSync('sha256', master, SALT, PURPOSE, 32));
    if (given === undefined && shared !== undefined) {
      this.logger.warn('OFFICE_SECRETS_KEY is not set: other servers on this database cannot open the secrets set here');
    }
  }

  get key(): Buffer {
    if (!this.bytes) throw new Error('the secrets key is not there before the module is initialised');
    return this.bytes;
  }

  private async kept(): Promise<Buffer> {
    const folder = join(this.settings.OFFICE_DATA_DIR, 'state');
    await mkdir(folder, { recursive: true, mode: 0o700 });
    const path = join(folder, 'secrets-key');
    const text = (await readOrMake(path, () => `${randomBytes(32).toString('hex')}\n`)).trim();
    // A broken file must not be replaced: the secrets sealed with what it held would be lost for good.
    if (!HEX.test(text))
      throw new StartError(`The secrets key in ${path} is damaged: put its 64 hex digits back, or delete it and set the secrets anew.`);
    return Buffer.from(text, 'hex');
  }
}
