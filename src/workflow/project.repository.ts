import { Injectable } from '@nestjs/common';
import type { Reading } from '../platform/database/reading.js';
import type { Tx } from '../platform/database/tx.js';

export interface ProjectRow {
  readonly id: string;
  readonly workspace_id: string;
  readonly name: string;
  readonly description: string | null;
  readonly created_at: Date;
  readonly updated_at: Date;
}

const COLUMNS = 'id, workspace_id, name, description, created_at, updated_at';

/** The rows of `projects`. */
@Injectable()
export class ProjectRepository {
  async insert(tx: Tx, workspaceId: string, project: { id: string; name: string; description: string | null }): Promise<ProjectRow> {
    const [row] = await tx.query<ProjectRow>(
      `insert into projects (workspace_id, id, name, description) values ($1, $2, $3, $4) returning ${COLUMNS}`,
      [workspaceId, project.id, project.name, project.description],
    );
    return row!;
  }

  async find(db: Reading, workspaceId: string, id: string): Promise<ProjectRow | null> {
    const [row] = await db.query<ProjectRow>(`select ${COLUMNS} from projects where workspace_id = $1 and id = $2`, [workspaceId, id]);
    return row ?? null;
  }

  /** The oldest first. */
  list(db: Reading, workspaceId: string, page: { after: string | null; take: number }): Promise<ProjectRow[]> {
    return db.query<ProjectRow>(
      `select ${COLUMNS} from projects where workspace_id = $1 and ($2::uuid is null or id > $2) order by id limit $3`,
      [workspaceId, page.after, page.take],
    );
  }

  /** Null where there is none. What is undefined stays. */
  async change(
    tx: Tx,
    workspaceId: string,
    id: string,
    { name, description }: { name?: string | undefined; description?: string | null | undefined },
  ): Promise<ProjectRow | null> {
    const [row] = await tx.query<ProjectRow>(
      `update projects set name = coalesce($3, name), description = case when $4 then $5 else description end, updated_at = now()
        where workspace_id = $1 and id = $2 returning ${COLUMNS}`,
      [workspaceId, id, name ?? null, description !== undefined, description ?? null],
    );
    return row ?? null;
  }

  /** Held against tasks that come to it. */
  async lock(tx: Tx, workspaceId: string, id: string): Promise<boolean> {
    return (await tx.query(`select 1 from projects where workspace_id = $1 and id = $2 for update`, [workspaceId, id])).length > 0;
  }

  async isUsed(db: Reading, workspaceId: string, id: string): Promise<boolean> {
    const rows = await db.query(`select 1 from tasks where workspace_id = $1 and project_id = $2 and deleted_at is null limit 1`, [
      workspaceId,
      id,
    ]);
    return rows.length > 0;
  }

  /** With what deleted tasks still say of it. */
  async remove(tx: Tx, workspaceId: string, id: string): Promise<void> {
    await tx.query(`update tasks set project_id = null where workspace_id = $1 and project_id = $2 and deleted_at is not null`, [
      workspaceId,
      id,
    ]);
    await tx.query(`delete from projects where workspace_id = $1 and id = $2`, [workspaceId, id]);
  }
}
