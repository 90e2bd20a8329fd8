import { Logger } from '@nestjs/common';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { FakeClock } from '../../test/support/fake-clock.js';
import { OfficeSettings } from '../platform/config/office-settings.js';
import { Metrics } from '../platform/metrics/metrics.js';
import { DecisionWaiting } from './decision-waiting.pass.js';
import type { DecisionAtStep, SeatAtStep } from './domain/decision-wait.js';
import { QuietRuns } from './quiet-runs.pass.js';
import type { SignalReclaimer } from './signal-reclaimer.service.js';
import { StallMetrics } from './stall-metrics.js';
import type { QuietTurn, SignalledSession, TaskAtGate } from './stall-readers.js';
import type { StallTeller, ToldStall } from './stall-teller.service.js';
import { StallWatchdog } from './stall-watchdog.service.js';
import { StrandedSignals } from './stranded-signals.pass.js';

const SEAT: SeatAtStep = { id: 's', name: 'Ada', role: 'approver', agentId: 'ada', userId: null, decisionRequired: true };
const NO_EVIDENCE = { lastContentAt: null, processAlive: null, currentTool: null };

const aTask = (id = 't1', about: Partial<TaskAtGate> = {}): TaskAtGate => ({
  place: `1 ${id}`,
  workspaceId: 'w',
  taskId: id,
  stepId: 'approval',
  waitedMs: 3_600_001,
  updatedAt: new Date('2026-01-01T00:00:00Z'),
  ...about,
});
const aSession = (about: Partial<SignalledSession> = {}): SignalledSession => ({
  place: '1 s1',
  workspaceId: 'w',
  taskId: 't1',
  agentId: 'ada',
  sessionId: 's1',
  stepId: 'work',
  signaledAt: '17',
  state: 'IDLE',
  isOffice: true,
  isPassthrough: false,
  signal: { isCurrent: true, ageMs: 600_001 },
  quietMs: 600_001,
  turn: null,
  evidence: NO_EVIDENCE,
  ...about,
});
const aTurn = (about: Partial<QuietTurn> = {}): QuietTurn => ({
  place: '1 r1',
  workspaceId: 'w',
  taskId: 't1',
  agentId: 'ada',
  sessionId: 's1',
  runId: 'r1',
  generation: 1,
  awaitsPermission: false,
  quietMs: 300_001,
  evidence: NO_EVIDENCE,
  ...about,
});

/** What the passes see; a test changes it between ticks. A reader that is undefined is not wired. */
interface World {
  tasks: TaskAtGate[];
  seats: SeatAtStep[];
  decisions: DecisionAtStep[];
  busy: string[];
  sessions: SignalledSession[];
  turns: QuietTurn[];
  /** The teller looks again under the lock. */
  stillSo: boolean;
}

const NEVER = () => new Promise<never>(() => undefined);
const FAILING = () => Promise.reject(new Error('connection secret-prompt-text'));
const READERS = ['gates', 'participants', 'decisions', 'runs', 'sessions', 'turns'] as const;
type Reader = (typeof READERS)[number];

class Lab {
  readonly clock = new FakeClock();
  readonly metrics = new Metrics();
  readonly world: World = { tasks: [], seats: [SEAT], decisions: [], busy: [], sessions: [], turns: [], stillSo: true };
  readonly told: string[] = [];
  readonly reclaimed: string[] = [];
  readonly calls: Reader[] = [];
  /** How a reader behaves instead of answering. */
  readonly instead = new Map<Reader, () => Promise<never>>();
  watchdog: StallWatchdog;

  constructor(unwired: readonly Reader[] = []) {
    this.watchdog = this.wire(unwired);
  }

