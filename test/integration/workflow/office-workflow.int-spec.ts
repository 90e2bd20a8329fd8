import { afterAll, beforeAll, expect, it } from 'vitest';
import { outside } from '../../../src/platform/database/reading.js';
import { WorkflowService } from '../../../src/workflow/workflow.service.js';
import { aWorkspace } from '../../support/front-desk.js';
import { openRooms } from '../../support/office-rooms.js';
import type { OfficeRooms } from '../../support/office-rooms.js';

let office: OfficeRooms;
beforeAll(async () => void (office = await openRooms()));
afterAll(() => office.close());

it('every new workspace has the one Office workflow with its four steps', async () => {
  const workspaceId = await aWorkspace(office);
  expect(
    await office.rows(
      `select w.name as workflow, w.style, w.is_office_default, s.position, s.name, s.kind, s.requires_signal, s.on_agent_error
         from workflow_steps s join workflows w on w.id = s.workflow_id where s.workspace_id = $1 order by s.position`,
      [workspaceId],
    ),
  ).toEqual(
    [
      { position: 1, name: 'Work', kind: 'work', requires_signal: true, on_agent_error: { target: 'ceo' } },
      { position: 2, name: 'Review', kind: 'review', requires_signal: false, on_agent_error: null },
      { position: 3, name: 'Approval', kind: 'approval', requires_signal: false, on_agent_error: null },
      { position: 4, name: 'Done', kind: 'done', requires_signal: false, on_agent_error: null },
    ].map((step) => ({ workflow: 'Office default', style: 'office', is_office_default: true, ...step })),
  );
});

it('says where work begins and ends, and knows no step of another workspace', async () => {
  const workspaceId = await aWorkspace(office);
  const stranger = await aWorkspace(office);
  const workflows = office.app.get(WorkflowService, { strict: false });
  const db = outside(office.unitOfWork);

  const first = await workflows.firstStepOfDefault(db, workspaceId);
  expect(first).toMatchObject({ name: 'Work', kind: 'work' });
  expect(await workflows.firstStep(db, workspaceId, first.workflow_id)).toEqual(first);
  expect(await workflows.stepOfKind(db, workspaceId, first.workflow_id, 'done')).toMatchObject({ name: 'Done' });
  expect(await workflows.stepOfKind(db, stranger, first.workflow_id, 'done')).toBeNull();
});
