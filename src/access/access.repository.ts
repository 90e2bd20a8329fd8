import { Injectable } from '@nestjs/common';
import { UnitOfWork } from '../platform/database/unit-of-work.js';
import { isUuid } from '../platform/http/uuid.js';
import type { Person } from './call.js';
import { hashOfToken } from './access-token.js';
import type { Role, RowInPath, RowKind, Scope } from './domain/route-access.js';

/** Closed on purpose: what is interpolated into SQL below comes from here and nowhere else. */
const ROWS: Readonly<Record<RowKind, { readonly table: string; readonly workspace: string; readonly exists?: string }>> = {
  workspaces: { table: 'workspaces', workspace: 'id' },
  agents: { table: 'agent_instances', workspace: 'workspace_id' },
  tasks: { table: 'tasks', workspace: 'workspace_id', exists: 'subject.deleted_at is null' },
  sessions: { table: 'task_sessions', workspace: 'workspace_id' },
  runs: { table: 'runs', workspace: 'workspace_id' },
  repositories: { table: 'repositories', workspace: 'workspace_id', exists: 'subject.removed_at is null' },
  // By the id of its task, also of one that is deleted: work that nobody has elsewhere stays within reach.
  worktrees: {
    table: '(select task_id as id, workspace_id, repository_id from task_folders)',
    workspace: 'workspace_id',
    exists: 'subject.repository_id is not null',
  },
  approvals: { table: 'approvals', workspace: 'workspace_id' },
  skills: { table: 'skills', workspace: 'workspace_id' },
  workflows: { table: 'workflows', workspace: 'workspace_id' },
  projects: { table: 'projects', workspace: 'workspace_id' },
};

/** The guard's two questions. Both are asked anew with every request, so that a revocation or a removal holds at once. */
@Injectable()
export class AccessRepository {
  constructor(private readonly unitOfWork: UnitOfWork) {}

  /** Whose token this is; null when it is unknown, revoked or expired. */
  async personOf(token: string): Promise<Person | null> {
    const [row] = await this.unitOfWork.read<{
      token_id: string;
      scopes: Scope[];
      user_id: string;
      name: string;
      is_instance_admin: boolean;
    }>(
      `select token.id as token_id, token.scopes, person.id as user_id, person.name, person.is_instance_admin
         from access_tokens token join users person on person.id = token.user_id
        where token.hash = $1 and token.revoked_at is null and (token.expires_at is null or token.expires_at > now())
          and not person.is_reserved`,
      [hashOfToken(token)],
    );
    if (!row) return null;
    const { token_id: tokenId, user_id: userId, is_instance_admin: isInstanceAdmin, name, scopes } = row;
    return { userId, name, tokenId, scopes, isInstanceAdmin };
  }

  /** The workspace of a row and the person's role there; null when there is no such row, or the person has no role. */
  async standing(userId: string, kind: RowInPath['kind'], id: string): Promise<{ workspaceId: string; role: Role } | null> {
    if (!isUuid(id)) return null;
    const { table, workspace, exists = 'true' } = ROWS[kind];
    const [row] = await this.unitOfWork.read<{ workspace_id: string; role: Role }>(
      `select member.workspace_id, member.role
         from ${table} subject join workspace_members member on member.workspace_id = subject.${workspace}
        where subject.id = $1 and member.user_id = $2 and ${exists}`,
      [id, userId],
    );
    return row ? { workspaceId: row.workspace_id, role: row.role } : null;
  }
}