  wire(unwired: readonly Reader[]): StallWatchdog {
    const { world } = this;
    const reader = <T>(name: Reader, read: () => T): never => {
      const answer = async () => {
        this.calls.push(name);
        return (this.instead.get(name) ?? (async () => read()))();
      };
      return (unwired.includes(name) ? undefined : { list: answer, of: answer }) as never;
    };
    const tell = async (stall: ToldStall) => {
      if (world.stillSo) this.told.push(`opened ${stall.kind}`);
      return world.stillSo;
    };
    const teller = {
      strandedSignal: (_: unknown, stall: ToldStall) => tell(stall),
      decisionWaiting: (_: unknown, stall: ToldStall) => tell(stall),
      quietRun: (_: unknown, stall: ToldStall) => tell(stall),
      ended: async (stall: ToldStall) => void this.told.push(`ended ${stall.kind}`),
    } as unknown as StallTeller;
    const reclaimer = { reclaim: async (found: SignalledSession, gate: string) => void this.reclaimed.push(`${found.sessionId} ${gate}`) };
    const settings = new OfficeSettings();
    const metrics = this.stallMetrics;
    return new StallWatchdog(
      new StrandedSignals(
        reader('sessions', () => world.sessions),
        teller,
        reclaimer as unknown as SignalReclaimer,
        metrics,
        settings,
      ),
      new DecisionWaiting(
        reader('gates', () => world.tasks),
        reader('participants', () => new Map(world.tasks.map(({ taskId }) => [taskId, world.seats]))),
        reader('decisions', () => new Map(world.tasks.map(({ taskId }) => [taskId, world.decisions]))),
        reader('runs', () => new Set(world.busy)),
        teller,
        metrics,
        settings,
      ),
      new QuietRuns(
        reader('turns', () => world.turns),
        teller,
        metrics,
        settings,
      ),
      this.clock,
    );
  }

  private readonly stallMetrics = new StallMetrics(this.metrics);

  /** A tick in which a reader that never answers runs into the budget. */
  async tick(leads?: () => boolean): Promise<void> {
    const ticking = this.watchdog.tick(leads);
    let over = false;
    void ticking.finally(() => (over = true));
    for (let turn = 0; turn < 50 && !over; turn++) await Promise.resolve();
    while (!over) {
      this.clock.advance(20_000);
      for (let turn = 0; turn < 50 && !over; turn++) await Promise.resolve();
    }
    await ticking;
  }

  async counted(name: string): Promise<Record<string, number>> {
    const lines = (await this.metrics.expose()).split('\n').filter((line) => line.startsWith(`${name}{`) || line.startsWith(`${name} `));
    return Object.fromEntries(lines.map((line) => [/"(.*)"/.exec(line)?.[1] ?? '', Number(line.split(' ').at(-1))]));
  }

  skips(): Promise<Record<string, number>> {
    return this.counted('office_stall_detector_skipped_total');
  }
}

let warned: [object, string][];
beforeEach(() => {
  warned = [];
  vi.spyOn(Logger.prototype, 'debug').mockImplementation(() => undefined);
  vi.spyOn(Logger.prototype, 'warn').mockImplementation((...said: unknown[]) => void warned.push(said as [object, string]));
});
afterEach(() => void vi.restoreAllMocks());

describe('a stall', () => {
  it('is told, logged and counted once in 10,000 ticks, and once more after a restart', async () => {
    const lab = new Lab();
    lab.world.tasks = [aTask()];
    lab.world.sessions = [aSession()];
    lab.world.turns = [aTurn()];
    for (let tick = 0; tick < 10_000; tick++) await lab.watchdog.tick();
    expect(lab.told.toSorted()).toEqual(['opened decision_waiting', 'opened quiet_run', 'opened stranded_signal']);
    expect(warned).toHaveLength(2);
    expect(warned.toSorted(([, a], [, b]) => (String(a) < String(b) ? -1 : 1))).toEqual([
      [
        { task_id: 't1', session_id: 's1', step_id: 'work', signal_age: 600_001, gate: 'waiting_reconcile' },
        'office stall watchdog: Office task holds a stranded completion signal',
      ],
      [
        { task_id: 't1', step_id: 'approval', task_updated_at: '2026-01-01T00:00:00.000Z', quiet_for: 3_600_001, threshold: 3_600_000 },
        'office stall watchdog: Office task is waiting on a decision that has not been recorded',
      ],
    ]);
    expect(await lab.counted('office_stall_stranded_signal_total')).toEqual({ waiting_reconcile: 1 });
    expect(await lab.counted('office_stall_decision_waiting_total')).toEqual({ '': 1 });
    expect(await lab.skips()).toEqual({});

    lab.watchdog = lab.wire([]);
    await lab.tick();
    expect(lab.told.length).toBe(6);
  });

  it('that is over is told so, and told again when it comes back', async () => {
    const lab = new Lab();
    lab.world.turns = [aTurn()];
    await lab.tick();
    lab.world.turns = [];
    await lab.tick();
    lab.world.turns = [aTurn()];
    await lab.tick();
    lab.world.turns = [aTurn({ generation: 2 })];
    await lab.tick();
    expect(lab.told).toEqual(['opened', 'ended', 'opened', 'opened', 'ended'].map((change) => `${change} quiet_run`));
  });

  it('is another one with another signal, at another step', async () => {
    const lab = new Lab();
    for (const about of [{}, { signaledAt: '18' }, { signaledAt: '18', stepId: 'other' }]) {
      lab.world.sessions = [aSession(about)];
      await lab.tick();
    }
    expect(lab.told.filter((one) => one.startsWith('opened'))).toHaveLength(3);
  });

  it('that is none any more under the lock is neither told nor remembered', async () => {
    const lab = new Lab();
    lab.world.tasks = [aTask()];
    lab.world.stillSo = false;
    await lab.tick();
    expect([lab.told, warned, await lab.counted('office_stall_decision_waiting_total')]).toEqual([[], [], { '': 0 }]);
    lab.world.stillSo = true;
    await lab.tick();
    expect(lab.told).toEqual(['opened decision_waiting']);
  });

  it('is nothing to a server that does not lead, and stops one that leads no more', async () => {
    const lab = new Lab();
    lab.world.tasks = [aTask('t1'), aTask('t2')];
    await lab.tick(() => false);
    expect(lab.calls).toEqual([]);
    await lab.tick(() => lab.told.length === 0);
    expect(lab.told).toEqual(['opened decision_waiting']);
    lab.watchdog.rest();
    await lab.tick();
    expect(lab.told).toHaveLength(3);
  });
});

