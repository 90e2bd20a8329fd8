import { describe, expect, it } from 'vitest';
import { agentEnvironment, credentialsIn } from './agent-environment.js';

const own = {
  PATH: '/bin',
  HOME: '/root',
  LANG: 'C',
  https_proxy: 'http://p',
  SHELL: '/bin/sh',
  AWS_SECRET_ACCESS_KEY: 's',
  ANTHROPIC_API_KEY: 'k',
  OPENCODE_CONFIG: 'c',
  OFFICE_DATABASE_URL: 'postgres://',
  OFFICE_ADMIN_TOKEN: 't',
  OFFICE_EXECUTION_ID: 'outer',
};

describe('agentEnvironment', () => {
  it('passes what every agent may see and what the adapter names, and nothing else', () => {
    expect(agentEnvironment(own, { passes: ['ANTHROPIC_API_KEY', 'OPENCODE_*'] }, 'server', {}, {}, 'e1')).toEqual({
      PATH: '/bin',
      HOME: '/root',
      LANG: 'C',
      https_proxy: 'http://p',
      ANTHROPIC_API_KEY: 'k',
      OPENCODE_CONFIG: 'c',
      OFFICE_EXECUTION_ID: 'e1',
    });
  });

  it('passes nothing that leads into the home of the office to an agent with a home of its own', () => {
    const adapter = { passes: ['ANTHROPIC_API_KEY'], homes: ['CODEX_HOME', 'XDG_*'] };
    const homes = { HOME: '/root', TMPDIR: '/t', CODEX_HOME: '/root/.codex', XDG_DATA_HOME: '/root/x', ANTHROPIC_API_KEY: 'k' };
    expect(agentEnvironment(homes, adapter, 'isolated', {}, { HOME: '/own' }, 'e1')).toEqual({
      HOME: '/own',
      ANTHROPIC_API_KEY: 'k',
      OFFICE_EXECUTION_ID: 'e1',
    });
    expect(agentEnvironment(homes, adapter, 'server', {}, {}, 'e1')).toEqual({ ...homes, OFFICE_EXECUTION_ID: 'e1' });
  });

  it('never passes a setting of the office, not even to an adapter that names it', () => {
    const env = agentEnvironment(own, { passes: ['OFFICE_*', 'OFFICE_ADMIN_TOKEN', '*'] }, 'isolated', {}, {}, 'e1');
    expect(Object.keys(env).filter((name) => name.startsWith('OFFICE_'))).toEqual(['OFFICE_EXECUTION_ID']);
    expect(env['OFFICE_EXECUTION_ID']).toBe('e1');
  });

  it('lets the later part win: own, adapter, configuration, caller, marker', () => {
    const env = agentEnvironment(
      { HOME: '1', A: 'own' },
      { passes: ['A'], sets: { HOME: '2', B: '2' } },
      'server',
      { HOME: '3', B: '3', OFFICE_API_KEY: 'forged' },
      { HOME: '4', OFFICE_API_KEY: 'real', OFFICE_EXECUTION_ID: 'forged', GONE: undefined },
      'e1',
    );
    expect(env).toEqual({ A: 'own', HOME: '4', B: '3', OFFICE_API_KEY: 'real', OFFICE_EXECUTION_ID: 'e1' });
  });
});

describe('credentialsIn', () => {
  it.each([
    ['ANTHROPIC_API_KEY', 'k', true],
    ['GH_TOKEN', 't', true],
    ['DB_PASSWORD', 'p', true],
    ['GOOGLE_APPLICATION_CREDENTIALS', 'c', true],
    ['MONKEY_BUSINESS', 'b', false],
    ['TOKENIZERS_PARALLELISM', 'true', false],
    ['ANTHROPIC_BASE_URL', 'https://models.example/v1', false],
  ])('of %s is told by its name', (name, value, isOne) => {
    expect(credentialsIn([[name, value]])).toEqual(isOne ? [{ name, value }] : []);
  });

  it('finds the password in an address', () => {
    expect(credentialsIn([['HTTPS_PROXY', 'http://user:hunter2hunter2@proxy.example:3128']])).toEqual([
      { name: 'HTTPS_PROXY', value: 'hunter2hunter2' },
    ]);
  });
});
