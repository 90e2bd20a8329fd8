import { describe, expect, it } from 'vitest';
import { gateVerdict, missingApprovals, type ActiveDecision, type Seat, type Walk } from './gate.js';

const STEPS = (['work', 'review', 'approval', 'done'] as const).map((kind) => ({ id: kind, name: kind, kind, requiresSignal: false }));
const seat = (holder: string, about: Partial<Seat> = {}): Seat => ({
  id: `seat of ${holder}`,
  stepId: 'review',
  agentId: holder,
  userId: null,
  name: holder,
  role: 'reviewer',
  decisionRequired: true,
  ...about,
});
const said = (holder: string, decision: ActiveDecision['decision'], about: Partial<ActiveDecision> = {}): ActiveDecision => ({
  stepId: 'review',
  agentId: holder,
  userId: null,
  decision,
  note: null,
  ...about,
});
const walk = (seats: Seat[], decisions: ActiveDecision[] = []): Walk => ({ steps: STEPS, seats, decisions });

describe('a gate is', () => {
  it.each([
    ['open without seats', walk([]), 'open'],
    ['open to advisory seats', walk([seat('ada', { decisionRequired: false })]), 'open'],
    ['open to watchers', walk([seat('ada', { role: 'watcher', decisionRequired: false })]), 'open'],
    ['open to seats of another step', walk([seat('ada', { stepId: 'approval' })]), 'open'],
    ['waiting for everybody who has to decide', walk([seat('ada'), seat('bob')], [said('ada', 'approved')]), 'waiting'],
    ['waiting although one has refused already', walk([seat('ada'), seat('bob')], [said('ada', 'changes_requested')]), 'waiting'],
    ['waiting when somebody else has decided', walk([seat('ada')], [said('bob', 'approved')]), 'waiting'],
    ['waiting when the decision was at another step', walk([seat('ada')], [said('ada', 'approved', { stepId: 'approval' })]), 'waiting'],
    [
      'waiting for a person of the same id as an agent',
      walk([seat('ada', { agentId: null, userId: 'ada' })], [said('ada', 'approved')]),
      'waiting',
    ],
    ['approved by all', walk([seat('ada'), seat('bob')], [said('ada', 'approved'), said('bob', 'approved')]), 'approved'],
    ['refused by one of all', walk([seat('ada'), seat('bob')], [said('ada', 'approved'), said('bob', 'changes_requested')]), 'refused'],
    [
      'approved whatever an advisory seat says',
      walk([seat('ada'), seat('bob', { decisionRequired: false })], [said('ada', 'approved'), said('bob', 'changes_requested')]),
      'approved',
    ],
  ] as const)('%s', (_name, way, verdict) => {
    expect(gateVerdict(way, 'review')).toBe(verdict);
  });
});

describe('what keeps a task from being done', () => {
  const approver = (holder: string, about: Partial<Seat> = {}) => seat(holder, { stepId: 'approval', role: 'approver', ...about });
  const approved = (holder: string) => said(holder, 'approved', { stepId: 'approval' });

  it.each([
    ['nobody', [], [], []],
    ['a reviewer is not', [seat('ada')], [], []],
    ['an approver is', [approver('ada')], [], ['ada']],
    ['an advisory approver is not', [approver('ada', { decisionRequired: false })], [], []],
    ['one who has approved is not', [approver('ada'), approver('bob')], [approved('ada')], ['bob']],
    ['one who wants changes is', [approver('ada')], [said('ada', 'changes_requested', { stepId: 'approval' })], ['ada']],
    ['the approvers of every step are, in order', [approver('bob'), seat('ada', { role: 'approver' })], [], ['ada', 'bob']],
  ] as const)('%s', (_name, seats, decisions, missing) => {
    expect(missingApprovals(walk([...seats], [...decisions])).map(({ agentId }) => agentId)).toEqual(missing);
  });
});
