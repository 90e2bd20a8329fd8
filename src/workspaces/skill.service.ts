import { Injectable } from '@nestjs/common';
import type { OnApplicationBootstrap } from '@nestjs/common';
import type { Reading } from '../platform/database/reading.js';
import type { Tx } from '../platform/database/tx.js';
import { UnitOfWork } from '../platform/database/unit-of-work.js';
import { OfficeError } from '../platform/errors/office-error.js';
import { decodeCursor } from '../platform/http/cursor.js';
import type { PageQuery } from '../platform/http/page.dto.js';
import { pageFrom } from '../platform/http/page.view.js';
import { newId } from '../platform/ids.js';
import { SYSTEM_SKILLS } from './domain/system-skills.js';
import type { ChangeSkillBody, CreateSkillBody } from './skill.dto.js';
import type { SkillPage, SkillView } from './skill.view.js';

export interface SkillRow {
  readonly id: string;
  readonly workspace_id: string;
  readonly slug: string;
  readonly name: string;
  readonly description: string;
  readonly content: string;
  readonly is_system: boolean;
  readonly created_at: Date;
  readonly updated_at: Date;
}

/** Of one workspace: all of them are written into every session's folder. */
const MOST_SKILLS = 100;

const SHIP = `
  insert into skills (id, workspace_id, slug, name, description, content, is_system)
  select gen_random_uuid(), w.id, s.slug, s.name, s.description, s.content, true
    from workspaces w cross join unnest($1::text[], $2::text[], $3::text[], $4::text[]) as s(slug, name, description, content)
   where $5::uuid is null or w.id = $5
  on conflict on constraint skills_slug_once do update
    set name = excluded.name, description = excluded.description, content = excluded.content, updated_at = now()
    where (skills.name, skills.description, skills.content) is distinct from (excluded.name, excluded.description, excluded.content)
  returning id`;

/** What agents of a workspace can read up on. Those of the office are kept as this version ships them. */
@Injectable()
export class SkillService implements OnApplicationBootstrap {
  constructor(private readonly unitOfWork: UnitOfWork) {}

  /** A new version of the office brings its skills to the workspaces there are. */
  async onApplicationBootstrap(): Promise<void> {
    await this.unitOfWork.statement(SHIP, shipped(null));
  }

  /** Part of making a workspace. */
  async furnish(tx: Tx, workspaceId: string): Promise<void> {
    await tx.query(SHIP, shipped(workspaceId));
  }

  /** All of them, without what they say; at most a hundred and the office's own. */
  catalogue(db: Reading, workspaceId: string): Promise<Pick<SkillRow, 'id' | 'slug' | 'name' | 'description' | 'is_system'>[]> {
    return db.query(
      `select id, slug, name, description, is_system from skills where workspace_id = $1 order by slug limit ${MOST_SKILLS + SYSTEM_SKILLS.length}`,
      [workspaceId],
    );
  }

  /** All of them, with what they say. */
  whole(workspaceId: string): Promise<Pick<SkillRow, 'slug' | 'description' | 'content'>[]> {
    return this.unitOfWork.readPrepared(
      `select slug, description, content from skills where workspace_id = $1 order by slug limit ${MOST_SKILLS + SYSTEM_SKILLS.length}`,
      [workspaceId],
    );
  }

  async list(workspaceId: string, { limit, cursor }: PageQuery): Promise<SkillPage> {
    const rows = await this.unitOfWork.read<SkillRow>(
      `select id, workspace_id, slug, name, description, '' as content, is_system, created_at, updated_at
         from skills where workspace_id = $1 and ($2::uuid is null or id > $2) order by id limit $3`,
      [workspaceId, decodeCursor(cursor), limit + 1],
    );
    return pageFrom(
      rows,
      limit,
      ({ id }) => id,
      ({ content: _content, ...row }) => withTimes(row),
    );
  }

