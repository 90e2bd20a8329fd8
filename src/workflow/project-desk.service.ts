import { Injectable } from '@nestjs/common';
import { outside, type Reading } from '../platform/database/reading.js';
import type { Tx } from '../platform/database/tx.js';
import { UnitOfWork } from '../platform/database/unit-of-work.js';
import { OfficeError } from '../platform/errors/office-error.js';
import { decodeCursor } from '../platform/http/cursor.js';
import type { PageQuery } from '../platform/http/page.dto.js';
import { pageFrom, type Page } from '../platform/http/page.view.js';
import { newId } from '../platform/ids.js';
import type { ChangeProjectBody, CreateProjectBody } from './project.dto.js';
import { ProjectRepository, type ProjectRow } from './project.repository.js';
import type { ProjectView } from './project.view.js';

/** Where admins keep the projects that tasks belong to. */
@Injectable()
export class ProjectDesk {
  constructor(
    private readonly unitOfWork: UnitOfWork,
    private readonly projects: ProjectRepository,
  ) {}

  /** Part of an idempotent command. */
  async create(tx: Tx, workspaceId: string, { name, description }: CreateProjectBody): Promise<ProjectView> {
    return viewProject(await this.projects.insert(tx, workspaceId, { id: newId(), name, description: description ?? null }));
  }

  async get(workspaceId: string, id: string): Promise<ProjectView> {
    return viewProject(present(await this.projects.find(outside(this.unitOfWork), workspaceId, id)));
  }

  async list(workspaceId: string, { limit, cursor }: PageQuery): Promise<Page<ProjectView>> {
    const rows = await this.projects.list(outside(this.unitOfWork), workspaceId, { after: decodeCursor(cursor), take: limit + 1 });
    return pageFrom(rows, limit, ({ id }) => id, viewProject);
  }

  change(workspaceId: string, id: string, body: ChangeProjectBody): Promise<ProjectView> {
    return this.unitOfWork.run(workspaceId, async (tx) => viewProject(present(await this.projects.change(tx, workspaceId, id, body))));
  }

  /** Not while a task belongs to it: the task would change from the Office's to another's. */
  remove(workspaceId: string, id: string): Promise<void> {
    return this.unitOfWork.run(workspaceId, async (tx) => {
      if (!(await this.projects.lock(tx, workspaceId, id))) throw new OfficeError('not_found');
      if (await this.projects.isUsed(tx, workspaceId, id)) throw new OfficeError('project_in_use');
      await this.projects.remove(tx, workspaceId, id);
    });
  }

  /** For whoever puts a task into it. */
  async assertKnown(db: Reading, workspaceId: string, id: string): Promise<void> {
    if ((await this.projects.find(db, workspaceId, id)) === null) throw new OfficeError('not_found', { what: 'project', id });
  }
}

function present(row: ProjectRow | null): ProjectRow {
  if (row === null) throw new OfficeError('not_found');
  return row;
}

const viewProject = ({ created_at, updated_at, ...row }: ProjectRow): ProjectView => ({
  id: row.id,
  workspace_id: row.workspace_id,
  name: row.name,
  description: row.description,
  created_at: created_at.toISOString(),
  updated_at: updated_at.toISOString(),
});
