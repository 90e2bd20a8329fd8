import { describe, expect, it } from 'vitest';
import type { SeatPlan } from './seat.js';
import { problemsOf, type StepSketch } from './workflow-plan.js';

const seat = (about: Partial<SeatPlan> = {}): SeatPlan => ({
  agentId: 'ada',
  userId: null,
  role: 'reviewer',
  decisionRequired: true,
  ...about,
});
const step = (kind: StepSketch['kind'], about: Partial<StepSketch> = {}): StepSketch => ({ kind, ...about });

describe('the steps of a workflow', () => {
  it.each<[string, StepSketch[]]>([
    ['as the Office has them', [step('work'), step('review'), step('approval'), step('done')]],
    ['without an end', [step('work')]],
    ['with people and agents at a gate', [step('work'), step('review', { seats: [seat(), seat({ agentId: null, userId: 'pat' })] })]],
    ['with a watcher at work', [step('work', { seats: [seat({ role: 'watcher', decisionRequired: false })] })]],
  ])('may be %s', (_name, steps) => {
    expect(problemsOf(steps)).toEqual([]);
  });

  it.each<[string, StepSketch[], string]>([
    ['an end in the middle', [step('work'), step('done'), step('work')], 'steps.1.kind'],
    ['nothing but an end', [step('done')], 'steps.0.kind'],
    ['one step twice', [step('work', { id: 'a' }), step('review', { id: 'a' })], 'steps.1.id'],
    ['a seat of nobody', [step('review', { seats: [seat({ agentId: null })] })], 'steps.0.seats.0'],
    ['a seat of two', [step('review', { seats: [seat({ userId: 'pat' })] })], 'steps.0.seats.0'],
    ['two seats of one', [step('review', { seats: [seat(), seat({ role: 'approver' })] })], 'steps.0.seats.1'],
    ['a watcher that decides', [step('review', { seats: [seat({ role: 'watcher' })] })], 'steps.0.seats.0.role'],
    ['a decision at work', [step('work', { seats: [seat()] })], 'steps.0.seats.0.decision_required'],
  ])('may not have %s', (_name, steps, path) => {
    expect(problemsOf(steps).map((problem) => problem.path)).toEqual([path]);
  });
});
