import { describe, expect, it } from 'vitest';
import { OfficeError } from '../../platform/errors/office-error.js';
import type { ActiveDecision, Seat, Walk } from './gate.js';
import { planMove, type MoveCause, type Standing } from './task-move.js';
import { TASK_STATES, type TaskState } from './task-state.js';

type Kind = Walk['steps'][number]['kind'];
const steps = (...kinds: Kind[]): Walk['steps'] =>
  kinds.map((kind, place) => {
    const id = kinds.filter((one) => one === kind).length > 1 ? `${kind}${place + 1}` : kind;
    return { id, name: id, kind, requiresSignal: kind === 'work' };
  });
const OFFICE = steps('work', 'review', 'approval', 'done');
const seat = (stepId: string, role: Seat['role'] = 'approver', about: Partial<Seat> = {}): Seat => {
  const holder = `${role} of ${stepId}`;
  return { id: holder, stepId, agentId: holder, userId: null, name: holder, role, decisionRequired: role !== 'watcher', ...about };
};
const yes = ({ stepId, agentId, userId }: Seat): ActiveDecision => ({ stepId, agentId, userId, decision: 'approved', note: null });
const walk = (about: Partial<Walk> = {}): Walk => ({ steps: OFFICE, seats: [], decisions: [], ...about });
const REVIEWER = seat('review', 'reviewer');
const APPROVER = seat('approval');
const SEATED = walk({ seats: [REVIEWER, APPROVER] });

const at = (stepId: string, state: TaskState = stepId === 'work' ? 'IN_PROGRESS' : 'REVIEW'): Standing => ({
  stepId,
  state,
  reviewAfterFailure: false,
});
const says = (to: TaskState): MoveCause => ({ kind: 'state', to, by: 'person' });
const COMPLETED: MoveCause = { kind: 'completed' };

function outcome(now: Standing, way: Walk, cause: MoveCause): string {
  try {
    const { state, stepId, missing } = planMove(now, way, cause);
    return [`${state} at ${stepId}`, ...missing.map(({ name }) => `without ${name}`)].join(' ');
  } catch (error) {
    return (error as OfficeError).code;
  }
}

describe('a state that somebody says', () => {
  /** Rows: where the task is. Columns: TODO, IN_PROGRESS, REVIEW, BLOCKED, DONE, CANCELLED. `-`: no move. */
  const TABLE: readonly (readonly [Standing, readonly string[]])[] = [
    [at('work', 'TODO'), ['-', 'work', 'review', 'work', 'done', 'work']],
    [at('work'), ['work', '-', 'review', 'work', 'done', 'work']],
    [at('work', 'REVIEW'), ['work', 'work', '-', 'work', 'done', 'work']],
    [at('work', 'BLOCKED'), ['work', 'work', 'review', '-', 'done', 'work']],
    [at('review'), ['work', 'work', '-', 'review', 'done', 'review']],
    [at('review', 'BLOCKED'), ['work', 'work', 'review', '-', 'done', 'review']],
    [at('approval'), ['work', 'work', '-', 'approval', 'done', 'approval']],
    [at('done', 'DONE'), ['work', 'work', 'illegal_transition', 'illegal_transition', '-', 'illegal_transition']],
    [at('review', 'CANCELLED'), ['work', 'work', 'illegal_transition', 'illegal_transition', 'illegal_transition', '-']],
  ];
  const cells = TABLE.flatMap(([now, row]) => TASK_STATES.map((to, column) => ({ now, to, expected: row[column]! })));

  it.each(cells.filter(({ expected }) => expected !== '-'))('$to of $now.state at $now.stepId: $expected', ({ now, to, expected }) => {
    expect(outcome(now, walk(), says(to))).toBe(expected === 'illegal_transition' ? expected : `${to} at ${expected}`);
  });

  it('in review goes to the first gate where somebody has to decide, and to the first of all where nobody has', () => {
    expect(outcome(at('work'), walk({ seats: [APPROVER] }), says('REVIEW'))).toBe('REVIEW at approval');
    expect(outcome(at('work'), walk({ seats: [seat('review', 'watcher'), APPROVER] }), says('REVIEW'))).toBe('REVIEW at approval');
    expect(outcome(at('work'), walk(), says('REVIEW'))).toBe('REVIEW at review');
  });

  it('moves only the state where the workflow has no step for it', () => {
    const bare = walk({ steps: steps('work') });
    expect([outcome(at('work'), bare, says('REVIEW')), outcome(at('work'), bare, says('DONE'))]).toEqual([
      'REVIEW at work',
      'DONE at work',
    ]);
    expect(outcome(at('review'), walk({ steps: steps('review', 'done') }), says('IN_PROGRESS'))).toBe('IN_PROGRESS at review');
  });

  it('done waits for every approver there is, at the first of them', () => {
    expect(outcome(at('work'), SEATED, says('DONE'))).toBe('REVIEW at approval without approver of approval');
    expect(outcome(at('approval'), SEATED, says('DONE'))).toBe('REVIEW at approval without approver of approval');
    expect(outcome(at('work'), { ...SEATED, decisions: [yes(APPROVER)] }, says('DONE'))).toBe('DONE at done');
    const early = seat('review');
    expect(outcome(at('approval'), walk({ seats: [early, APPROVER] }), says('DONE'))).toBe(
      'REVIEW at review without approver of review without approver of approval',
    );
  });
});

