import { Injectable } from '@nestjs/common';
import type { Tx } from '../platform/database/tx.js';
import { UnitOfWork } from '../platform/database/unit-of-work.js';
import { OfficeError } from '../platform/errors/office-error.js';
import { invalid } from '../platform/http/input-validation.js';
import { newId } from '../platform/ids.js';
import { hashOfToken, newAccessToken } from './access-token.js';
import type { Call, Person } from './call.js';
import { holdsScope } from './domain/route-access.js';
import { IdempotentCommands } from './idempotent-commands.service.js';
import type { CreateTokenBody, CreateUserBody } from './people.dto.js';
import type { MembershipView, MeView, NewTokenView, UserView } from './people.view.js';

/** Users and what they show at the door. */
@Injectable()
export class PeopleService {
  constructor(
    private readonly unitOfWork: UnitOfWork,
    private readonly commands: IdempotentCommands,
  ) {}

  async me({ userId, name }: Person): Promise<MeView> {
    const workspaces = await this.unitOfWork.read<MembershipView>(
      `select workspace.id, workspace.name, member.role
         from workspace_members member join workspaces workspace on workspace.id = member.workspace_id
        where member.user_id = $1 order by workspace.id`,
      [userId],
    );
    return { user: { id: userId, name }, workspaces };
  }

  createUser(call: Call, body: CreateUserBody): Promise<UserView> {
    return this.commands.once(call, null, async (tx) => {
      const [user] = await tx.query<UserRow>(
        `insert into users (id, name, is_instance_admin) values ($1, $2, $3) returning id, name, is_instance_admin, created_at`,
        [newId(), body.name, body.is_instance_admin],
      );
      return userView(user!);
    });
  }

  /** The text of the token leaves in this answer and is kept nowhere, so a repeated answer comes without it. */
  createToken(call: Call, userId: string, body: CreateTokenBody): Promise<NewTokenView> {
    const token = newAccessToken();
    return this.commands.once<NewTokenView>(
      call,
      null,
      async (tx) => ({ ...(await this.storeToken(tx, userId, body, token)), token }),
      (view): NewTokenView => Object.assign({}, view, { token: null }),
    );
  }

  /** One's own, or anybody's for an instance admin; a stranger's token is not there. Safe to repeat. */
  async revokeToken({ userId, isInstanceAdmin, scopes }: Person, tokenId: string): Promise<void> {
    await this.unitOfWork.runForInstance(async (tx) => {
      const [token] = await tx.query<{ user_id: string }>(`select user_id from access_tokens where id = $1 for no key update`, [tokenId]);
      const isOwn = token?.user_id === userId;
      if (!token || (!isOwn && !isInstanceAdmin)) throw new OfficeError('not_found');
      if (!isOwn && !holdsScope(scopes, 'admin')) throw new OfficeError('forbidden');
      // No longer the bootstrap token either: what a person took away does not come back with a restart.
      await tx.query(`update access_tokens set revoked_at = coalesce(revoked_at, now()), is_bootstrap = false where id = $1`, [tokenId]);
    });
  }

  private async storeToken(tx: Tx, userId: string, body: CreateTokenBody, token: string): Promise<Omit<NewTokenView, 'token'>> {
    const { label, scopes, expires_at: expiresAt = null } = body;
    const [user] = await tx.query(`select 1 from users where id = $1 and not is_reserved for key share`, [userId]);
    if (!user) throw new OfficeError('not_found');
    const [row] = await tx.query<TokenRow>(
      `insert into access_tokens (id, user_id, label, hash, scopes, expires_at)
       select $1, $2, $3, $4, $5, $6::timestamptz where $6::timestamptz is null or $6::timestamptz > now()
       returning id, user_id, label, scopes, expires_at, created_at`,
      [newId(), userId, label, hashOfToken(token), scopes, expiresAt],
    );
    if (!row) throw invalid([{ path: 'expires_at', problem: 'must be in the future' }]);
    return { ...row, expires_at: row.expires_at?.toISOString() ?? null, created_at: row.created_at.toISOString() };
  }
}

interface UserRow extends Omit<UserView, 'created_at'> {
  readonly created_at: Date;
}

interface TokenRow extends Omit<NewTokenView, 'token' | 'expires_at' | 'created_at'> {
  readonly expires_at: Date | null;
  readonly created_at: Date;
}

const userView = ({ id, name, is_instance_admin, created_at }: UserRow): UserView => ({
  id,
  name,
  is_instance_admin,
  created_at: created_at.toISOString(),
});
