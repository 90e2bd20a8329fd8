import { describe, expect, it } from 'vitest';
import { gitEnvironment } from './git-environment.js';

const OWN = {
  PATH: '/bin',
  HOME: '/root',
  SSH_AUTH_SOCK: '/run/agent',
  OFFICE_DATABASE_URL: 'postgres://secret',
  OFFICE_SECRETS_KEY: 'secret',
  GIT_DIR: '/elsewhere',
  GIT_EXTERNAL_DIFF: '/evil',
  GIT_CONFIG_COUNT: '9',
  SSH_ASKPASS: '/evil',
  LD_PRELOAD: '/evil.so',
  HTTPS_PROXY: 'http://proxy',
};

describe('the environment of git', () => {
  it('holds nothing of the office and nothing that steers git, and reads nobody else’s settings', () => {
    const env = gitEnvironment(OWN, { credentials: false, home: null });
    expect(env).toMatchObject({
      PATH: '/bin',
      GIT_CONFIG_NOSYSTEM: '1',
      GIT_CONFIG_GLOBAL: '/dev/null',
      GIT_TERMINAL_PROMPT: '0',
      GIT_ASKPASS: '',
    });
    for (const name of [
      'HOME',
      'SSH_AUTH_SOCK',
      'OFFICE_DATABASE_URL',
      'OFFICE_SECRETS_KEY',
      'GIT_DIR',
      'GIT_EXTERNAL_DIFF',
      'GIT_CONFIG_COUNT',
      'SSH_ASKPASS',
      'LD_PRELOAD',
    ]) {
      expect(env).not.toHaveProperty(name);
    }
  });

  it('has the keys of its user for a push, and no more', () => {
    const env = gitEnvironment(OWN, { credentials: true, home: null });
    expect(env).toMatchObject({
      HOME: '/root',
      SSH_AUTH_SOCK: '/run/agent',
      HTTPS_PROXY: 'http://proxy',
      GIT_SSH_COMMAND: 'ssh -o BatchMode=yes',
    });
    expect(env).not.toHaveProperty('GIT_CONFIG_GLOBAL');
    expect(env).not.toHaveProperty('OFFICE_SECRETS_KEY');
    expect(gitEnvironment(OWN, { credentials: true, home: '/homes/acme' }).HOME).toBe('/homes/acme');
  });
});
