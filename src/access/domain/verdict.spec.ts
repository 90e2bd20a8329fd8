import { describe, expect, it } from 'vitest';
import { holdsScope, SCOPES } from './route-access.js';
import type { Role, RouteAccess, Scope } from './route-access.js';
import { judge } from './verdict.js';
import type { Verdict } from './verdict.js';

const row = { kind: 'tasks', param: 'id' } as const;
const DOORS: Record<string, RouteAccess> = {
  public: { who: 'public' },
  local: { who: 'loopback_or_instance_admin' },
  person: { who: 'person' },
  instance: { who: 'instance_admin' },
  member: { who: 'member', row },
  wsadmin: { who: 'workspace_admin', row },
};
const ANSWERS: Record<string, Verdict> = { ok: 'allowed', '401': 'unauthenticated', '403': 'forbidden', '404': 'not_found' };
const TOKENS: readonly (readonly Scope[] | null)[] = [null, ['read'], ['write'], ['admin']];

// The whole truth. `role` is the person's in the workspace of the row; "inst" says they are an instance admin.
const TABLE = `
  door     method from   inst role   | none read write admin
  public   GET    far    no   -      | ok   ok   ok    ok
  public   POST   far    no   -      | ok   ok   ok    ok
  local    GET    here   no   -      | ok   ok   ok    ok
  local    GET    far    no   -      | 401  403  403   403
  local    GET    far    yes  -      | 401  ok   ok    ok
  local    POST   far    yes  -      | 401  403  ok    ok
  person   GET    far    no   -      | 401  ok   ok    ok
  person   HEAD   far    no   -      | 401  ok   ok    ok
  person   POST   far    no   -      | 401  403  ok    ok
  person   DELETE far    no   -      | 401  403  ok    ok
  person   GET    here   no   -      | 401  ok   ok    ok
  person   POST   far    yes  -      | 401  403  ok    ok
  instance GET    far    no   -      | 401  403  403   403
  instance POST   far    no   -      | 401  403  403   403
  instance GET    far    yes  -      | 401  403  403   ok
  instance HEAD   far    yes  -      | 401  403  403   ok
  instance POST   far    yes  -      | 401  403  403   ok
  instance POST   here   no   admin  | 401  403  403   403
  member   GET    far    no   -      | 401  404  404   404
  member   GET    far    yes  -      | 401  404  404   404
  member   POST   far    no   -      | 401  404  404   404
  member   POST   here   yes  -      | 401  404  404   404
  member   GET    far    no   member | 401  ok   ok    ok
  member   HEAD   far    no   member | 401  ok   ok    ok
  member   POST   far    no   member | 401  403  ok    ok
  member   PUT    far    no   member | 401  403  ok    ok
  member   PATCH  far    no   member | 401  403  ok    ok
  member   DELETE far    no   member | 401  403  ok    ok
  member   OPTIONS far   no   member | 401  403  ok    ok
  member   GET    far    no   admin  | 401  ok   ok    ok
  member   POST   far    no   admin  | 401  403  ok    ok
  wsadmin  GET    far    no   -      | 401  404  404   404
  wsadmin  POST   far    yes  -      | 401  404  404   404
  wsadmin  GET    far    no   member | 401  403  403   403
  wsadmin  POST   far    yes  member | 401  403  403   403
  wsadmin  GET    far    no   admin  | 401  403  403   ok
  wsadmin  POST   far    no   admin  | 401  403  403   ok
  wsadmin  DELETE far    yes  admin  | 401  403  403   ok
`;

const cases = TABLE.trim()
  .split('\n')
  .slice(1)
  .flatMap((line) => {
    const [situation = '', answers = ''] = line.split('|');
    const [door = '', method = '', from, inst, role] = situation.trim().split(/\s+/);
    return answers
      .trim()
      .split(/\s+/)
      .map((answer, column) => ({ door, method, from, inst, role, scopes: TOKENS[column]!, verdict: ANSWERS[answer]! }));
  });

describe('judge', () => {
  it('is asked every question of the table', () => expect(cases).toHaveLength(38 * 4));

  it.each(cases)(
    '$door $method from $from, instance admin: $inst, role $role, scopes $scopes: $verdict',
    ({ door, method, from, inst, role, scopes, verdict }) => {
      const person = scopes && { scopes, isInstanceAdmin: inst === 'yes' };
      const caller = { method, fromThisMachine: from === 'here', person, role: role === '-' ? null : (role as Role) };
      expect(judge(DOORS[door]!, caller)).toBe(verdict);
    },
  );

  it('never lets a call without a person further than a public or local door, whatever else is true of it', () => {
    for (const [name, access] of Object.entries(DOORS)) {
      for (const role of [null, 'member', 'admin'] as const) {
        for (const method of ['GET', 'POST']) {
          const verdict = judge(access, { method, fromThisMachine: false, person: null, role });
          expect(verdict, name).toBe(name === 'public' ? 'allowed' : 'unauthenticated');
        }
      }
    }
  });
});

describe('holdsScope', () => {
  it.each([
    [['read'], 'read', true],
    [['read'], 'write', false],
    [['read'], 'admin', false],
    [['write'], 'read', true],
    [['write'], 'write', true],
    [['write'], 'admin', false],
    [['admin'], 'read', true],
    [['admin'], 'admin', true],
    [['read', 'write'], 'admin', false],
    [['read', 'admin'], 'write', true],
    [[], 'read', false],
  ] as const)('%j for %s: %s', (held, needed, expected) => {
    expect(holdsScope(held, needed)).toBe(expected);
  });

  it('orders the scopes from least to most', () => expect(SCOPES).toEqual(['read', 'write', 'admin']));
});
