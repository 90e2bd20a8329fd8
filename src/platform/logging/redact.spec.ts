import { describe, expect, it } from 'vitest';
import { hideFromLogs, knownSecrets, redact } from './redact.js';

const TOKEN = `office_${'aB3-_'.repeat(9)}`;

describe('redact', () => {
  it.each([
    ['a token', `{"a":"${TOKEN}"}`, '{"a":"[redacted]"}'],
    ['a token in the middle of a text', `{"a":"tried ${TOKEN}, in vain"}`, '{"a":"tried [redacted], in vain"}'],
    ['an authorization field', '{"authorization":"abc"}', '{"authorization":"[redacted]"}'],
    ['a header in a text', '{"m":"Authorization: Bearer abc.def-ghi"}', '{"m":"Authorization: Bearer [redacted]"}'],
    ['basic credentials', '{"m":"basic dXNlcjpwYXNz"}', '{"m":"basic [redacted]"}'],
    ['a password field', '{"password":"a\\"b","b":1}', '{"password":"[redacted]","b":1}'],
    [
      'a field that ends like a password',
      '{"db_password":"x","x_api_key":"y","client-secret":"z"}',
      '{"db_password":"[redacted]","x_api_key":"[redacted]","client-secret":"[redacted]"}',
    ],
    ['a cookie', '{"set-cookie":"a=b"}', '{"set-cookie":"[redacted]"}'],
    ['a runtime token', '{"m":"eyJhbGciOiJIUzI1NiJ9.eyJydW4iOiJ4In0.abcDEF-_"}', '{"m":"[redacted]"}'],
    ['a database address', '{"m":"postgres://office:pa:ss@db:5432/x"}', '{"m":"postgres://office:[redacted]@db:5432/x"}'],
    ['a database address with a strange password', '{"m":"postgresql://u:p@ss@db/x?a=b"}', '{"m":"postgresql://u:[redacted]@db/x?a=b"}'],
    ['two of them', '{"m":"postgres://a:b@c and postgres://d:e@f"}', '{"m":"postgres://a:[redacted]@c and postgres://d:[redacted]@f"}'],
  ])('masks %s', (_, line, safe) => {
    expect(redact(line, [])).toBe(safe);
  });

  it.each([
    '{"tokens":{"input":5}}',
    '{"secret_count":3}',
    '{"path":"/data/admin-token"}',
    '{"m":"postgres://db:5432/x"}',
    '{"route":"/api/v1/users/:id/tokens"}',
    '{"token_id":"018f"}',
  ])('leaves %s alone', (line) => expect(redact(line, [])).toBe(line));

  it('masks known values wherever they stand, as JSON has them', () => {
    const known = knownSecrets(['pass"word\\1', 'short', undefined]);
    expect(known).toHaveLength(1);
    expect(redact(JSON.stringify({ m: 'with pass"word\\1 inside', short: 'short' }), known)).toBe(
      '{"m":"with [redacted] inside","short":"short"}',
    );
  });

  it('takes no longer than a blink for a line made to be slow', () => {
    const before = performance.now();
    redact(`{"m":"${'postgres://a:'.repeat(20_000)}"}`, []);
    redact(`{"m":"${'"password'.repeat(20_000)}"}`, []);
    redact(`{"m":"${'Bearer '.repeat(20_000)}"}`, []);
    redact(`{"m":"${'office_'.repeat(20_000)}"}`, []);
    redact(`{"m":"${'eyJ'.repeat(60_000)}"}`, []);
    expect(performance.now() - before).toBeLessThan(1_000);
  });

  it('hides what running agents were given, as long as they run', () => {
    const release = hideFromLogs((line) => line.replaceAll('correct horse', '[secret:S]'));
    expect(redact('{"m":"correct horse"}', [])).toBe('{"m":"[secret:S]"}');
    release();
    expect(redact('{"m":"correct horse"}', [])).toBe('{"m":"correct horse"}');
  });
});
