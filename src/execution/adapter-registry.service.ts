import { Injectable } from '@nestjs/common';
import type { LaunchConfig, LaunchSpec } from './agent-runtime.js';
import type { AdapterProfile, AgentProgram } from './adapters/adapter-profile.js';
import { allAdapters } from './adapters/all.js';
import { agentEnvironment, credentialsIn } from './domain/agent-environment.js';
import { ExecutionOptions } from './execution-options.js';
import { findProgram } from './process/find-program.js';

/** `program` is what the adapter knows of it; null when the configuration named it. */
export type FoundCommand =
  { readonly argv: readonly string[]; readonly program: AgentProgram | null } | { readonly problem: string; readonly program: null };

/** The kinds of agents this host knows, and which of them it can start. Nothing here is remembered: it is looked up anew each time. */
@Injectable()
export class AdapterRegistry {
  private readonly profiles: ReadonlyMap<string, AdapterProfile>;

  constructor(private readonly options: ExecutionOptions) {
    this.profiles = new Map(allAdapters(options.mockAgentEntry).map((profile) => [profile.id, profile]));
  }

  get ids(): string[] {
    return [...this.profiles.keys()];
  }

  profile(id: string): AdapterProfile | null {
    return this.profiles.get(id) ?? null;
  }

  /** The whole environment of an agent that is launched like this. */
  environment(profile: AdapterProfile, spec: Pick<LaunchSpec, 'config' | 'env' | 'executionId' | 'home'>): Record<string, string> {
    return agentEnvironment(this.options.environment, profile, spec.home, spec.config.env ?? {}, spec.env, spec.executionId);
  }

  /** What an agent of this kind is given of the office's own environment that nobody is to read. */
  inheritedCredentials(id: string): { name: string; value: string }[] {
    const profile = this.profile(id);
    return profile === null ? [] : credentialsIn(Object.entries(agentEnvironment(this.options.environment, profile, 'server', {}, {}, '')));
  }

  /** The command to start, its program as an absolute path. `path` is the PATH that the agent will have. */
  command(profile: AdapterProfile, config: Pick<LaunchConfig, 'command'>, path: string | undefined): FoundCommand {
    if (config.command !== undefined) {
      const [name = '', ...rest] = config.command;
      const file = findProgram(name, path);
      if (file !== null) return { argv: [file, ...rest], program: null };
      return { problem: `no such program: ${name} (an absolute path, or a name on PATH)`, program: null };
    }
    for (const program of profile.programs) {
      const [name = '', ...rest] = program.argv;
      const file = findProgram(name, path);
      if (file !== null) return { argv: [file, ...rest], program };
    }
    return { problem: profile.programs.length === 0 ? profile.install : `not found on PATH; ${profile.install}`, program: null };
  }

  /**
   * The adapters that agents of this host can use, by a look at PATH alone. Those that have no command of their own count:
   * an agent that uses them brings its command.
   */
  installed(): string[] {
    const path = this.options.environment['PATH'];
    const usable = (profile: AdapterProfile): boolean => profile.programs.length === 0 || 'argv' in this.command(profile, {}, path);
    return [...this.profiles.values()].filter(usable).map(({ id }) => id);
  }
}
