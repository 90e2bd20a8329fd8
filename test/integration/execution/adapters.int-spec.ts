import { chmodSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { AdapterProbe } from '../../../src/execution/adapter-probe.service.js';
import { AdapterRegistry } from '../../../src/execution/adapter-registry.service.js';
import type { AdapterView } from '../../../src/execution/adapter.view.js';
import { ExecutionOptions } from '../../../src/execution/execution-options.js';
import { ExecutionRoom, processesOf, SCRIPTED_AGENT, type Deeds } from './execution-room.js';

const room = new ExecutionRoom();
const bin = join(room.root, 'bin');
const environment = { PATH: `${bin}:relative:/usr/bin:/bin`, HOME: room.home, SECRET: 'secret', OFFICE_ADMIN_TOKEN: 'secret' };
const options = new ExecutionOptions(room.options.stateDir, environment, undefined, undefined, 3_000);
const registry = new AdapterRegistry(options);

function install(name: string, script: string, mode = 0o755): void {
  writeFileSync(join(bin, name), `#!/bin/sh\n${script}\n`);
  chmodSync(join(bin, name), mode);
}
/** A program of this name that speaks ACP in its own way. */
const installAgent = (name: string, deeds: Deeds): void =>
  install(name, `exec '${process.execPath}' '${SCRIPTED_AGENT}' '${JSON.stringify(deeds).replaceAll("'", `'\\''`)}'`);
const says = (more: object = {}): Deeds => ({ initialize: [['reply', { protocolVersion: 1, ...more }]] });
const refuses = (code: number, message: string): Deeds => ({ 'session/new': [['error', { code, message }]] });
const aProbe = (): AdapterProbe => new AdapterProbe(registry, room.supervision, options, room.clock);
const look = async (probe = aProbe()): Promise<Record<string, AdapterView>> =>
  Object.fromEntries((await probe.list(null)).map((view) => [view.id, view]));

beforeAll(() => {
  mkdirSync(bin);
  installAgent('claude-code-acp', says({ agentInfo: { name: 'a', title: 'Claude Code', version: '0.16.2' } }));
  installAgent('codex-acp', {
    ...says({ agentCapabilities: { loadSession: true, mcpCapabilities: { http: true } }, authMethods: [{ id: 'k', name: 'Key' }, 7] }),
    ...refuses(-32000, 'Authentication required'),
  });
  install('gemini', '[ "$1" = --version ] && echo 0.61.0 && exit 0; echo broken >&2; exit 3');
  install('opencode', 'echo not for you', 0o644);
  installAgent('auggie', { initialize: [['hang']] });
});
afterAll(() => room.close());

describe('the registry of adapters', () => {
  it('says what this host can start, by a look at PATH', () => {
    expect(registry.installed()).toEqual(['claude', 'codex', 'amp', 'auggie', 'gemini', 'mock', 'custom']);
  });

  it('prefers the first program that is installed, and takes another only by its absolute path or name', () => {
    const claude = registry.profile('claude')!;
    expect(registry.command(claude, {}, environment.PATH)).toMatchObject({ argv: [join(bin, 'claude-code-acp')] });
    install('claude-agent-acp', '');
    expect(registry.command(claude, {}, environment.PATH)).toMatchObject({ argv: [join(bin, 'claude-agent-acp')] });
    rmSync(join(bin, 'claude-agent-acp'));
    expect(registry.command(claude, { command: ['gemini', '-x', 'a b'] }, environment.PATH)).toMatchObject({
      argv: [join(bin, 'gemini'), '-x', 'a b'],
    });
    for (const name of ['bin/gemini', './gemini', '', 'no-such', join(bin, 'opencode'), bin]) {
      expect(registry.command(claude, { command: [name] }, environment.PATH)).toHaveProperty('problem');
    }
    expect(registry.command(claude, {}, undefined)).toMatchObject({
      problem: 'not found on PATH; npm install -g @agentclientprotocol/claude-agent-acp',
    });
  });
});

describe('what people are told of the agents of a host', () => {
  let views: Record<string, AdapterView>;
  beforeAll(async () => {
    views = await look();
  }, 60_000);

  it('is what each says of itself, and whether it is signed in', () => {
    expect(views['codex']).toEqual({
      id: 'codex',
      command: join(bin, 'codex-acp'),
      installed: true,
      tested_version: '2.6.0',
      acp: {
        protocol_version: 1,
        agent: null,
        load_session: true,
        mcp_http: true,
        sign_in_methods: [{ id: 'k', name: 'Key', description: null }],
      },
      signed_in: false,
      problem: expect.stringMatching(/^not signed in: run `codex login`/),
    });
    // It admits anybody: only its first turn can tell.
    expect(views['claude']).toEqual({
      id: 'claude',
      command: join(bin, 'claude-code-acp'),
      installed: true,
      version: '0.16.2',
      tested_version: '0.16.2',
      acp: { protocol_version: 1, agent: 'Claude Code', load_session: false, mcp_http: false, sign_in_methods: [] },
      signed_in: null,
    });
    expect(views['mock']).toMatchObject({ installed: true, signed_in: true, acp: { protocol_version: 1 } });
  });

  it('says what is wrong with one that does not answer, with its version all the same', () => {
    expect(views['gemini']).toMatchObject({
      installed: true,
      version: '0.61.0',
      acp: null,
      signed_in: null,
      problem: expect.stringContaining('broken'),
    });
    expect(views['auggie']).toMatchObject({ installed: true, acp: null, problem: expect.stringContaining('start_timeout') });
  });

  it('says what to do about one that is not there, and that amp has no ACP of its own', () => {
    expect(views['copilot']).toEqual({
      id: 'copilot',
      command: 'copilot --acp',
      installed: false,
      tested_version: '1.0.102',
      acp: null,
      signed_in: null,
      problem: 'not found on PATH; npm install -g @github/copilot',
    });
    expect(views['opencode']).toMatchObject({ installed: false });
    expect(views['amp']).toMatchObject({
      command: null,
      installed: false,
      problem: expect.stringMatching(/does not speak ACP by itself: install an ACP bridge .* "command"/),
    });
    expect(views['custom']).toMatchObject({ command: null, installed: false });
  });

  it('is asked for once by many at a time, is remembered when it is good, and soon asked for again when it is not', async () => {
    const counted = (name: string): number => readFileSync(join(bin, `${name}.count`), 'utf8').length;
    const counting = (name: string, deeds: Deeds): void => {
      writeFileSync(join(bin, `${name}.count`), '');
      installAgent(name, deeds);
      const script = readFileSync(join(bin, name), 'utf8').replace('#!/bin/sh\n', `#!/bin/sh\nprintf x >> '${join(bin, name)}.count'\n`);
      writeFileSync(join(bin, name), script);
    };
    rmSync(join(bin, 'auggie'));
    rmSync(join(bin, 'gemini'));
    counting('claude-agent-acp', says());
    counting('codex-acp', { ...says({ agentInfo: { version: '1' } }), ...refuses(-32000, 'Authentication required') });
    let now = 0;
    const clock = Object.assign(Object.create(room.clock) as typeof room.clock, { monotonicMs: () => now });
    const probe = new AdapterProbe(registry, room.supervision, options, clock);
    await Promise.all([look(probe), look(probe), look(probe)]);
    expect([counted('claude-agent-acp'), counted('codex-acp')]).toEqual([2, 1]);
    now = 10_000;
    expect((await look(probe))['codex']).toMatchObject({ signed_in: false });
    expect([counted('claude-agent-acp'), counted('codex-acp')]).toEqual([2, 2]);
    // Somebody has signed in.
    installAgent('codex-acp', says({ agentInfo: { version: '1' } }));
    now = 20_000;
    expect((await look(probe))['codex']).toMatchObject({ signed_in: true });
    now = 80_001;
    await look(probe);
    expect(counted('claude-agent-acp')).toBe(4);
    rmSync(join(bin, 'claude-agent-acp'));
  });

  it('believes an agent that tells by itself who is signed in', async () => {
    const tells = (kind: string): Deeds => ({
      initialize: [
        ['frame', { method: '_auth/status_update', params: { authStatus: { kind } } }],
        ['reply', { protocolVersion: 1, agentInfo: { version: '1' } }],
      ],
    });
    installAgent('claude-code-acp', tells('none'));
    expect((await look())['claude']).toMatchObject({ signed_in: false, problem: expect.stringContaining('claude /login') });
    installAgent('claude-code-acp', tells('api_key'));
    expect((await look())['claude']).toMatchObject({ signed_in: true });
  });

  it('leaves no process and no folder behind, and shows the programs nothing of the office', async () => {
    const seen = join(room.root, 'seen');
    install('claude-code-acp', `[ "$1" = --version ] && exit; env > '${seen}'; sleep 60 & exec sleep 60`);
    const probe = aProbe();
    const before = readdirSync(tmpdir()).filter((name) => name.startsWith('office-probe-'));
    expect((await look(probe))['claude']).toMatchObject({ acp: null });
    const env = readFileSync(seen, 'utf8');
    expect(env).not.toContain('secret');
    const [, id] = /^OFFICE_EXECUTION_ID=(.+)$/m.exec(env)!;
    expect(processesOf(id!)).toEqual([]);
    expect(readdirSync(tmpdir()).filter((name) => name.startsWith('office-probe-'))).toEqual(before);
  }, 60_000);

  it.runIf(process.getuid?.() === 0)('is asked of them as the user that agents run as, who may not be able to start them', async () => {
    const seen = join(tmpdir(), `office-seen-${process.pid}`);
    install('claude-code-acp', `id -u > '${seen}'; exec '${process.execPath}' '${SCRIPTED_AGENT}'`);
    for (const folder of [room.root, bin]) chmodSync(folder, 0o755);
    const asked = async () => (await aProbe().list({ uid: 61_000, gid: 61_000 })).find(({ id }) => id === 'claude')!;
    expect(await asked()).toMatchObject({ acp: { protocol_version: 1 } });
    expect(readFileSync(seen, 'utf8')).toBe('61000\n');
    chmodSync(join(bin, 'claude-code-acp'), 0o700);
    expect(await asked()).toMatchObject({ acp: null, problem: expect.stringContaining('process_exit') });
    rmSync(seen);
  });
});
