import { Injectable, Logger } from '@nestjs/common';
import { Clock } from '../platform/clock/clock.js';
import { AdapterRegistry } from './adapter-registry.service.js';
import type { AdapterView } from './adapter.view.js';
import type { AdapterProfile } from './adapters/adapter-profile.js';
import { identityOf, signedIn } from './domain/probe-answer.js';
import { ExecutionOptions } from './execution-options.js';
import { probeAgent, type ProbeUser } from './probe-agent.js';
import { askVersion } from './process/ask-version.js';
import { ProcessSupervision } from './supervisor/process-supervision.service.js';

/** How long an answer is good; one with something to mend is asked for again soon, so that mending it shows. */
const GOOD_MS = 60_000;
const BAD_MS = 5_000;
const AT_ONCE = 3;

interface Kept {
  readonly view: Promise<AdapterView>;
  until: number;
}

/**
 * What people are told of the agents of this host: asked of the programs themselves, a few at a time, and remembered for a
 * minute. Launches do not look here.
 */
@Injectable()
export class AdapterProbe {
  private readonly logger = new Logger(AdapterProbe.name);
  private readonly kept = new Map<string, Kept>();
  private readonly queue: (() => void)[] = [];
  private busy = 0;

  constructor(
    private readonly adapters: AdapterRegistry,
    private readonly supervision: ProcessSupervision,
    private readonly options: ExecutionOptions,
    private readonly clock: Clock,
  ) {}

  /** `user`: as whom agents run here that are nobody's in particular. */
  list(user: ProbeUser): Promise<AdapterView[]> {
    return Promise.all(this.adapters.ids.map((id) => this.recall(this.adapters.profile(id)!, user)));
  }

  private recall(profile: AdapterProfile, user: ProbeUser): Promise<AdapterView> {
    const before = this.kept.get(profile.id);
    if (before !== undefined && before.until > this.clock.monotonicMs()) return before.view;
    const view = this.inTurn(() => this.look(profile, user));
    const kept: Kept = { view, until: Infinity };
    this.kept.set(profile.id, kept);
    const keepFor = (ms: number): void => void (kept.until = this.clock.monotonicMs() + ms);
    view.then(
      ({ problem }) => keepFor(problem === undefined ? GOOD_MS : BAD_MS),
      () => keepFor(0),
    );
    return view;
  }

  private async inTurn<T>(work: () => Promise<T>): Promise<T> {
    if (this.busy >= AT_ONCE) await new Promise<void>((resolve) => this.queue.push(resolve));
    else this.busy++;
    try {
      return await work();
    } finally {
      const next = this.queue.shift();
      if (next === undefined) this.busy--;
      else next();
    }
  }

  private async look(profile: AdapterProfile, user: ProbeUser): Promise<AdapterView> {
    const home = user === null ? 'server' : 'isolated';
    const env = this.adapters.environment(profile, { config: { permissionPolicy: 'deny' }, env: {}, executionId: '', home });
    const found = this.adapters.command(profile, {}, env['PATH']);
    const head = { id: profile.id, tested_version: found.program?.from?.version ?? profile.programs[0]?.from?.version ?? null };
    const command = profile.programs[0]?.argv.join(' ') ?? null;
    if ('problem' in found) return { ...head, command, installed: false, acp: null, signed_in: null, problem: found.problem };

    const { logger, clock, supervision, adapters } = this;
    const probed = await probeAgent(profile, user, this.options.probeMs, { logger, clock, supervision, adapters });
    const said = probed.initialize === null ? null : identityOf(probed.initialize);
    const version = said?.version ?? (await this.versionOf(found.argv[0]!, env, user));
    const signed = signedIn(probed, profile.admitsAnybody ?? false);
    const problem = signed === false ? `not signed in: ${profile.signIn}` : (probed.problem ?? undefined);
    return {
      ...head,
      command: found.argv.join(' '),
      installed: true,
      ...(version === null ? {} : { version }),
      acp: said === null ? null : withoutVersion(said),
      signed_in: signed,
      ...(problem === undefined ? {} : { problem }),
    };
  }

  private async versionOf(program: string, env: Readonly<Record<string, string>>, user: ProbeUser): Promise<string | null> {
    const answer = await askVersion(program, env, user, this.clock);
    return 'version' in answer ? answer.version : null;
  }
}

function withoutVersion({ version: _version, ...rest }: ReturnType<typeof identityOf>): AdapterView['acp'] {
  return rest;
}
