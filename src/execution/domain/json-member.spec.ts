import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { rawMember } from './json-member.js';

describe('rawMember', () => {
  it.each([
    ['an object', '{"id":1,"error":{"code":-1,"message":"x"}}', '{"code":-1,"message":"x"}'],
    ['the spaces inside the value and none around it', '{ "error" :  { "code" : 1 }  , "id":2}', '{ "code" : 1 }'],
    ['a string', '{"error":"boom"}', '"boom"'],
    ['a number', '{"error":-1.5e3,"id":1}', '-1.5e3'],
    ['a scalar before a space', '{"error":null }', 'null'],
    ['an array', '{"error":[1,[2,{"a":"]"}]]}', '[1,[2,{"a":"]"}]]'],
    ['braces and quotes inside strings', '{"a":"}{\\"","error":{"m":"{\\"}\\\\"},"z":1}', '{"m":"{\\"}\\\\"}'],
    ['a string that ends in a backslash', '{"a":"\\\\","error":{"m":"\\\\\\\\"}}', '{"m":"\\\\\\\\"}'],
    ['the top level only', '{"result":{"error":1},"error":2}', '2'],
    ['a key written with escapes', '{"\\u0065rror":{"code":1}}', '{"code":1}'],
    ['the last of duplicate keys', '{"error":{"a":1},"id":1,"error":{"b":2}}', '{"b":2}'],
    ['escapes as they stand', '{"error":{"message":"\\u0000\\ud800é"}}', '{"message":"\\u0000\\ud800é"}'],
  ])('answers %s', (_what, json, raw) => {
    expect(rawMember(json, 'error')).toBe(raw);
  });

  it.each([
    ['without the member', '{"id":1}'],
    ['that is empty', '{}'],
    ['of which the name is only a part', '{"errors":1,"xerror":2,"erro":3}'],
    ['where the name is a value', '{"a":"error","b":["error"]}'],
  ])('answers null for an object %s', (_what, json) => {
    expect(rawMember(json, 'error')).toBeNull();
  });

  it.each([
    '',
    '[]',
    '"error"',
    'null',
    '{',
    '{"error"',
    '{"error":',
    '{"error":{',
    '{"error":"',
    '{"error":1',
    '{error:1}',
    '{"a":1,}',
    '{"a" 1}',
    '{"a":}',
  ])('answers null for %j, which is no JSON object', (json) => {
    const answer = rawMember(json, 'error');
    expect(answer === null || answer === '1').toBe(true);
  });

  it('does not recurse', () => {
    const deep = '['.repeat(1_000_000) + ']'.repeat(1_000_000);
    expect(rawMember(`{"a":${deep},"error":${deep}}`, 'error')).toBe(deep);
  });

  it('looks at every character once, also at a million backslashes', () => {
    const text = '\\\\'.repeat(1_000_000);
    const start = performance.now();
    expect(rawMember(`{"a":"${text}","error":"${text}"}`, 'error')).toHaveLength(text.length + 2);
    expect(performance.now() - start).toBeLessThan(2_000);
  });

  it('agrees with JSON.parse on any object', () => {
    const key = fc.oneof(fc.constant('error'), fc.string());
    fc.assert(
      fc.property(fc.dictionary(key, fc.jsonValue()), fc.constantFrom(undefined, 2, '\t'), (object, indent) => {
        const raw = rawMember(JSON.stringify(object, null, indent), 'error');
        const expected = Object.hasOwn(object, 'error') ? JSON.stringify(object['error']) : null;
        expect(raw === null ? null : JSON.stringify(JSON.parse(raw))).toBe(expected);
      }),
      { numRuns: 300 },
    );
  });
});
