import { Injectable } from '@nestjs/common';
import { JwtService } from '@nestjs/jwt';
import { createSecretKey, hkdfSync, randomBytes } from 'node:crypto';
import { OfficeSettings } from '../platform/config/office-settings.js';

interface RunKey {
  readonly kid: string;
  readonly secret: Buffer;
  /** Signs and checks with it. From plain bytes every signature would make a key first, at twenty times what signing costs. */
  readonly jwt: JwtService;
}

const SALT = 'agent-office';
const derive = (master: Buffer, purpose: string, bytes: number): Buffer => Buffer.from(hkdfSync('sha256', master, SALT, purpose, bytes));

/**
 * The keys that runtime tokens are signed and checked with. One today: from OFFICE_AGENT_JWT_KEY, else random and gone with the
 * process, and with it every token it signed (their runs are settled by the next boot). A token names the key it was signed with.
 */
@Injectable()
export class RunKeys {
  readonly signing: RunKey;
  private readonly byId: ReadonlyMap<string, RunKey>;

  constructor({ OFFICE_AGENT_JWT_KEY: given }: OfficeSettings) {
    const master = given === undefined ? randomBytes(32) : Buffer.from(given, 'utf8');
    const secret = derive(master, 'runtime token key, version 1', 32);
    this.signing = {
      kid: derive(master, 'name of the runtime token key, version 1', 8).toString('hex'),
      secret,
      jwt: new JwtService({ secret: createSecretKey(secret) }),
    };
    this.byId = new Map([[this.signing.kid, this.signing]]);
  }

  find(kid: unknown): RunKey | null {
    return (typeof kid === 'string' && this.byId.get(kid)) || null;
  }
}
