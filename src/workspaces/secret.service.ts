import { Injectable } from '@nestjs/common';
import { UnitOfWork } from '../platform/database/unit-of-work.js';
import { OfficeError } from '../platform/errors/office-error.js';
import { decodeCursor } from '../platform/http/cursor.js';
import type { PageQuery } from '../platform/http/page.dto.js';
import { pageFrom } from '../platform/http/page.view.js';
import type { Page } from '../platform/http/page.view.js';
import { isSecretName } from './domain/secret-name.js';
import { seal } from './secret-box.js';
import { SecretsKey } from './secrets-key.js';
import type { SecretView } from './workspace.view.js';

/** The people's side of secrets: set, listed by name, deleted. No method of it can return a value. */
@Injectable()
export class SecretService {
  constructor(
    private readonly unitOfWork: UnitOfWork,
    private readonly secretsKey: SecretsKey,
  ) {}

  async list(workspaceId: string, { limit, cursor }: PageQuery): Promise<Page<SecretView>> {
    const rows = await this.unitOfWork.read<SecretRow>(
      `select name, created_at, updated_at from workspace_secrets
        where workspace_id = $1 and ($2::text is null or name collate "C" > $2) order by name collate "C" limit $3`,
      [workspaceId, decodeCursor(cursor, isSecretName), limit + 1],
    );
    return pageFrom(rows, limit, ({ name }) => name, secretView);
  }

  put(workspaceId: string, name: string, value: string): Promise<SecretView> {
    const { nonce, ciphertext, tag } = seal(this.secretsKey.key, { workspaceId, name }, value);
    return this.unitOfWork.run(workspaceId, async (tx) => {
      const [row] = await tx.query<SecretRow>(
        `insert into workspace_secrets (workspace_id, name, nonce, ciphertext, tag) values ($1, $2, $3, $4, $5)
         on conflict on constraint workspace_secrets_pkey
         do update set nonce = excluded.nonce, ciphertext = excluded.ciphertext, tag = excluded.tag, updated_at = now()
         returning name, created_at, updated_at`,
        [workspaceId, name, nonce, ciphertext, tag],
      );
      return secretView(row!);
    });
  }

  async remove(workspaceId: string, name: string): Promise<void> {
    await this.unitOfWork.run(workspaceId, async (tx) => {
      const gone = await tx.query(`delete from workspace_secrets where workspace_id = $1 and name = $2 returning 1`, [workspaceId, name]);
      if (gone.length === 0) throw new OfficeError('not_found');
    });
  }
}

interface SecretRow {
  readonly name: string;
  readonly created_at: Date;
  readonly updated_at: Date;
}

const secretView = ({ name, created_at, updated_at }: SecretRow): SecretView => ({
  name,
  created_at: created_at.toISOString(),
  updated_at: updated_at.toISOString(),
});
