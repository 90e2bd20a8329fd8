import { describe, expect, it } from 'vitest';
import { undecided, type DecisionAtStep, type SeatAtStep } from './decision-wait.js';

const seat = (holder: string, about: Partial<SeatAtStep> = {}): SeatAtStep => ({
  id: holder,
  name: holder,
  role: 'approver',
  agentId: holder,
  userId: null,
  decisionRequired: true,
  ...about,
});
const made = (holder: string, isSuperseded = false): DecisionAtStep => ({ agentId: holder, userId: null, isSuperseded });

describe('a task waits for', () => {
  it.each<[string, SeatAtStep[], DecisionAtStep[], string[]]>([
    ['nobody without seats', [], [], []],
    ['no advisory seat', [seat('ada', { decisionRequired: false })], [], []],
    ['no watcher, whatever the row says', [seat('ada', { role: 'watcher' })], [], []],
    ['a reviewer and an approver', [seat('ada'), seat('bob', { role: 'reviewer' })], [], ['ada', 'bob']],
    ['nobody who has decided', [seat('ada')], [made('ada')], []],
    ['one whose decision was superseded', [seat('ada')], [made('ada', true)], ['ada']],
    ['nobody who has decided again after that', [seat('ada')], [made('ada', true), made('ada')], []],
    ['the one of two who has not', [seat('ada'), seat('bob')], [made('bob')], ['ada']],
    ['a person of the same id as an agent who has', [seat('ada', { agentId: null, userId: 'ada' })], [made('ada')], ['ada']],
  ])('%s', (_name, seats, decisions, expected) => {
    expect(undecided(seats, decisions).map(({ id }) => id)).toEqual(expected);
  });
});
