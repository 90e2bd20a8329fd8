import { describe, expect, it } from 'vitest';
import { choosePermission } from './permission-choice.js';

const all = ['allow_always', 'allow_once', 'reject_always', 'reject_once'].map((kind) => ({ optionId: `id-${kind}`, kind }));
const only = (kind: string) => all.filter((option) => option.kind === kind);

describe('choosePermission', () => {
  it.each([
    ['allow_once', all, 'id-allow_once'],
    ['allow_always', all, 'id-allow_always'],
    ['allow_any', all, 'id-allow_once'],
    ['deny', all, 'id-reject_once'],
    ['allow_always', only('allow_once'), 'id-allow_once'],
    ['allow_any', only('allow_always'), 'id-allow_always'],
    ['deny', only('reject_always'), 'id-reject_always'],
  ] as const)('answers %s of %j with %s', (decision, options, optionId) => {
    expect(choosePermission(options, decision)).toEqual({ outcome: 'selected', optionId });
  });

  it('never grants always what was allowed once', () => {
    expect(choosePermission(only('allow_always'), 'allow_once')).toEqual({ outcome: 'cancelled' });
  });

  it.each([[[]], [undefined], ['x'], [[null, 1, { kind: 'allow_once' }, { kind: 'other', optionId: 'x' }]], [only('reject_once')]])(
    'cancels when nothing of %j fits',
    (options) => {
      expect(choosePermission(options, 'allow_once')).toEqual({ outcome: 'cancelled' });
    },
  );
});
