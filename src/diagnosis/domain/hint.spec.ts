import { describe, expect, it } from 'vitest';
import { ERROR_CODES } from './codes.js';
import { hintFor } from './hint.js';

const about = { adapter: 'codex', retrying: false, retryAfter: null };

describe('hintFor', () => {
  it.each([
    ['auth', 'sign in to codex'],
    ['invalid_model', 'change the model'],
    ['quota', 'check the plan and credit of codex'],
    ['missing_binary', 'install codex'],
    ['session_corrupted', 'start fresh'],
  ])('of %s: %s', (code, hint) => {
    expect(hintFor({ ...about, code })).toBe(hint);
  });

  it('says until when there is nothing to do but wait', () => {
    expect(hintFor({ ...about, code: 'quota', retryAfter: '2026-12-01T14:00:30.000Z' })).toBe('wait for 2026-12-01 14:00 UTC');
  });

  it('asks nobody for anything while it is retried', () => {
    expect(hintFor({ ...about, code: 'overloaded', retrying: true })).toBe('nothing to do, retrying');
  });

  it('has a line for every code, and none without one', () => {
    for (const code of Object.keys(ERROR_CODES)) expect(hintFor({ ...about, code })).toMatch(/^.{5,80}$/);
    expect(hintFor({ ...about, code: null })).toBeNull();
    expect(hintFor({ ...about, code: 'toString' })).toBeNull();
  });
});