describe('a step that is complete', () => {
  it.each<[string, Standing, Walk, string]>([
    ['passes gates where nobody sits', at('work'), walk(), 'DONE at done'],
    ['stops where somebody has to decide', at('work'), SEATED, 'REVIEW at review'],
    [
      'passes a gate with advisory seats and watchers only',
      at('work'),
      walk({ seats: [{ ...REVIEWER, decisionRequired: false }, APPROVER] }),
      'REVIEW at approval',
    ],
    ['goes from gate to gate', at('review'), SEATED, 'REVIEW at approval'],
    ['ends', at('approval'), { ...SEATED, decisions: [yes(APPROVER)] }, 'DONE at done'],
    [
      'does not end without an approver that was passed by',
      at('approval'),
      walk({ seats: [seat('review')] }),
      'REVIEW at review without approver of review',
    ],
    ['goes on to more work', at('work1'), walk({ steps: steps('work', 'work', 'done') }), 'IN_PROGRESS at work2'],
    ['passes the state a person gave it', at('work', 'BLOCKED'), SEATED, 'REVIEW at review'],
    ['stays at the last gate of a workflow without an end', at('work'), walk({ steps: steps('work', 'review') }), 'REVIEW at review'],
    ['is refused at the last step', at('work'), walk({ steps: steps('work') }), 'no_next_step'],
    ['is refused when the task is over', at('work', 'CANCELLED'), walk(), 'task_not_open'],
  ])('%s', (_name, now, way, expected) => {
    expect(outcome(now, way, COMPLETED)).toBe(expected);
  });
});

describe('a task sent by hand', () => {
  const send = (stepId: string): MoveCause => ({ kind: 'sent_to', stepId });

  it.each<[string, Standing, MoveCause, string]>([
    ['goes to an empty gate and stays', at('work'), send('approval'), 'REVIEW at approval'],
    ['goes back', at('approval'), send('work'), 'IN_PROGRESS at work'],
    ['goes to the end', at('work'), send('done'), 'DONE at done'],
    ['does not go where it is', at('work'), send('work'), 'illegal_transition'],
    ['does not go nowhere', at('work'), send('elsewhere'), 'not_found'],
    ['does not go anywhere when it is over', at('done', 'DONE'), send('work'), 'task_not_open'],
  ])('%s', (_name, now, cause, expected) => {
    expect(outcome(now, walk(), cause)).toBe(expected);
  });

  it('does not go to the end past its approvers', () => {
    expect(outcome(at('work'), SEATED, send('done'))).toBe('REVIEW at approval without approver of approval');
  });
});

describe('changes requested', () => {
  it.each<[string, Standing, Walk, string]>([
    [
      'go to the nearest work before',
      at('approval'),
      walk({ steps: steps('work', 'review', 'work', 'approval', 'done') }),
      'IN_PROGRESS at work3',
    ],
    ['go to the first step where none works', at('approval'), walk({ steps: steps('review', 'approval') }), 'REVIEW at review'],
  ])('%s', (_name, now, way, expected) => {
    expect(outcome(now, way, { kind: 'changes_requested' })).toBe(expected);
  });
});

describe('decisions hold no longer', () => {
  it.each<[string, Standing, Walk, MoveCause, string[]]>([
    ['at and after a step that is entered', at('work'), SEATED, COMPLETED, ['review', 'approval', 'done']],
    ['after the work it goes back to', at('approval'), SEATED, { kind: 'changes_requested' }, ['work', 'review', 'approval', 'done']],
    ['at none where it stays', at('approval'), SEATED, says('DONE'), []],
    ['at none where only its state moves', at('review'), SEATED, says('BLOCKED'), []],
  ])('%s', (_name, now, way, cause, expected) => {
    expect(planMove(now, way, cause).supersedes).toEqual(expected);
  });
});
