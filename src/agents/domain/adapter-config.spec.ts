import { describe, expect, it } from 'vitest';
import { ADAPTERS, reachesTheMachine, readAdapterConfig, redacted } from './adapter-config.js';
import type { Adapter, AdapterConfig } from './adapter-config.js';

const problemsOf = (value: unknown, adapter: Adapter = 'claude') => {
  const read = readAdapterConfig(value, adapter);
  return 'problems' in read ? read.problems.map(({ path }) => path) : [];
};
const names = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, n) => [`N${n}`, 'x']));
const nested = (depth: number): unknown[] => JSON.parse(`${'['.repeat(depth)}${']'.repeat(depth)}`) as unknown[];

describe('readAdapterConfig refuses', () => {
  it.each<[string, unknown, Adapter, string[]]>([
    ['what is no object', [], 'claude', ['']],
    ['null', null, 'claude', ['']],
    ['an unknown field', { modle: 'x' }, 'claude', ['modle']],
    ['an empty command', { command: [] }, 'custom', ['command']],
    ['a command of 101 parts', { command: Array.from({ length: 101 }, () => 'x') }, 'custom', ['command']],
    ['a command that is a text', { command: 'rm -rf /' }, 'custom', ['command']],
    ['a command with a number', { command: ['x', 1] }, 'custom', ['command.1']],
    ['a command that names no program', { command: ['', 'x'] }, 'custom', ['command.0']],
    ['a NUL in a command', { command: ['x', 'a\u0000b'] }, 'custom', ['command.1']],
    ['a custom agent without a command', {}, 'custom', ['command']],
    ['101 names', { env: names(101) }, 'claude', ['env']],
    ['a list as env', { env: [] }, 'claude', ['env']],
    ['a name with a dash', { env: { 'A-B': 'x' } }, 'claude', ['env.A-B']],
    ['an empty name', { env: { '': 'x' } }, 'claude', ['env.']],
    ['the name __proto__', JSON.parse('{"env":{"__proto__":"x"}}'), 'claude', ['env.__proto__']],
    ['a name of the office', { env: { OFFICE_API_KEY: 'x' } }, 'claude', ['env.OFFICE_API_KEY']],
    ['a name of the office in small letters', { env: { office_api_key: 'x' } }, 'claude', ['env.office_api_key']],
    ['a number as a value', { env: { A: 1 } }, 'claude', ['env.A']],
    ['a NUL in a value', { env: { A: '\u0000' } }, 'claude', ['env.A']],
    ['a lone surrogate in a value', { env: { A: '\ud800' } }, 'claude', ['env.A']],
    ['a value over 32 KiB', { env: { A: 'ä'.repeat(16_385) } }, 'claude', ['env.A']],
    ['a secret with more beside it', { env: { A: { secret: 'x', value: 'y' } } }, 'claude', ['env.A']],
    ['a secret without a name', { env: { A: { secret: '' } } }, 'claude', ['env.A']],
    ['an unknown policy', { permission_policy: 'always' }, 'claude', ['permission_policy']],
    ['an unknown home', { home: '/root' }, 'claude', ['home']],
    ['an empty model', { model: '' }, 'claude', ['model']],
    ['a mode that is an object', { mode: {} }, 'claude', ['mode']],
    ['a script for a real agent', { script: [] }, 'claude', ['script']],
    ['a script that is no list', { script: { say: 'x' } }, 'mock', ['script']],
    ['a script over 256 KiB', { script: ['x'.repeat(256 * 1024)] }, 'mock', ['script']],
    ['a script nested half a million deep', { script: nested(500_000) }, 'mock', ['script']],
  ])('%s', (_name, value, adapter, paths) => {
    expect(problemsOf(value, adapter)).toEqual(paths);
  });

  it('everything that is wrong at once', () => {
    expect(problemsOf({ env: { 'A-B': 'x', C: 1 }, home: 'x' })).toEqual(['env.A-B', 'env.C', 'home']);
  });
});

describe('readAdapterConfig takes', () => {
  it.each(ADAPTERS.filter((adapter) => adapter !== 'custom'))('nothing at all for %s, and asks about permissions', (adapter) => {
    expect(readAdapterConfig({}, adapter)).toEqual({ config: { permission_policy: 'ask' } });
  });

  it('everything there is', () => {
    const given = {
      command: ['node', 'agent.mjs', ''],
      env: { ...names(98), TOKEN: { secret: 'token' }, EMPTY: '' },
      model: 'big',
      mode: 'plan',
      permission_policy: 'deny',
      home: 'isolated',
      script: [{ say: 'hello' }, ...nested(60)],
    };
    expect(readAdapterConfig(given, 'mock')).toEqual({ config: given });
  });
});

describe('reachesTheMachine', () => {
  const plain: AdapterConfig = { permission_policy: 'ask' };
  const withCommand: AdapterConfig = { ...plain, command: ['a', 'b'] };
  const atHome: AdapterConfig = { ...plain, home: 'server' };

  it.each<[string, [Adapter, AdapterConfig] | null, [Adapter, AdapterConfig], boolean]>([
    ['a new agent with a command', null, ['claude', withCommand], true],
    ['a new agent in the home of the server', null, ['claude', atHome], true],
    ['another command', ['claude', withCommand], ['claude', { ...plain, command: ['a'] }], true],
    ['a first command', ['claude', plain], ['claude', withCommand], true],
    ['into the home of the server', ['claude', plain], ['claude', atHome], true],
    ['another adapter for the same command', ['claude', withCommand], ['custom', withCommand], true],
    ['another adapter in the same home', ['claude', atHome], ['codex', atHome], true],
    ['a new agent with neither', null, ['claude', { ...plain, home: 'isolated' }], false],
    ['the same command', ['claude', withCommand], ['claude', { ...withCommand, command: ['a', 'b'], model: 'x' }], false],
    ['the same home', ['claude', atHome], ['claude', { ...atHome, model: 'x' }], false],
    ['the command taken away', ['claude', withCommand], ['claude', plain], false],
    ['out of the home of the server', ['claude', atHome], ['claude', { ...plain, home: 'isolated' }], false],
  ])('%s: %#', (_name, before, [adapter, config], answer) => {
    expect(reachesTheMachine(before && { adapter: before[0], config: before[1] }, { adapter, config })).toBe(answer);
  });
});

describe('redacted', () => {
  it('shows which there are and nothing of what they say', () => {
    const config: AdapterConfig = {
      command: ['sh', '-c', 'hidden'],
      env: { PLAIN: 'hidden', TOKEN: { secret: 'hidden' } },
      model: 'big',
      permission_policy: 'allow',
      script: [{ say: 'hidden' }],
    };
    const shown = redacted(config);
    expect(shown).toEqual({
      model: 'big',
      permission_policy: 'allow',
      command: ['[redacted]'],
      env: { PLAIN: '[redacted]', TOKEN: '[redacted]' },
      script: '[redacted]',
    });
    expect(JSON.stringify(shown)).not.toContain('hidden');
  });
});
