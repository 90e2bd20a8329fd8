import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { readSettings } from './platform/config/office-settings.js';

/**
 * `npm run demo`: plays a story against a running server and says what happened. Two agents, threshold 3: the CEO's provider
 * breaks, it fails on A, B and C and is paused; B goes to the worker, who does it. Ends with 0 when all went as told.
 */
const settings = readSettings(process.env);
const base = `${process.env.OFFICE_URL ?? `http://${settings.OFFICE_HOST}:${settings.OFFICE_PORT}`}/api/v1`;
const token = settings.OFFICE_ADMIN_TOKEN ?? (await readFile(join(settings.OFFICE_DATA_DIR, 'admin-token'), 'utf8').catch(() => '')).trim();

const say = (line = ''): void => void process.stdout.write(`${line}\n`);

async function call<Body>(route: string, body?: object): Promise<Body> {
  const [method, path] = route.split(' ') as [string, string];
  const answer = await fetch(base + path, {
    method,
    headers: { authorization: `Bearer ${token}`, ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    signal: AbortSignal.timeout(10_000),
  });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`${route} answered ${answer.status}: ${text}`);
  return JSON.parse(text) as Body;
}

interface Run {
  readonly id: string;
  readonly status: string;
  readonly error_summary: string | null;
  readonly waiting_on: string | null;
}

const broken = `\`\`\`mock\n${JSON.stringify([
  { fail: { code: -32603, message: 'Internal error', data: { message: 'Credit balance is too low' } }, when: { turn: [1] } },
  { say: 'Done.' },
])}\n\`\`\``;

async function lastRun(workspaceId: string, taskId: string, agentId: string, wanted: readonly string[]): Promise<Run> {
  for (let waited = 0; waited < 30_000; waited += 100) {
    const { items } = await call<{ items: Run[] }>(`GET /workspaces/${workspaceId}/runs?task_id=${taskId}&agent_id=${agentId}&limit=1`);
    if (items[0] !== undefined && wanted.includes(items[0].status)) return items[0];
    await pause(100);
  }
  throw new Error(`the run of task ${taskId} did not become ${wanted.join(' or ')}`);
}

function must(what: string, holds: boolean): void {
  if (!holds) throw new Error(`not as expected: ${what}`);
}

async function story(): Promise<void> {
  const { user } = await call<{ user: { name: string } }>('GET /me');
  say(`Signed in to ${base} as ${user.name}.`);
  const { id: workspaceId } = await call<{ id: string }>('POST /workspaces', { name: 'Demo', task_prefix: 'DEMO' });
  const hire = (name: string, role: string) =>
    call<{ id: string }>(`POST /workspaces/${workspaceId}/agents`, { name, role, adapter: 'mock' });
  const ceo = await hire('CEO', 'ceo');
  const worker = await hire('Worker', 'worker');
  say('A workspace with two agents, CEO and Worker. Three failures in a row pause an agent.');

  const tasks: { id: string; identifier: string }[] = [];
  for (const title of ['A: write the plan', 'B: order the chairs', 'C: paint the door']) {
    const task = await call<{ id: string; identifier: string }>(`POST /workspaces/${workspaceId}/tasks`, {
      title,
      description: broken,
      assignee_agent_instance_id: ceo.id,
    });
    tasks.push(task);
    const run = await lastRun(workspaceId, task.id, ceo.id, ['failed']);
    const { consecutive_failures } = await call<{ consecutive_failures: number }>(`GET /agents/${ceo.id}`);
    say(`CEO failed on ${task.identifier} "${title}": ${run.error_summary} (${consecutive_failures} in a row).`);
  }

  const paused = await call<{ status: string; pause_reason: string; open_failures: number; subtitle: string }>(`GET /agents/${ceo.id}`);
  must('the CEO is paused', paused.status === 'paused');
  must('its single failures gave way to the pause', paused.open_failures === 0);
  say(`CEO is paused. ${paused.pause_reason}`);

  const [, b] = tasks;
  const extra = await call<{ id: string; identifier: string }>(`POST /workspaces/${workspaceId}/tasks`, {
    title: 'D: water the plants',
    assignee_agent_instance_id: ceo.id,
  });
  const waiting = await lastRun(workspaceId, extra.id, ceo.id, ['queued']);
  must('a wake of a paused agent waits and says why', waiting.waiting_on === 'agent_paused');
  say(`${extra.identifier} for the CEO waits: ${waiting.waiting_on}. Nothing is lost.`);

  await call(`PATCH /tasks/${b!.id}`, { assignee_agent_instance_id: worker.id, description: 'Please order the chairs.' });
  await lastRun(workspaceId, b!.id, worker.id, ['completed']);
  say(`${b!.identifier} was given to Worker, who has done it.`);
  const still = await call<{ status: string; consecutive_failures: number }>(`GET /agents/${ceo.id}`);
  must('reassigning does not heal the CEO', still.status === 'paused' && still.consecutive_failures === 3);

  const { items: inbox } = await call<{ items: { id: string; title: string; kind: string }[] }>(`GET /workspaces/${workspaceId}/inbox`);
  must('the inbox has the pause and nothing else', inbox.length === 1 && inbox[0]?.kind === 'agent_paused_after_failures');
  say(`In the inbox: ${inbox[0]!.title}.`);
  const fixed = await call<{ queued_runs: object[]; skipped: { why: string }[] }>(
    `POST /workspaces/${workspaceId}/inbox/items/${inbox[0]!.id}/dismiss`,
  );
  must('A and C are tried again, B is left alone', fixed.queued_runs.length === 2 && fixed.skipped.length === 1);
  say(
    `The bill is paid, a person presses Mark fixed: ${fixed.queued_runs.length} tasks are tried again, ${b!.identifier} is skipped (${fixed.skipped[0]!.why}).`,
  );
  for (const task of [tasks[0]!, tasks[2]!, extra]) await lastRun(workspaceId, task.id, ceo.id, ['completed']);
  const { open } = await call<{ open: number }>(`GET /workspaces/${workspaceId}/inbox/count`);
  must('the inbox is empty', open === 0);
  say('All of them are done, what had waited too, and the inbox is empty.');

  const { items } = await call<{ items: { id: string; status: string }[] }>(`GET /workspaces/${workspaceId}/runs`);
  const counts = items.reduce<Record<string, number>>((all, { status }) => ({ ...all, [status]: (all[status] ?? 0) + 1 }), {});
  say(
    `Runs: ${Object.entries(counts)
      .map(([status, count]) => `${count} ${status}`)
      .join(', ')}. Every one of them is explained at GET /runs/:id.`,
  );
}

try {
  await story();
} catch (error) {
  const reason = error instanceof Error ? error.message : String(error);
  process.stderr.write(`The demo stopped: ${reason}\n`);
  if (reason.includes('fetch failed'))
    process.stderr.write(`Is the server running? Start it with npm start; it should listen on ${base}.\n`);
  process.exitCode = 1;
}
