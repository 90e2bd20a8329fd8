import { describe, expect, it } from 'vitest';
import { permissionAbout } from './permission-about.js';

const ask = (toolCall: object, incidental?: readonly string[]) => permissionAbout({ toolCall }, incidental);

describe('what a permission request is about', () => {
  it('is told in one line and by its input', () => {
    const about = ask({ title: 'touch\n  a.txt', kind: 'execute', rawInput: { command: 'touch a.txt', call_id: 'c1' } }, ['call_id']);
    expect(about).toMatchObject({ title: 'touch a.txt', kind: 'execute', input: '{"command":"touch a.txt"}' });
  });

  it.each([
    [
      'another id, and what the model says of it',
      { kind: 'execute', title: 'make it', rawInput: { description: 'x', command: 'a', n: 1 } },
    ],
    ['its members in another order', { rawInput: { n: 1, command: 'a' }, kind: 'execute', toolCallId: 'c9' }],
  ])('is the same with %s', (_what, toolCall) => {
    const first = ask({ kind: 'execute', rawInput: { command: 'a', n: 1, description: 'y' }, toolCallId: 'c1' }, ['description']);
    expect(ask(toolCall, ['description']).subject).toBe(first.subject);
  });

  it.each([
    ['another command', { kind: 'execute', rawInput: { command: 'b' } }],
    ['another kind', { kind: 'edit', rawInput: { command: 'a' } }],
    ['more in its input', { kind: 'execute', rawInput: { command: 'a', sudo: true } }],
    ['a list where there was a text', { kind: 'execute', rawInput: { command: ['a'] } }],
    ['nothing but the title', { kind: 'execute', title: 'a' }],
  ])('is another with %s', (_what, toolCall) => {
    expect(ask(toolCall).subject).not.toBe(ask({ kind: 'execute', rawInput: { command: 'a' } }).subject);
  });

  it('is its title where there is no input', () => {
    expect(ask({ title: 'rm x' }).subject).not.toBe(ask({ title: 'rm y' }).subject);
    expect(ask({ title: 'rm x', content: [1] }).subject).toBe(ask({ title: 'rm x' }).subject);
  });

  it.each([[{}], [{ toolCall: 7 }], [{ toolCall: { title: ' ', rawInput: [] } }]])('is something where nothing is told (%j)', (request) => {
    expect(permissionAbout(request)).toMatchObject({ title: 'something it does not name', kind: null, input: null });
  });

  it('is storable and bounded, whatever is said', () => {
    const about = ask({ title: `\u0000\ud800${'é'.repeat(500)}`, kind: 'k'.repeat(900), rawInput: { a: 'ü'.repeat(9_000) } });
    expect(about.title.startsWith('\ufffd\ufffd')).toBe(true);
    for (const [text, most] of [
      [about.title, 200],
      [about.kind!, 200],
      [about.input!, 4096],
    ] as const) {
      expect(Buffer.byteLength(text)).toBeLessThanOrEqual(most);
      expect(text.isWellFormed()).toBe(true);
    }
  });
});