describe('a signal', () => {
  it('of an Office task is shown, of another given to whoever reclaims it, whichever gate saw it', async () => {
    const lab = new Lab();
    lab.world.sessions = [
      aSession({ sessionId: 'office-turn', state: 'RUNNING' }),
      aSession({ sessionId: 'office-rest', state: 'FAILED' }),
      aSession({ sessionId: 'other-turn', state: 'STARTING', isOffice: false }),
      aSession({ sessionId: 'other-rest', state: 'WAITING_FOR_INPUT', isOffice: false }),
      aSession({ sessionId: 'passthrough', isPassthrough: true }),
      aSession({ sessionId: 'past', signal: { isCurrent: false, ageMs: 900_000 } }),
    ];
    await lab.tick();
    expect(lab.told).toEqual(['opened stranded_signal', 'opened stranded_signal']);
    expect(lab.reclaimed).toEqual(['other-turn candidate', 'other-rest waiting_reconcile']);
    expect(await lab.counted('office_stall_stranded_signal_total')).toEqual({ candidate: 1, waiting_reconcile: 1 });
  });

  it('of a turn nobody knows anything of is skipped and counted, and not taken for over', async () => {
    const lab = new Lab();
    lab.world.sessions = [aSession({ state: 'RUNNING' })];
    await lab.tick();
    lab.world.sessions = [aSession({ state: 'RUNNING', quietMs: null })];
    await lab.tick();
    lab.world.sessions = [aSession({ state: 'RUNNING' })];
    await lab.tick();
    expect(lab.told).toEqual(['opened stranded_signal']);
    expect(await lab.skips()).toEqual({ evidence_unknown: 1 });
  });

  it('that cannot be judged does not keep the others from it', async () => {
    const lab = new Lab();
    vi.spyOn(Logger.prototype, 'error').mockImplementation(() => undefined);
    lab.world.sessions = [aSession({ sessionId: 'bad', signal: null as never, isOffice: true }), aSession({ sessionId: 'good' })];
    Object.defineProperty(lab.world.sessions[0], 'state', {
      get: () => {
        throw new Error('odd');
      },
    });
    await lab.tick();
    expect(lab.told).toEqual(['opened stranded_signal']);
  });
});

