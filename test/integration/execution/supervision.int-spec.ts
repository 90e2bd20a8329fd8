import { spawn, type ChildProcess } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import type { LaunchSpec } from '../../../src/execution/agent-runtime.js';
import { GatedProcess } from '../../../src/execution/process/gated-process.js';
import { killLeftovers } from '../../../src/execution/supervisor/kill-leftovers.js';
import { recordFolder } from '../../../src/execution/supervisor/tree-record.js';
import { childrenOf, ExecutionRoom, isAlive, isLeader, processesOf, waitFor, type Deeds } from './execution-room.js';

const HOST = join(import.meta.dirname, '..', '..', 'support', 'agents', 'execution-host.mjs');
const room = new ExecutionRoom();
const hosts: Host[] = [];

interface HostSays {
  readonly ready?: true;
  readonly supervisor?: number;
  readonly executionId?: string;
  readonly outcome?: { kind: string; payload?: string };
}

/** A real server process with agents, that may be killed. */
class Host {
  readonly said: HostSays[] = [];
  private readonly child: ChildProcess;

  constructor(readonly specs: readonly LaunchSpec[]) {
    const argument = JSON.stringify({ stateDir: room.options.stateDir, specs });
    this.child = spawn(process.execPath, [HOST, argument], { stdio: ['pipe', 'pipe', 'inherit'] });
    // Beside what it says to us, its log stands there.
    createInterface({ input: this.child.stdout! }).on('line', (line) => {
      if (line.startsWith('{')) this.said.push(JSON.parse(line) as HostSays);
    });
    hosts.push(this);
  }

  get supervisor(): number {
    return this.said.findLast(({ supervisor }) => supervisor !== undefined)!.supervisor!;
  }

  async ready(): Promise<this> {
    await waitFor('the host', () => this.said.some(({ ready }) => ready));
    return this;
  }

  tell(message: object): void {
    this.child.stdin!.write(`${JSON.stringify(message)}\n`);
  }

  kill(signal: NodeJS.Signals = 'SIGKILL'): void {
    this.child.kill(signal);
  }

  agents(): number[] {
    return this.specs.flatMap(({ executionId }) => processesOf(executionId));
  }
}

const WORKS = [['say', 'working'], ['hang']] as const;
const agentOf = (deeds: Deeds = {}): LaunchSpec => room.spec({ deeds: { 'session/prompt': WORKS, end: [['hang']], ...deeds } });
const deaf = (): LaunchSpec => agentOf({ start: [['ignore', 'SIGTERM']] });
const withEscapee = (): LaunchSpec => agentOf({ 'session/prompt': [['child', { setsid: true, deaf: true }], ...WORKS] });
const records = (): string[] => {
  try {
    return readdirSync(recordFolder(room.options.stateDir));
  } catch {
    return [];
  }
};

afterEach(async () => {
  for (const host of hosts.splice(0)) {
    host.kill('SIGCONT');
    host.kill();
    await waitFor('the agents of the test to be gone', () => host.agents().length === 0);
  }
  await waitFor('the records of the test to be gone', () => records().length === 0);
});
afterAll(() => room.close());

