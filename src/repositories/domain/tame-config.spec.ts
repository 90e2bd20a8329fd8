import { describe, expect, it } from 'vitest';
import { asEnvironment, readConfig, tame } from './tame-config.js';

const local = (key: string, value: string | null = 'evil') => ({ scope: 'local', key, value });
const of = (...entries: ReturnType<typeof local>[]): Map<string, string[]> => {
  const said = new Map<string, string[]>();
  for (const [key, value] of tame(entries, false)) said.set(key, [...(said.get(key) ?? []), value]);
  return said;
};

describe('a configuration', () => {
  it('is read with scopes, values of several lines and keys without a value', () => {
    expect(readConfig('local\0core.bare\nfalse\0worktree\0a.b\nx\ny\0global\0c.d\0')).toEqual([
      { scope: 'local', key: 'core.bare', value: 'false' },
      { scope: 'worktree', key: 'a.b', value: 'x\ny' },
      { scope: 'global', key: 'c.d', value: null },
    ]);
    expect(readConfig('')).toEqual([]);
  });

  it('has no hooks, monitors and background work, whatever it says', () => {
    const said = of();
    expect(said.get('core.hooksPath')).toEqual(['/dev/null']);
    expect(said.get('core.fsmonitor')).toEqual(['false']);
    expect(said.get('gc.auto')).toEqual(['0']);
    expect(said.get('maintenance.auto')).toEqual(['false']);
  });

  it.each(['evil', 'a.b=c', 'with\nline', 'ünï', 'clean'])('loses a filter of any name: %j', (name) => {
    for (const part of ['clean', 'smudge', 'process', 'required']) {
      const said = of(local(`filter.${name}.${part}`));
      for (const one of ['clean', 'smudge', 'process']) expect(said.get(`filter.${name}.${one}`)).toEqual(['']);
      expect(said.get(`filter.${name}.required`)).toEqual(['false']);
    }
  });

  it('loses programs for the other side', () => {
    const said = of(local('remote.a.b.uploadpack'), local('remote.origin.receivepack'), local('core.alternaterefscommand'));
    expect(said.get('remote.a.b.uploadpack')).toEqual(['git-upload-pack']);
    expect(said.get('remote.origin.receivepack')).toEqual(['git-receive-pack']);
    expect(said.get('core.alternaterefscommand')).toEqual([':']);
  });

  it("loses a repository's credential helpers and keeps a person's", () => {
    const entries = [
      { scope: 'system', key: 'credential.helper', value: 'store' },
      { scope: 'global', key: 'credential.helper', value: '!mine' },
      local('credential.helper', '!evil'),
      local('credential.https://x.y.helper', '!evil'),
    ];
    const said = tame(entries, true).filter(([key]) => key.startsWith('credential'));
    expect(said).toEqual([
      ['credential.helper', ''],
      ['credential.helper', 'store'],
      ['credential.helper', '!mine'],
      ['credential.https://x.y.helper', ''],
    ]);
    expect(tame(entries, false).filter(([, value]) => value.startsWith('!'))).toEqual([]);
  });

  it('is said through the environment, which takes any key', () => {
    expect(asEnvironment([['a.b=c.d', 'x']])).toEqual({ GIT_CONFIG_COUNT: '1', GIT_CONFIG_KEY_0: 'a.b=c.d', GIT_CONFIG_VALUE_0: 'x' });
  });
});
