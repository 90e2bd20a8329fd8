import { Injectable } from '@nestjs/common';
import { Clock } from '../platform/clock/clock.js';
import type { LaunchConfig, LaunchSpec } from './agent-runtime.js';
import type { AdapterView } from './adapter.view.js';
import type { AdapterProfile } from './adapters/adapter-profile.js';
import { claude } from './adapters/claude.js';
import { codex } from './adapters/codex.js';
import { copilot } from './adapters/copilot.js';
import { mockAgent } from './adapters/mock.js';
import { amp, auggie, custom, gemini, opencode } from './adapters/other-agents.js';
import { agentEnvironment, credentialsIn } from './domain/agent-environment.js';
import { ExecutionOptions } from './execution-options.js';
import { askVersion } from './process/ask-version.js';
import { findProgram } from './process/find-program.js';

const PROBE_MS = 60_000;
const PROBES_AT_ONCE = 3;

export type FoundCommand = { readonly argv: readonly string[] } | { readonly problem: string };

/** The kinds of agents this host knows, and which of them it can start. */
@Injectable()
export class AdapterRegistry {
  private readonly profiles: ReadonlyMap<string, AdapterProfile>;
  private probed: { readonly at: number; readonly views: Promise<AdapterView[]> } | null = null;

  constructor(
    private readonly options: ExecutionOptions,
    private readonly clock: Clock,
  ) {
    const all = [claude, codex, copilot, amp, opencode, auggie, gemini, mockAgent(options.mockAgentEntry), custom];
    this.profiles = new Map(all.map((profile) => [profile.id, profile]));
  }

  get ids(): string[] {
    return [...this.profiles.keys()];
  }

  profile(id: string): AdapterProfile | null {
    return this.profiles.get(id) ?? null;
  }

  /** The whole environment of an agent that is launched like this. */
  environment(profile: AdapterProfile, spec: Pick<LaunchSpec, 'config' | 'env' | 'executionId'>): Record<string, string> {
    return agentEnvironment(this.options.environment, profile, spec.config.env ?? {}, spec.env, spec.executionId);
  }

  /** What an agent of this kind is given of the office's own environment that nobody is to read. */
  inheritedCredentials(id: string): { name: string; value: string }[] {
    const profile = this.profile(id);
    return profile === null ? [] : credentialsIn(Object.entries(agentEnvironment(this.options.environment, profile, {}, {}, '')));
  }

  /** The command to start, its program as an absolute path. `path` is the PATH that the agent will have. */
  command(profile: AdapterProfile, config: Pick<LaunchConfig, 'command'>, path: string | undefined): FoundCommand {
    const candidates = config.command === undefined ? profile.commands : [config.command];
    for (const [name = '', ...rest] of candidates) {
      const program = findProgram(name, path);
      if (program !== null) return { argv: [program, ...rest] };
    }
    if (config.command !== undefined)
      return { problem: `no such program: ${config.command[0] ?? ''} (an absolute path, or a name on PATH)` };
    return { problem: candidates.length === 0 ? profile.install : `not found on PATH; ${profile.install}` };
  }

  /**
   * The adapters that agents of this host can use, by a look at PATH alone. Those that have no command of their own count:
   * an agent that uses them brings its command.
   */
  installed(): string[] {
    const path = this.options.environment['PATH'];
    const usable = (profile: AdapterProfile): boolean => profile.commands.length === 0 || 'argv' in this.command(profile, {}, path);
    return [...this.profiles.values()].filter(usable).map(({ id }) => id);
  }

  /** Starts each program once to ask for its version. Answers are at most a minute old. */
  probe(): Promise<AdapterView[]> {
    const now = this.clock.monotonicMs();
    if (this.probed === null || now - this.probed.at > PROBE_MS) this.probed = { at: now, views: this.probeAll() };
    return this.probed.views;
  }

  private async probeAll(): Promise<AdapterView[]> {
    const waiting = [...this.profiles.values()];
    const views = new Map<string, AdapterView>();
    const work = async (): Promise<void> => {
      for (let profile = waiting.shift(); profile !== undefined; profile = waiting.shift()) views.set(profile.id, await this.look(profile));
    };
    await Promise.all(Array.from({ length: PROBES_AT_ONCE }, work));
    return this.ids.map((id) => views.get(id)!);
  }

  private async look(profile: AdapterProfile): Promise<AdapterView> {
    const env = agentEnvironment(this.options.environment, profile, {}, {}, '');
    const found = this.command(profile, {}, env['PATH']);
    const command = profile.commands[0]?.join(' ') ?? null;
    if ('problem' in found) return { id: profile.id, command, installed: false, problem: found.problem };
    if (profile.ours) return { id: profile.id, command: found.argv.join(' '), installed: true };
    const answer = await askVersion(found.argv[0]!, env, this.clock);
    return { id: profile.id, command: found.argv.join(' '), installed: true, ...answer };
  }
}