describe('when the server is killed', () => {
  it('no agent is left 5 s later, neither one that ignores SIGTERM nor one that left its group, nor the supervisor', async () => {
    const host = await new Host([agentOf(), deaf(), withEscapee()]).ready();
    expect(host.agents().length).toBeGreaterThanOrEqual(4);
    const { supervisor } = host;
    const start = performance.now();
    host.kill();
    await waitFor('no agent', () => host.agents().length === 0, 5_000);
    await waitFor('no supervisor', () => !isAlive(supervisor), 5_000 - (performance.now() - start));
  });

  it('while frozen, the same', async () => {
    const host = await new Host([agentOf(), deaf()]).ready();
    host.kill('SIGSTOP');
    host.kill();
    await waitFor('no agent', () => host.agents().length === 0, 5_000);
  });

  it('after its supervisor was killed and replaced, the same', async () => {
    const host = await new Host([agentOf(), withEscapee()]).ready();
    const first = host.supervisor;
    process.kill(first, 'SIGKILL');
    await waitFor('another supervisor', async () => {
      host.tell({ supervisor: true });
      await room.clock.sleep(50);
      return host.supervisor !== undefined && host.supervisor !== first;
    });
    expect(host.agents().length).toBeGreaterThanOrEqual(3);
    await waitFor('the record of the new one', () => records().length === 1);
    host.kill();
    await waitFor('no agent', () => host.agents().length === 0, 5_000);
  });

  it('together with its supervisor, the next start ends what both left', async () => {
    const parent = agentOf({ 'session/prompt': [['child', { deaf: true }], ...WORKS] });
    const host = await new Host([agentOf(), deaf(), withEscapee(), parent]).ready();
    host.kill('SIGSTOP');
    process.kill(host.supervisor, 'SIGKILL');
    host.kill();
    await waitFor('the supervisor to be gone', () => !isAlive(host.supervisor));
    expect(host.agents().length).toBeGreaterThanOrEqual(6);
    // Of this one only a child in its group is left.
    const leader = processesOf(parent.executionId).find((pid) => childrenOf(pid).length > 0 && isLeader(pid))!;
    process.kill(leader, 'SIGKILL');
    await waitFor('its leader to be gone', () => !isAlive(leader));
    expect(processesOf(parent.executionId)).not.toEqual([]);
    const ended = await killLeftovers(room.options.stateDir, room.clock);
    expect([...ended].sort()).toEqual(host.specs.map(({ executionId }) => executionId).sort());
    expect(host.agents()).toEqual([]);
    expect(records()).toEqual([]);
    expect(await killLeftovers(room.options.stateDir, room.clock)).toEqual([]);
  });
});

describe('the lease', () => {
  it('ends the agents of a frozen server by itself, and lets nothing start until it is renewed', async () => {
    const host = await new Host([agentOf(), deaf(), withEscapee()]).ready();
    host.tell({ lease: { expiresInMs: 700, enforce: true } });
    // The order to launch waits in the pipe of the frozen server and is read after the lease is over.
    await room.clock.sleep(100);
    host.kill('SIGSTOP');
    const late = agentOf();
    host.tell({ launch: late });
    await waitFor('no agent', () => host.agents().length === 0, 5_700);
    expect(isAlive(host.supervisor)).toBe(true);
    host.kill('SIGCONT');
    const said = (executionId: string) => host.said.find((message) => message.executionId === executionId)?.outcome;
    expect(await waitFor('the late launch', () => said(late.executionId))).toMatchObject({
      kind: 'error',
      payload: expect.stringContaining('lease of this host is over'),
    });
    for (const { executionId } of host.specs) {
      expect(await waitFor('an outcome', () => said(executionId))).toMatchObject({
        kind: 'error',
        payload: expect.stringContaining('process_exit'),
      });
    }
    const renewed = agentOf({
      'session/prompt': [
        ['say', 'x'],
        ['reply', { stopReason: 'end_turn' }],
      ],
    });
    host.tell({ lease: { expiresInMs: 60_000, enforce: true }, launch: renewed });
    expect(await waitFor('the launch under the new lease', () => said(renewed.executionId))).toMatchObject({ kind: 'turn_ended' });
  });

  it('that is renewed, or enforced by nobody, ends nothing', async () => {
    const [renewing, alone] = await Promise.all([new Host([agentOf()]).ready(), new Host([agentOf()]).ready()]);
    alone.tell({ lease: { expiresInMs: 100, enforce: false } });
    for (let renewal = 0; renewal < 8; renewal++) {
      renewing.tell({ lease: { expiresInMs: 1_000, enforce: true } });
      await room.clock.sleep(200);
    }
    expect(renewing.agents()).toHaveLength(1);
    expect(alone.agents()).toHaveLength(1);
  });
});

