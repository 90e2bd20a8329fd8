import { ScheduleModule } from '@nestjs/schedule';
import { expect, it, vi } from 'vitest';
import { StallWatchdogModule } from '../../../src/stall-watchdog/stall-watchdog.module.js';
import { StallWatchdog } from '../../../src/stall-watchdog/stall-watchdog.service.js';
import { aWorkspace, openFrontDesk } from '../../support/front-desk.js';
import { cloneDatabase } from '../../support/office-db.js';
import { anAgent, aTask } from '../../support/office-rooms.js';
import { QuickClock } from '../../support/quick-clock.js';
import { OFFICE_ROOMS } from '../../support/recovery-office.js';

/** A server whose watchdog looks every second, as its leadership is asked for ten times a second. */
async function aServer(databaseUrl: string) {
  const office = await openFrontDesk({
    modules: [...OFFICE_ROOMS, ScheduleModule.forRoot(), StallWatchdogModule],
    providers: [],
    clock: new QuickClock(50),
    env: { OFFICE_WATCHDOG_CRON: '* * * * * *' },
    databaseUrl,
  });
  const watchdog = office.app.get(StallWatchdog, { strict: false });
  return { office, looks: vi.spyOn(watchdog, 'tick'), rests: vi.spyOn(watchdog, 'rest') };
}

async function until(fact: () => Promise<boolean> | boolean): Promise<void> {
  while (!(await fact())) await new Promise((resolve) => setTimeout(resolve, 20));
}

it('of two servers one looks; after its death the other does within two ticks, and tells what still stalls once more', async () => {
  const database = await cloneDatabase();
  const first = await aServer(database.url);
  const workspaceId = await aWorkspace(first.office);
  const ada = await anAgent(first.office, workspaceId, { role: 'reviewer' });
  const task = await aTask(first.office, workspaceId);
  const approval = `select id from workflow_steps where workspace_id = $1 and name = 'Approval'`;
  await first.office.rows(
    `insert into workflow_step_participants (id, workspace_id, step_id, agent_id, role, decision_required)
     select gen_random_uuid(), $1, id, $2, 'approver', true from (${approval}) step`,
    [workspaceId, ada],
  );
  await first.office.rows(
    `update tasks set state = 'REVIEW', step_id = (${approval}), step_entered_at = now() - interval '2 hours' where id = $2`,
    [workspaceId, task],
  );
  const told = async () =>
    (await first.office.rows(`select from office_events where workspace_id = $1 and action = 'office.stall'`, [workspaceId])).length;

  await until(async () => (await told()) === 1);
  const second = await aServer(database.url);
  await until(() => second.rests.mock.calls.length >= 2 && first.looks.mock.calls.length >= 2);
  expect([second.looks.mock.calls.length, await told()]).toEqual([0, 1]);

  const rested = second.rests.mock.calls.length;
  await first.office.close();
  await until(() => second.looks.mock.calls.length >= 1);
  expect(second.rests.mock.calls.length - rested).toBeLessThanOrEqual(2);
  await until(async () => (await second.office.rows(`select from office_events where action = 'office.stall'`)).length === 2);
  await second.office.close();
  await database.drop();
});
