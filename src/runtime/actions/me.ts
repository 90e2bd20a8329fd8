import { Injectable } from '@nestjs/common';
import { OfficeError } from '../../platform/errors/office-error.js';
import { RuntimeAction, type ActionCall, type ActionDeclaration } from '../runtime-action.js';
import { RunSelfView } from '../runtime.view.js';

const ME = `
  select r.id as run_id, r.workspace_id, r.reason,
         jsonb_build_object('id', a.id, 'name', a.name, 'handle', a.handle, 'role', r.role) as agent,
         case when t.id is not null and t.deleted_at is null then jsonb_build_object(
           'id', t.id, 'identifier', t.identifier, 'title', t.title, 'state', t.state, 'step', s.name) end as task,
         (select coalesce(jsonb_agg(jsonb_build_object('reason', q.reason, 'note', q.note) order by q.id), '[]')
            from (select * from wake_requests where run_id = r.id and outcome in ('queued', 'coalesced') and not stale
                   order by id desc limit 200) q) as wakes
    from runs r
    join agent_instances a on a.id = r.agent_id
    left join tasks t on t.id = r.task_id
    left join workflow_steps s on s.id = t.step_id
   where r.workspace_id = $1 and r.id = $2`;

/** Who I am, and why I was woken. */
@Injectable()
export class Me extends RuntimeAction<object, RunSelfView> {
  static readonly declared: ActionDeclaration = {
    action: 'me',
    capability: null,
    route: 'GET me',
    status: 200,
    summary: 'Who you are, what you work on, why you were woken and what you may do.',
    names: [],
    body: null,
    answer: RunSelfView,
    ofTask: true,
  };

  override async perform({ tx, run }: ActionCall): Promise<RunSelfView> {
    const [me] = await tx.query<Omit<RunSelfView, 'capabilities' | 'expires_at'>>(ME, [run.workspaceId, run.runId]);
    if (me === undefined) throw new OfficeError('not_found');
    return { ...me, capabilities: [...run.capabilities], expires_at: new Date(run.expiresAt * 1_000).toISOString() };
  }
}
