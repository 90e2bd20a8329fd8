import { describe, expect, it } from 'vitest';
import { leavesNoAdmin } from './remaining-admins.js';
import type { Member } from './remaining-admins.js';

const ann: Member = { userId: 'ann', role: 'admin' };
const ben: Member = { userId: 'ben', role: 'admin' };
const cas: Member = { userId: 'cas', role: 'member' };

describe('leavesNoAdmin', () => {
  it.each([
    ['refuses to remove the only admin', [ann, cas], 'ann', null, true],
    ['refuses to make the only admin a member', [ann, cas], 'ann', 'member', true],
    ['lets one of two admins go', [ann, ben], 'ann', null, false],
    ['lets a member go', [ann, cas], 'cas', null, false],
    ['lets the only admin stay admin', [ann], 'ann', 'admin', false],
    ['lets a member become admin', [ann, cas], 'cas', 'admin', false],
    ['refuses a first member who is no admin', [], 'cas', 'member', true],
  ] as const)('%s', (_, members, userId, role, expected) => {
    expect(leavesNoAdmin(members, userId, role)).toBe(expected);
  });
});