describe('a supervisor that cannot write its record', () => {
  it('lets nothing start, goes on watching, and recovers', { timeout: 60_000 }, async () => {
    const host = await new Host([agentOf()]).ready();
    const { supervisor } = host;
    rmSync(recordFolder(room.options.stateDir), { recursive: true });
    const late = agentOf();
    host.tell({ launch: late });
    const outcome = await waitFor(
      'the launch to fail',
      () => host.said.find(({ executionId }) => executionId === late.executionId)?.outcome,
    );
    expect(outcome).toMatchObject({ kind: 'error', payload: expect.stringContaining('cannot keep a record') });
    expect(isAlive(supervisor)).toBe(true);
    mkdirSync(recordFolder(room.options.stateDir));
    const next = agentOf({
      'session/prompt': [
        ['say', 'x'],
        ['reply', { stopReason: 'end_turn' }],
      ],
    });
    host.tell({ launch: next });
    await waitFor('a launch', () => host.said.some(({ executionId }) => executionId === next.executionId));
    host.kill();
    await waitFor('no agent', () => host.agents().length === 0, 5_000);
    await waitFor('nor one of the others', () => [late, next].flatMap(({ executionId }) => processesOf(executionId)).length === 0);
  });
});

describe('a record', () => {
  it('whose pid belongs to somebody else by now, or that is from another boot, or no record at all, harms nobody', async () => {
    const bystander = spawn('sleep', ['60'], { detached: true, stdio: 'ignore' });
    const folder = recordFolder(room.options.stateDir);
    mkdirSync(folder, { recursive: true });
    const tree = { executionId: 'e-of-old', group: bystander.pid, startTicks: 1 };
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
    const running = {
      ...tree,
      startTicks: Number(
        readFileSync(`/proc/${bystander.pid}/stat`, 'latin1')
          .replace(/^.*\) /s, '')
          .split(' ')[19],
      ),
    };
    writeFileSync(join(folder, 'reused.json'), JSON.stringify({ machineBoot: boot, trees: [tree, { ...tree, startTicks: null }] }));
    writeFileSync(join(folder, 'boot.json'), JSON.stringify({ machineBoot: 'another', trees: [running] }));
    writeFileSync(
      join(folder, 'odd.json'),
      JSON.stringify({ machineBoot: boot, trees: [{ executionId: 'x', group: 1, startTicks: 1 }, { group: -1 }, null, 7] }),
    );
    writeFileSync(join(folder, 'broken.json.new'), '{"machineBo');
    await killLeftovers(room.options.stateDir, room.clock);
    expect(isAlive(bystander.pid!)).toBe(true);
    expect(records()).toEqual([]);
    writeFileSync(join(folder, 'right.json'), JSON.stringify({ machineBoot: boot, trees: [running] }));
    expect(await killLeftovers(room.options.stateDir, room.clock)).toEqual(['e-of-old']);
    await waitFor('its end', () => !isAlive(bystander.pid!));
  });
});

describe('the gate', () => {
  it('starts nothing without the word, and ends when nobody can say it any more', async () => {
    const file = join(room.root, 'started');
    const program = { argv: ['/bin/sh', '-c', `touch ${file}; sleep 60`], cwd: '/', env: { PATH: process.env['PATH']! }, identity: null };
    const shut = await GatedProcess.start(program);
    shut.release();
    expect(await shut.exited).toEqual({ code: 125, signal: null });
    expect(readdirSync(room.root)).not.toContain('started');
    const open = await GatedProcess.start(program);
    open.go();
    await waitFor('the program', () => readdirSync(room.root).includes('started'));
    expect(readFileSync(`/proc/${open.pid}/cmdline`, 'utf8')).toContain('touch');
    process.kill(-open.pid, 'SIGKILL');
    expect(await open.exited).toEqual({ code: null, signal: 'SIGKILL' });
    open.release();
  });
});
