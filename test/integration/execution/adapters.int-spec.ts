import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { AdapterRegistry } from '../../../src/execution/adapter-registry.service.js';
import { AdaptersController } from '../../../src/scheduler/adapters.controller.js';
import { ExecutionOptions } from '../../../src/execution/execution-options.js';
import { ExecutionRoom } from './execution-room.js';

const room = new ExecutionRoom();
const bin = join(room.root, 'bin');
const environment = { PATH: `${bin}:relative:/usr/bin:/bin`, SECRET: 'secret', OFFICE_ADMIN_TOKEN: 'secret' };
const registry = new AdapterRegistry(new ExecutionOptions(room.options.stateDir, environment), room.clock);

function install(name: string, script: string, mode = 0o755): void {
  writeFileSync(join(bin, name), `#!/bin/sh\n${script}\n`);
  chmodSync(join(bin, name), mode);
}

beforeAll(() => {
  mkdirSync(bin);
  install('claude-code-acp', 'echo "0.16.2"; echo more');
  install('codex-acp', 'sleep 60 & exec sleep 60');
  install('gemini', 'exit 3');
  install('opencode', 'echo not for you', 0o644);
  install('copilot', 'echo "v=$OFFICE_ADMIN_TOKEN$SECRET"; sleep 60 & exit 0');
});
afterAll(() => room.close());

describe('the registry of adapters', () => {
  it('says what this host can start, by a look at PATH', () => {
    expect(registry.installed()).toEqual(['claude', 'codex', 'copilot', 'amp', 'gemini', 'mock', 'custom']);
  });

  it('asks each program for its version, with a deadline, and remembers the answers', { timeout: 15_000 }, async () => {
    const { items, next_cursor: next } = await new AdaptersController(registry).list();
    expect(next).toBeNull();
    expect(items.map(({ id }) => id)).toEqual(registry.ids);
    const views = Object.fromEntries(items.map((item) => [item.id, item]));
    expect(views['claude']).toEqual({ id: 'claude', command: join(bin, 'claude-code-acp'), installed: true, version: '0.16.2' });
    expect(views['codex']).toEqual({
      id: 'codex',
      command: join(bin, 'codex-acp'),
      installed: true,
      problem: 'did not answer --version within 5 s',
    });
    expect(views['copilot']).toEqual({ id: 'copilot', command: `${join(bin, 'copilot')} --acp`, installed: true, version: 'v=' });
    expect(views['gemini']).toMatchObject({ installed: true });
    expect(views['opencode']).toEqual({
      id: 'opencode',
      command: 'opencode acp',
      installed: false,
      problem: 'not found on PATH; npm install -g opencode-ai',
    });
    expect(views['amp']).toMatchObject({ command: null, installed: false, problem: expect.stringContaining('does not speak ACP') });
    expect(views['custom']).toMatchObject({ command: null, installed: false });
    expect(views['mock']).toMatchObject({ installed: true });
    const again = performance.now();
    expect(await registry.probe()).toBe(items);
    expect(performance.now() - again).toBeLessThan(100);
  });

  it('prefers the first command that is installed, and takes another only by its absolute path or name', () => {
    const claude = registry.profile('claude')!;
    expect(registry.command(claude, {}, environment.PATH)).toEqual({ argv: [join(bin, 'claude-code-acp')] });
    install('claude-agent-acp', '');
    expect(registry.command(claude, {}, environment.PATH)).toEqual({ argv: [join(bin, 'claude-agent-acp')] });
    expect(registry.command(claude, { command: ['gemini', '-x', 'a b'] }, environment.PATH)).toEqual({
      argv: [join(bin, 'gemini'), '-x', 'a b'],
    });
    for (const name of ['bin/gemini', './gemini', '', 'no-such', join(bin, 'opencode'), bin]) {
      expect(registry.command(claude, { command: [name] }, environment.PATH)).toHaveProperty('problem');
    }
    expect(registry.command(claude, {}, undefined)).toEqual({
      problem: 'not found on PATH; npm install -g @agentclientprotocol/claude-agent-acp',
    });
  });
});
