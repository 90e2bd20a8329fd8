import { describe, expect, it } from 'vitest';
import { statusesIn } from './http-status.js';
import { plainText, readable } from './plain-text.js';

const statuses = (text: string): number[] => [...statusesIn(plainText(text))];

describe('statusesIn', () => {
  it.each([
    ['HTTP 503', [503]],
    ['HTTP/1.1 502 Bad Gateway', [502]],
    ['got status: 429 Too Many Requests', [429]],
    ['API Error: 529 {"type":"error"}', [529]],
    ['API Error: Request rejected (429)', [429]],
    ['Error code: 401 - {', [401]],
    ['{"status_code":429,"code":500}', [429, 500]],
    ['{"error":{"code":"404"}}', [404]],
    ['402 {"error":{}}', [402]],
    ['503', [503]],
    ['httpStatusCode: 503', [503]],
    ['Upstream request failed: [404] No', [404]],
  ])('reads %j', (text, expected) => {
    expect(statuses(text)).toEqual(expected);
  });

  it.each([
    'agent consumed 402913 tokens before crashing',
    'request latency was 15290ms',
    'line 429 of the file',
    'HTTP 5031',
    'status 4.29',
    'code -32603',
    'code 529%',
    'error 429ms',
    'http://127.0.0.1:503/v1',
    'issue #503',
    '503 tests passed',
    'v503',
  ])('reads none in %j', (text) => {
    expect(statuses(text)).toEqual([]);
  });
});

describe('plainText', () => {
  it.each([
    ['{"type": "error"}', '{type:error}'],
    [JSON.stringify(JSON.stringify({ type: 'error' })), '{type:error}'],
    ["{'type': 'error'}", '{type:error}'],
    ['You’ve hit\n   your "limit"', "you've hit your limit"],
    ['a \\u00b7 b', 'a · b'],
    ['tail\\', 'tail'],
    ['key : value', 'key:value'],
  ])('makes %j into %j', (text, plain) => {
    expect(readable(plainText(text))).toBe(plain);
  });
});
