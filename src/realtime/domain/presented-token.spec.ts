import { describe, expect, it } from 'vitest';
import { tokenAmong } from './presented-token.js';

describe('tokenAmong', () => {
  it.each([
    ['office.v1, bearer.office_abc', 'office_abc'],
    ['bearer.office_abc,office.v1', 'office_abc'],
    ['office.v1, bearer.a%2Fb%3D', 'a/b='],
    ['office.v1, bearer.100%', '100%'],
  ])('finds the token in %s', (offered, token) => expect(tokenAmong(offered)).toBe(token));

  it.each([
    ['nothing offered', undefined],
    ['an empty offer', ''],
    ['another wire', 'graphql-ws, bearer.office_abc'],
    ['no token', 'office.v1'],
    ['an empty token', 'office.v1, bearer.'],
    ['two tokens', 'office.v1, bearer.a, bearer.b'],
  ])('finds none in %s', (_what, offered) => expect(tokenAmong(offered)).toBeNull());
});
