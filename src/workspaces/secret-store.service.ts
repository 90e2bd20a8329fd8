import { Injectable } from '@nestjs/common';
import { UnitOfWork } from '../platform/database/unit-of-work.js';
import { unseal } from './secret-box.js';
import { SecretsKey } from './secrets-key.js';

/** What came of asking for secrets by name. Every name is in exactly one of the three. */
export interface OpenedSecrets {
  readonly values: ReadonlyMap<string, string>;
  /** Not set in this workspace. */
  readonly missing: readonly string[];
  /** Set, but sealed with a key this server does not have (OFFICE_SECRETS_KEY was changed, or the row was). */
  readonly unreadable: readonly string[];
}

/** The launcher's side of secrets: the only place where values come out, to be handed to a process. */
@Injectable()
export class SecretStore {
  constructor(
    private readonly unitOfWork: UnitOfWork,
    private readonly secretsKey: SecretsKey,
  ) {}

  async open(workspaceId: string, names: readonly string[]): Promise<OpenedSecrets> {
    const values = new Map<string, string>();
    const unreadable: string[] = [];
    if (names.length === 0) return { values, missing: [], unreadable };
    const rows = await this.unitOfWork.read<{ name: string; nonce: Buffer; ciphertext: Buffer; tag: Buffer }>(
      `select name, nonce, ciphertext, tag from workspace_secrets where workspace_id = $1 and name = any($2::text[])`,
      [workspaceId, names],
    );
    for (const { name, ...sealed } of rows) {
      const value = unseal(this.secretsKey.key, { workspaceId, name }, sealed);
      if (value === null) unreadable.push(name);
      else values.set(name, value);
    }
    const missing = [...new Set(names)].filter((name) => !values.has(name) && !unreadable.includes(name));
    return { values, missing, unreadable };
  }
}
