import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Masker } from './masking.js';
import { maskResult, maskText } from './mask-result.js';
import { SpokenText } from './spoken-text.js';

const TOKEN = 'tk/9+Zq?"x y=ü';
const masker = new Masker([
  { name: 'API_TOKEN', value: TOKEN },
  { name: 'SHORT', value: '1234567' },
  { name: 'OTHER', value: 'correct horse battery' },
  { name: 'LONGER', value: 'correct horse battery staple' },
]);

describe('a masker', () => {
  it.each([
    ['plain', TOKEN],
    ['in JSON', JSON.stringify({ a: TOKEN })],
    ['in JSON within JSON', JSON.stringify({ a: JSON.stringify([TOKEN]) })],
    ['in JSON that escapes its slashes', JSON.stringify(TOKEN).replaceAll('/', '\\/')],
    ['in base64', Buffer.from(TOKEN).toString('base64')],
    ['in base64 for addresses', Buffer.from(TOKEN).toString('base64url')],
    ['in base64 of something longer', Buffer.from(`a:${TOKEN}:b`).toString('base64')],
    ['in base64 of something longer, elsewhere', Buffer.from(`ab:${TOKEN}`).toString('base64')],
    ['in base64 of something longer, at its start', Buffer.from(`${TOKEN}:abc`).toString('base64')],
    ['URL-encoded', encodeURIComponent(TOKEN)],
    ['URL-encoded as a form', new URLSearchParams({ a: TOKEN }).toString()],
    ['URL-encoded in small letters', encodeURIComponent(TOKEN).replace(/%../g, (hex) => hex.toLowerCase())],
  ])('hides a secret %s', (_how, text) => {
    const masked = masker.mask(`before ${text} after`);
    expect(masked).toContain('[secret:API_TOKEN]');
    expect(masked).not.toContain('9+Zq');
    expect(masked).toMatch(/^before .*after$/s);
  });

  it('leaves values of fewer than eight characters, and everything else', () => {
    expect(masker.mask('1234567 and a correct horse')).toBe('1234567 and a correct horse');
  });

  it('means the longer of two secrets that begin alike', () => {
    expect(masker.mask('correct horse battery staple, correct horse battery')).toBe('[secret:LONGER], [secret:OTHER]');
  });

  it('takes values that mean something in a pattern', () => {
    expect(new Masker([{ name: 'N', value: 'a.b*c(d[e$^|' }]).mask('xa.b*c(d[e$^|x axbxc')).toBe('x[secret:N]x axbxc');
  });

  it('hides pieces of a secret where a text was cut, at its ends and around the marker', () => {
    const cut = `horse battery staple and\n[… cut, 99 bytes in all …]\nbattery staple, correct ho`;
    expect(masker.maskCut(cut)).toBe('[secret:LONGER] and\n[… cut, 99 bytes in all …]\n[secret:LONGER], [secret:LONGER]');
    expect(maskText(masker, 'the word is correct hor…')).toBe('the word is [secret:LONGER]…');
  });

  it('hides it in JSON, names included', () => {
    expect(masker.maskJson({ [TOKEN]: [TOKEN, 1, null], b: { c: TOKEN } })).toEqual({
      '[secret:API_TOKEN]': ['[secret:API_TOKEN]', 1, null],
      b: { c: '[secret:API_TOKEN]' },
    });
  });

  it('hides it in all that an execution came to, and leaves what the settlement decides by', () => {
    const evidence = {
      executionId: 'e',
      acpSessionId: 'acp',
      phase: 'prompt',
      outputSeen: true,
      effectSeen: false,
      exit: null,
      stderrTail: `x ${TOKEN}`,
      stdoutNoise: TOKEN,
      record: { error: TOKEN },
    } as const;
    // Its tail was cut in the middle of the secret.
    const tail = `${'horse battery staple'}${'.'.repeat(20_000)}`;
    const payload = JSON.stringify({ kind: 'process_exit', exit_code: 1, signal: null, stderr_tail: `${tail}${TOKEN}` });
    const masked = maskResult(masker, { kind: 'error', payload, evidence } as const);
    expect(JSON.stringify(masked)).not.toMatch(/9\+Zq|horse battery/);
    expect(JSON.parse(masked.payload)).toMatchObject({ kind: 'process_exit', exit_code: 1, signal: null });
    expect(masked).toMatchObject({
      kind: 'error',
      evidence: { executionId: 'e', acpSessionId: 'acp', record: { error: '[secret:API_TOKEN]' } },
    });
    expect(maskResult(masker, { kind: 'turn_ended', lastMessage: TOKEN }).lastMessage).toBe('[secret:API_TOKEN]');
  });
});

describe('what is said in pieces', () => {
  const said = (pieces: readonly string[]): { shown: string[]; body: string } => {
    const text = new SpokenText(masker);
    const shown = pieces.map((piece) => {
      text.hear(piece);
      return text.show().body;
    });
    text.end();
    return { shown, body: text.show().body };
  };

  it('never shows more than three characters of a secret, wherever it is cut', () => {
    for (let cut = 1; cut < TOKEN.length; cut++) {
      const { shown, body } = said([`say ${TOKEN.slice(0, cut)}`, `${TOKEN.slice(cut)} done`]);
      expect(body).toBe('say [secret:API_TOKEN] done');
      expect(shown[0]!.length).toBeLessThanOrEqual('say '.length + 3);
    }
  });

  it('shows what turned out to be none', () => {
    expect(said(['correct horse ', 'is a horse']).body).toBe('correct horse is a horse');
    expect(said(['correct horse batt']).body).toBe('correct horse batt');
  });

  it('is the same whatever the pieces, characters of two halves included', () => {
    const alphabet = fc.constantFrom('a', 'correct horse ', 'battery', ' staple', TOKEN, '😀', '\u0000', '\ud83d', 'مرحبا', '\u001b[31m');
    fc.assert(
      fc.property(fc.array(alphabet, { maxLength: 12 }), fc.array(fc.nat(200), { maxLength: 10 }), (words, cuts) => {
        const whole = words.join('');
        const places = [0, ...cuts.map((cut) => Math.min(cut, whole.length)).sort((a, b) => a - b), whole.length];
        const pieces = places.slice(1).map((place, index) => whole.slice(places[index], place));
        const { body } = said(pieces);
        expect(body).not.toContain(TOKEN);
        expect(body.isWellFormed()).toBe(true);
        expect(body).not.toContain('\u0000');
        // A secret that another one begins with is masked as soon as it is whole.
        expect(body.replaceAll('[secret:OTHER] staple', '[secret:LONGER]')).toBe(
          said([whole]).body.replaceAll('[secret:OTHER] staple', '[secret:LONGER]'),
        );
      }),
      { numRuns: 500 },
    );
  });
});