  async get(workspaceId: string, id: string): Promise<SkillView> {
    const [row] = await this.unitOfWork.read<SkillRow>(`select * from skills where workspace_id = $1 and id = $2`, [workspaceId, id]);
    if (row === undefined) throw new OfficeError('not_found');
    return withTimes(row);
  }

  /** Part of an idempotent command. */
  async create(tx: Tx, workspaceId: string, body: CreateSkillBody): Promise<SkillView> {
    await lockRegistry(tx, workspaceId);
    const [held] = await tx.query<{ skills: number }>(
      `select count(*)::int as skills from skills where workspace_id = $1 and not is_system`,
      [workspaceId],
    );
    if (held!.skills >= MOST_SKILLS) throw new OfficeError('too_many_skills', { most: MOST_SKILLS });
    await assertFree(tx, workspaceId, body.slug);
    const [row] = await tx.query<SkillRow>(
      `insert into skills (id, workspace_id, slug, name, description, content) values ($1, $2, $3, $4, $5, $6) returning *`,
      [newId(), workspaceId, body.slug, body.name, body.description, body.content],
    );
    return withTimes(row!);
  }

  change(workspaceId: string, id: string, body: ChangeSkillBody): Promise<SkillView> {
    return this.unitOfWork.run(workspaceId, async (tx) => {
      if (body.slug !== undefined) await lockRegistry(tx, workspaceId);
      const skill = await lock(tx, workspaceId, id);
      if (body.slug !== undefined && body.slug !== skill.slug) await assertFree(tx, workspaceId, body.slug);
      const [row] = await tx.query<SkillRow>(
        `update skills set slug = coalesce($3, slug), name = coalesce($4, name), description = coalesce($5, description),
                content = coalesce($6, content), updated_at = now()
          where workspace_id = $1 and id = $2 returning *`,
        [workspaceId, id, body.slug, body.name, body.description, body.content],
      );
      return withTimes(row!);
    });
  }

  removeBy(workspaceId: string, id: string): Promise<void> {
    return this.unitOfWork.run(workspaceId, (tx) => this.remove(tx, workspaceId, id));
  }

  /** Part of the caller's transaction. */
  async remove(tx: Tx, workspaceId: string, id: string): Promise<void> {
    await lock(tx, workspaceId, id);
    await tx.query(`delete from skills where workspace_id = $1 and id = $2`, [workspaceId, id]);
  }
}

const shipped = (workspaceId: string | null): unknown[] => [
  SYSTEM_SKILLS.map(({ slug }) => slug),
  SYSTEM_SKILLS.map(({ name }) => name),
  SYSTEM_SKILLS.map(({ description }) => description),
  SYSTEM_SKILLS.map(({ content }) => content),
  workspaceId,
];

/** One maker of slugs at a time per workspace. */
async function lockRegistry(tx: Tx, workspaceId: string): Promise<void> {
  await tx.query(`select pg_advisory_xact_lock(hashtextextended('skills ' || $1, 0))`, [workspaceId]);
}

async function assertFree(tx: Tx, workspaceId: string, slug: string): Promise<void> {
  const taken = await tx.query(`select 1 from skills where workspace_id = $1 and slug = $2`, [workspaceId, slug]);
  if (taken.length > 0) throw new OfficeError('slug_taken', { slug });
}

async function lock(tx: Tx, workspaceId: string, id: string): Promise<SkillRow> {
  const [row] = await tx.query<SkillRow>(`select * from skills where workspace_id = $1 and id = $2 for update`, [workspaceId, id]);
  if (row === undefined) throw new OfficeError('not_found', { what: 'skill', id });
  if (row.is_system) throw new OfficeError('skill_read_only', { slug: row.slug });
  return row;
}

const withTimes = <Row extends { readonly created_at: Date; readonly updated_at: Date }>(row: Row) => ({
  ...row,
  created_at: row.created_at.toISOString(),
  updated_at: row.updated_at.toISOString(),
});