describe('a decision', () => {
  it('is looked for in the order of cost, the runs last, and no further than needed', async () => {
    const lab = new Lab();
    const asked = async (): Promise<Reader[]> => {
      lab.calls.length = 0;
      await lab.tick();
      return lab.calls.filter((name) => name !== 'sessions' && name !== 'turns');
    };
    expect(await asked()).toEqual(['gates']);
    lab.world.tasks = [aTask()];
    lab.world.seats = [{ ...SEAT, role: 'watcher' }];
    expect(await asked()).toEqual(['gates', 'participants']);
    lab.world.seats = [SEAT];
    lab.world.decisions = [{ agentId: 'ada', userId: null, isSuperseded: false }];
    expect(await asked()).toEqual(['gates', 'participants', 'decisions']);
    lab.world.decisions = [{ agentId: 'ada', userId: null, isSuperseded: true }];
    lab.world.busy = ['t1'];
    expect(await asked()).toEqual(['gates', 'participants', 'decisions', 'runs']);
    expect(lab.told).toEqual([]);
    lab.world.busy = [];
    await asked();
    expect(lab.told).toEqual(['opened decision_waiting']);
  });

  const REASONS: readonly [Reader, unwired: string, failed: string][] = [
    ['gates', 'candidate_lister_unwired', 'candidate_list_failed'],
    ['participants', 'participant_store_unwired', 'participant_read_failed'],
    ['decisions', 'decision_store_unwired', 'decision_read_failed'],
    ['runs', 'run_reader_unwired', 'run_reader_error'],
  ];

  it.each(REASONS)('without %s is skipped, never guessed: %s', async (reader, unwired) => {
    const lab = new Lab([reader]);
    lab.world.tasks = [aTask()];
    await lab.tick();
    expect([lab.told, await lab.skips()]).toEqual([[], { [unwired]: 1 }]);
    lab.watchdog = lab.wire([]);
    await lab.tick();
    expect([lab.told, await lab.skips()]).toEqual([['opened decision_waiting'], { [unwired]: 1 }]);
  });

  it.each(
    REASONS.flatMap(([reader, , reason]) => [[reader, reason, 'failing', FAILING] as const, [reader, reason, 'slow', NEVER] as const]),
  )('with %s as %s, %s: nothing is told, it is counted once, and the next tick is well again', async (reader, reason, _how, instead) => {
    const lab = new Lab();
    lab.world.tasks = [aTask()];
    lab.instead.set(reader, instead);
    await lab.tick();
    expect([lab.told, await lab.skips()]).toEqual([[], { [reason]: 1 }]);
    lab.instead.clear();
    await lab.tick();
    expect([lab.told, await lab.skips()]).toEqual([['opened decision_waiting'], { [reason]: 1 }]);
  });

  it.each(REASONS.map(([reader]) => reader))('that has been told is not told as over because %s failed', async (reader) => {
    const lab = new Lab();
    lab.world.tasks = [aTask()];
    await lab.tick();
    lab.instead.set(reader, FAILING);
    await lab.tick();
    lab.instead.clear();
    await lab.tick();
    expect(lab.told).toEqual(['opened decision_waiting']);
  });
});

describe('the budget', () => {
  it.each(['sessions', 'turns'] as const)('is kept when %s never answer, and the reason counted once', async (reader) => {
    const lab = new Lab();
    lab.instead.set(reader, NEVER);
    await lab.tick();
    expect(await lab.skips()).toEqual({ candidate_list_failed: 1 });
  });

  it('is shared: a pass that hears nothing keeps none of the others, and is over with the tick', async () => {
    const lab = new Lab();
    lab.world.tasks = [aTask()];
    lab.world.sessions = [aSession()];
    lab.instead.set('sessions', NEVER);
    await lab.tick();
    expect(lab.told).toEqual(['opened decision_waiting']);
    expect(await lab.skips()).toEqual({ candidate_list_failed: 1 });
    lab.instead.clear();
    await lab.tick();
    expect(lab.told).toEqual(['opened decision_waiting', 'opened stranded_signal']);
  });

  it('leaves the rest of a long list to the next tick, and forgets nothing meanwhile', async () => {
    const lab = new Lab();
    lab.world.tasks = [aTask('t1'), aTask('t2'), aTask('t3')];
    let told = 0;
    const slow = vi.spyOn(lab.told, 'push').mockImplementation((one: string) => {
      if (++told === 2) lab.clock.advance(20_000);
      lab.told[lab.told.length] = one;
      return told;
    });
    await lab.tick();
    expect(lab.told).toHaveLength(2);
    lab.world.tasks = [aTask('t3')];
    await lab.tick();
    slow.mockRestore();
    expect(lab.told).toEqual(['opened', 'opened', 'opened'].map((change) => `${change} decision_waiting`));
    await lab.tick();
    expect(lab.told.slice(3)).toEqual(['ended decision_waiting', 'ended decision_waiting']);
  });
});

it('says in logs nothing but ids and durations', async () => {
  const lab = new Lab();
  lab.world.tasks = [aTask()];
  lab.world.seats = [{ ...SEAT, name: 'a note text' }];
  lab.world.sessions = [aSession({ evidence: { ...NO_EVIDENCE, currentTool: 'an output text' } })];
  await lab.tick();
  expect(JSON.stringify(warned)).not.toContain('text');
  expect(await lab.metrics.expose()).not.toContain(' text');
});
