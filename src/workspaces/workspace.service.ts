import { Injectable } from '@nestjs/common';
import type { Call, Person } from '../access/call.js';
import { IdempotentCommands } from '../access/idempotent-commands.service.js';
import type { Tx } from '../platform/database/tx.js';
import { UnitOfWork } from '../platform/database/unit-of-work.js';
import { OfficeError } from '../platform/errors/office-error.js';
import { decodeCursor } from '../platform/http/cursor.js';
import type { PageQuery } from '../platform/http/page.dto.js';
import { pageFrom } from '../platform/http/page.view.js';
import type { Page } from '../platform/http/page.view.js';
import { newId } from '../platform/ids.js';
import { taskPrefixFor } from './domain/task-prefix.js';
import type { ChangeSettingsBody, CreateWorkspaceBody } from './workspace.dto.js';
import type { WorkspaceSettingsView, WorkspaceView } from './workspace.view.js';
import { SkillService } from './skill.service.js';
import { WorkspaceFurnishing } from './workspace-furnishing.js';

const VISIBLE = `
  select workspace.id, workspace.name, workspace.task_prefix, workspace.stopped_at, workspace.created_at, member.role
    from workspace_members member join workspaces workspace on workspace.id = member.workspace_id
   where member.user_id = $1`;
const SETTINGS = 'agent_failure_threshold, require_approval_for_new_agents, resume_interrupted, wait_for_reset';

/** Tenants: made, found, and set up. */
@Injectable()
export class WorkspaceService {
  constructor(
    private readonly unitOfWork: UnitOfWork,
    private readonly commands: IdempotentCommands,
    private readonly furnishing: WorkspaceFurnishing,
    private readonly skills: SkillService,
  ) {}

  create(call: Call, body: CreateWorkspaceBody): Promise<WorkspaceView> {
    const id = newId();
    return this.commands.once(call, id, (tx) => this.build(tx, id, call.person.userId, body));
  }

  /** Those the person has a role in, oldest first. */
  async list({ userId }: Person, { limit, cursor }: PageQuery): Promise<Page<WorkspaceView>> {
    const rows = await this.unitOfWork.read<WorkspaceRow>(
      `${VISIBLE} and ($2::uuid is null or workspace.id > $2::uuid) order by workspace.id limit $3`,
      [userId, decodeCursor(cursor), limit + 1],
    );
    return pageFrom(rows, limit, ({ id }) => id, workspaceView);
  }

  async find({ userId }: Person, workspaceId: string): Promise<WorkspaceView> {
    const [row] = await this.unitOfWork.read<WorkspaceRow>(`${VISIBLE} and workspace.id = $2`, [userId, workspaceId]);
    if (!row) throw new OfficeError('not_found');
    return workspaceView(row);
  }

  async settings(workspaceId: string): Promise<WorkspaceSettingsView> {
    const [row] = await this.unitOfWork.read<WorkspaceSettingsView>(`select ${SETTINGS} from workspace_settings where workspace_id = $1`, [
      workspaceId,
    ]);
    if (!row) throw new OfficeError('not_found');
    return row;
  }

  /** What the body leaves out stays. A lowered threshold acts at the next failure. */
  changeSettings(workspaceId: string, body: ChangeSettingsBody): Promise<WorkspaceSettingsView> {
    return this.unitOfWork.run(workspaceId, async (tx) => {
      const [row] = await tx.query<WorkspaceSettingsView>(
        `update workspace_settings
            set agent_failure_threshold = coalesce($2, agent_failure_threshold),
                require_approval_for_new_agents = coalesce($3, require_approval_for_new_agents),
                resume_interrupted = coalesce($4, resume_interrupted),
                wait_for_reset = coalesce($5, wait_for_reset)
          where workspace_id = $1 returning ${SETTINGS}`,
        [workspaceId, body.agent_failure_threshold, body.require_approval_for_new_agents, body.resume_interrupted, body.wait_for_reset],
      );
      if (!row) throw new OfficeError('not_found');
      return row;
    });
  }

  private async build(tx: Tx, id: string, creatorId: string, body: CreateWorkspaceBody): Promise<WorkspaceView> {
    const [row] = await tx.query<Omit<WorkspaceRow, 'role'>>(
      `insert into workspaces (id, name, task_prefix) values ($1, $2, $3) returning id, name, task_prefix, stopped_at, created_at`,
      [id, body.name, body.task_prefix ?? taskPrefixFor(body.name)],
    );
    await tx.query(`insert into office_event_counters (workspace_id) values ($1)`, [id]);
    await tx.query(`insert into workspace_settings (workspace_id) values ($1)`, [id]);
    await tx.query(`insert into workspace_members (workspace_id, user_id, role) values ($1, $2, 'admin')`, [id, creatorId]);
    await this.skills.furnish(tx, id);
    await this.furnishing.furnish(tx, id);
    return workspaceView({ ...row!, role: 'admin' });
  }
}

interface WorkspaceRow extends Omit<WorkspaceView, 'stopped_at' | 'created_at'> {
  readonly stopped_at: Date | null;
  readonly created_at: Date;
}

const workspaceView = ({ id, name, task_prefix, role, stopped_at, created_at }: WorkspaceRow): WorkspaceView => ({
  id,
  name,
  task_prefix,
  role,
  stopped_at: stopped_at?.toISOString() ?? null,
  created_at: created_at.toISOString(),
});
