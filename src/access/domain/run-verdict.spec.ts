import { describe, expect, it } from 'vitest';
import { AGENT_ROLES, CAPABILITIES, capabilitiesOf } from './capabilities.js';
import { allowedTasks, referencesOf, targetOf, type NamedRow, type RunIdentity } from './run-access.js';
import { judgeCapability, judgeExistence, judgeTaskScope, judgeToken, judgeWorkspace } from './run-verdict.js';

const [OWN, OTHER, WS, AGENT] = ['0a', '0b', '0c', '0d'].map((end) => `01900000-0000-7000-8000-0000000000${end}`) as [
  string,
  string,
  string,
  string,
];
const aRun = (about: Partial<RunIdentity> = {}): RunIdentity => ({
  runId: '01900000-0000-7000-8000-000000000001',
  generation: 1,
  workspaceId: WS,
  agentId: AGENT,
  taskId: OWN,
  sessionId: '01900000-0000-7000-8000-000000000002',
  role: 'worker',
  capabilities: ['post_comment'],
  allowedTaskIds: [OWN],
  expiresAt: 0,
  ...about,
});
const aTask = (id: string, changes = true) => ({ kind: 'task' as const, id, changes });

describe('the questions an agent’s request has to answer', () => {
  it('refuses without a token, and with one that is worth nothing, in different words', () => {
    expect(judgeToken(undefined, null)).toBe('missing_runtime_token');
    expect(judgeToken('  ', null)).toBe('missing_runtime_token');
    expect(judgeToken('Bearer x', null)).toBe('invalid_runtime_token');
    expect(judgeToken('Bearer x', aRun())).toBeNull();
  });

  it.each(CAPABILITIES)('refuses %s to a run that lacks it', (needed) => {
    expect(judgeCapability(aRun({ capabilities: CAPABILITIES.filter((one) => one !== needed) }), needed)).toBe('capability_denied');
    expect(judgeCapability(aRun({ capabilities: [needed] }), needed)).toBeNull();
  });

  it('asks nothing of whoever runs where nothing is asked', () => {
    expect(judgeCapability(aRun({ capabilities: [] }), null)).toBeNull();
  });

  it.each([
    ['nothing was found', [aTask(OWN)], [], 'workspace_out_of_scope'],
    ['another kind has that id', [aTask(OWN)], [{ kind: 'agent' as const, id: OWN, there: true }], 'workspace_out_of_scope'],
    ['one of two was found', [aTask(OWN), aTask(OTHER)], [{ kind: 'task' as const, id: OWN, there: true }], 'workspace_out_of_scope'],
    ['another workspace is named', [{ kind: 'workspace' as const, id: OTHER, changes: false }], [], 'workspace_out_of_scope'],
    ['the own workspace is named, in other letters', [{ kind: 'workspace' as const, id: WS.toUpperCase(), changes: false }], [], null],
    ['all were found, in other letters', [aTask(OWN.toUpperCase())], [{ kind: 'task' as const, id: OWN, there: true }], null],
    ['a deleted one was found, which is for the next question', [aTask(OWN)], [{ kind: 'task' as const, id: OWN, there: false }], null],
    ['nothing is named', [], [], null],
  ])('where %s', (_, references, found, verdict) => {
    expect(judgeWorkspace(aRun(), references, found)).toBe(verdict);
  });

  it('lets a run change its own task, and whatever it was granted', () => {
    expect(judgeTaskScope(aRun(), [aTask(OWN.toUpperCase())])).toBeNull();
    expect(judgeTaskScope(aRun(), [aTask(OTHER)])).toBe('task_out_of_scope');
    expect(judgeTaskScope(aRun(), [aTask(OWN), aTask(OTHER)])).toBe('task_out_of_scope');
    expect(judgeTaskScope(aRun(), [aTask(OTHER, false)])).toBeNull();
    expect(judgeTaskScope(aRun({ taskId: null, allowedTaskIds: [] }), [aTask(OWN)])).toBe('task_out_of_scope');
    expect(judgeTaskScope(aRun({ allowedTaskIds: '*' }), [aTask(OTHER)])).toBeNull();
  });

  it('finds only what is there', () => {
    expect(judgeExistence([{ kind: 'task', id: OWN, there: false }])).toBe('not_found');
    expect(judgeExistence([{ kind: 'task', id: OWN, there: true }])).toBeNull();
  });
});

describe('allowedTasks', () => {
  it.each(AGENT_ROLES)('is every task for a CEO that may assign, and the own one for a %s otherwise', (role) => {
    const all = role === 'ceo' ? '*' : [OWN];
    expect(allowedTasks(role, capabilitiesOf(role, { allow: ['assign_tasks'] }), OWN)).toEqual(all);
    expect(allowedTasks(role, capabilitiesOf(role, { deny: ['assign_tasks'] }), OWN)).toEqual([OWN]);
    expect(allowedTasks(role, [], null)).toEqual([]);
  });
});

describe('the rows a request names', () => {
  const names: readonly NamedRow[] = [
    { field: 'task_id', kind: 'task', changes: true, orOwn: true, isTarget: true },
    { field: 'blocked_by', kind: 'task' },
    { field: 'target_id', kindIn: 'target_type' },
    { field: 'path', kind: 'memory' },
  ];

  it.each([
    [{}, [aTask(OWN)]],
    [{ task_id: OTHER }, [aTask(OTHER)]],
    [{ task_id: 'no uuid' }, [aTask('no uuid')]],
    [{ task_id: 7 }, []],
    [{ blocked_by: [OTHER, 7, OWN] }, [aTask(OWN), aTask(OTHER, false), aTask(OWN, false)]],
    [{ target_type: 'skill', target_id: OTHER }, [aTask(OWN), { kind: 'skill', id: OTHER, changes: false }]],
    [{ target_type: 'workspace', target_id: OTHER }, [aTask(OWN)]],
    [{ target_type: 'toString', target_id: OTHER }, [aTask(OWN)]],
    [
      { path: `workspaces/${WS}/memory/projects/${OTHER}/a/b` },
      [aTask(OWN), { kind: 'workspace', id: WS, changes: false }, { kind: 'project', id: OTHER, changes: false }],
    ],
    [{ path: `workspaces/${WS}/memory/toString/${OTHER}/a` }, [aTask(OWN), { kind: 'workspace', id: WS, changes: false }]],
    [{ path: `workspaces/${WS}` }, [aTask(OWN), { kind: 'workspace', id: WS, changes: false }]],
    [{ path: `elsewhere/${WS}` }, [aTask(OWN)]],
    [{ path: ['workspaces'] }, [aTask(OWN)]],
  ])('of %j', (fields, references) => {
    expect(referencesOf(names, fields, { taskId: OWN })).toEqual(references);
  });

  it('has no own task where there is none', () => {
    expect(referencesOf(names, {}, { taskId: null })).toEqual([]);
  });

  it('says what the request was about', () => {
    expect(targetOf(names, {}, { taskId: OWN })).toEqual({ type: 'task', id: OWN });
    expect(targetOf(names, { task_id: 'x'.repeat(2_000) }, { taskId: OWN }).id).toHaveLength(600);
    expect(targetOf(names.slice(2), { target_type: 'skill', target_id: OTHER }, { taskId: OWN })).toEqual({ type: 'skill', id: OTHER });
    expect(targetOf(names.slice(3), { path: 'a/b' }, { taskId: OWN })).toEqual({ type: 'memory', id: 'a/b' });
    expect(targetOf([], {}, { taskId: OWN })).toEqual({ type: null, id: null });
  });
});
