import { Injectable } from '@nestjs/common';
import type { Role } from '../access/domain/route-access.js';
import type { Tx } from '../platform/database/tx.js';
import { UnitOfWork } from '../platform/database/unit-of-work.js';
import { OfficeError } from '../platform/errors/office-error.js';
import { decodeCursor } from '../platform/http/cursor.js';
import type { PageQuery } from '../platform/http/page.dto.js';
import { pageFrom } from '../platform/http/page.view.js';
import type { Page } from '../platform/http/page.view.js';
import { leavesNoAdmin } from './domain/remaining-admins.js';
import type { Member } from './domain/remaining-admins.js';
import type { MemberView } from './workspace.view.js';

/** Who has a role in a workspace. The guard reads the same rows with every request, so a change holds at once. */
@Injectable()
export class MemberService {
  constructor(private readonly unitOfWork: UnitOfWork) {}

  async list(workspaceId: string, { limit, cursor }: PageQuery): Promise<Page<MemberView>> {
    const rows = await this.unitOfWork.read<MemberRow>(
      `select member.user_id, person.name, member.role, member.created_at
         from workspace_members member join users person on person.id = member.user_id
        where member.workspace_id = $1 and ($2::uuid is null or member.user_id > $2::uuid)
        order by member.user_id limit $3`,
      [workspaceId, decodeCursor(cursor), limit + 1],
    );
    return pageFrom(rows, limit, ({ user_id }) => user_id, memberView);
  }

  /** Lets a person in, or changes their role. */
  putRole(workspaceId: string, userId: string, role: Role): Promise<MemberView> {
    return this.unitOfWork.run(workspaceId, async (tx) => {
      const members = await this.lockMembers(tx, workspaceId, userId);
      const [person] = await tx.query<{ name: string }>(`select name from users where id = $1 and not is_reserved for key share`, [userId]);
      if (!person) throw new OfficeError('not_found');
      if (leavesNoAdmin(members, userId, role)) throw new OfficeError('last_admin');
      const [member] = await tx.query<{ created_at: Date }>(
        `insert into workspace_members (workspace_id, user_id, role) values ($1, $2, $3)
         on conflict on constraint workspace_members_pkey do update set role = excluded.role
         returning created_at`,
        [workspaceId, userId, role],
      );
      return memberView({ user_id: userId, name: person.name, role, created_at: member!.created_at });
    });
  }

  remove(workspaceId: string, userId: string): Promise<void> {
    return this.unitOfWork.run(workspaceId, async (tx) => {
      const members = await this.lockMembers(tx, workspaceId, userId);
      if (!members.some((member) => member.userId === userId)) throw new OfficeError('not_found');
      if (leavesNoAdmin(members, userId, null)) throw new OfficeError('last_admin');
      await tx.query(`delete from workspace_members where workspace_id = $1 and user_id = $2`, [workspaceId, userId]);
    });
  }

  /** Its admins and the person in question. The workspace's row stands for its membership: two admins who remove each other take turns. */
  private async lockMembers(tx: Tx, workspaceId: string, userId: string): Promise<Member[]> {
    await tx.query(`select 1 from workspaces where id = $1 for no key update`, [workspaceId]);
    return tx.query<Member>(
      `select user_id as "userId", role from workspace_members where workspace_id = $1 and (role = 'admin' or user_id = $2)`,
      [workspaceId, userId],
    );
  }
}

interface MemberRow {
  readonly user_id: string;
  readonly name: string;
  readonly role: Role;
  readonly created_at: Date;
}

const memberView = ({ user_id: id, name, role, created_at }: MemberRow): MemberView => ({
  user: { id, name },
  role,
  created_at: created_at.toISOString(),
});
