import { describe, expect, it } from 'vitest';
import { mentionsIn } from './mentions.js';

describe('mentionsIn', () => {
  it.each([
    ['@ada', ['ada']],
    ['@Ada, please', ['ada']],
    ['ask (@ada-lowe) or @bob_2.', ['ada-lowe', 'bob_2']],
    ['@ada @bob @ada', ['ada', 'bob']],
    ['@ada- and @bob_', ['ada', 'bob']],
    ['> quoted @ada', ['ada']],
    ['see @ada: now', ['ada']],
    ['`not @bob` but @ada', ['ada']],
    ['a stray ` and @ada', ['ada']],
    ['`` a ` @bob `` and @ada', ['ada']],
    ['```\n@bob\n```\n@ada', ['ada']],
    ['~~~ sh\n@bob\n```\n@bob\n~~~~\n@ada', ['ada']],
    ['> ```\n> @bob\n> ```\n@ada', ['ada']],
    ['a ` stray\n\n@ada ` other', ['ada']],
    ['``` inline ``` @ada', ['ada']],
    [`@${'a'.repeat(60)}`, ['a'.repeat(60)]],
  ])('finds in %j %j', (body, handles) => {
    expect(mentionsIn(body)).toEqual(handles);
  });

  it.each([
    ['an address', 'mail ada@example.org'],
    ['a path', 'https://example.org/@ada'],
    ['a doubled sign', '@@ada'],
    ['an escaped sign', '\\@ada'],
    ['a word that goes on', '@adaé and @ada_ß'],
    ['another address', '@ada@example.org'],
    ['a lone sign', '@ and @-ada'],
    ['a handle that is too long', `@${'a'.repeat(61)}`],
    ['inline code', 'run `@ada`'],
    ['inline code over two lines', 'run `a\n@ada`'],
    ['an indented fence', '   ```js\n@ada\n   ```'],
    ['a fence nobody closed', '```\n@ada\n\n@ada'],
    ['a fence closed by another kind only', '```\n@ada\n~~~\n@ada'],
    ['a fence closed by a shorter one only', '````\n@ada\n```\n@ada'],
    ['a fence with Windows line ends', '```\r\n@ada\r\n```\r\n'],
  ])('finds nobody in %s', (_name, body) => {
    expect(mentionsIn(body)).toEqual([]);
  });

  it.each([
    ['backticks of every length', Array.from({ length: 350 }, (_, n) => '`'.repeat(n + 1)).join(' ')],
    ['single backticks', '` '.repeat(32_768)],
    ['signs', '@'.repeat(65_536)],
    ['mentions', '@a '.repeat(21_845)],
    ['letters and dashes', `@${'a-'.repeat(32_767)}`],
    ['quote marks', '> '.repeat(32_768)],
  ])('is quick with 64 KiB of %s', (_name, body) => {
    const begun = performance.now();
    mentionsIn(body);
    expect(performance.now() - begun).toBeLessThan(500);
  });
});
