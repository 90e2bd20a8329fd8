import { statSync } from 'node:fs';
import type { Clock } from '../platform/clock/clock.js';
import type { AdapterRegistry } from './adapter-registry.service.js';
import type { AdapterProfile } from './adapters/adapter-profile.js';
import type { LaunchSpec } from './agent-runtime.js';
import { failurePayload } from './domain/error-payload.js';
import { failed, type Halt } from './halt.js';
import { AgentProcess } from './process/agent-process.js';
import type { LineListener } from './process/stdout-lines.js';
import type { ProcessSupervision } from './supervisor/process-supervision.service.js';

export interface HostParts {
  readonly clock: Clock;
  readonly adapters: AdapterRegistry;
  readonly supervision: ProcessSupervision;
}

/** Makes the process of an agent, waiting at its gate. Throws the `Halt` that says why it cannot be. */
export async function prepareAgent(
  spec: LaunchSpec,
  adapter: AdapterProfile,
  listener: LineListener,
  host: HostParts,
): Promise<AgentProcess> {
  const { clock, adapters, supervision } = host;
  if (!isFolder(spec.cwd)) throw failed(failurePayload.folderGone(spec.cwd));
  const env = adapters.environment(adapter, spec);
  const command = adapters.command(adapter, spec.config, env['PATH']);
  if ('problem' in command) throw spawnFailure(spec, adapter, command.problem);
  const program = { argv: command.argv, cwd: spec.cwd, env, identity: spec.identity };
  try {
    return await AgentProcess.prepare(program, spec.executionId, listener, clock, supervision);
  } catch (error) {
    // A folder that vanished meanwhile looks to the system like a missing program.
    throw isFolder(spec.cwd) ? spawnFailure(spec, adapter, error) : failed(failurePayload.folderGone(spec.cwd));
  }
}

/** Records it with the supervisor. Throws a `Halt` when that cannot be done: nothing may run unwatched. */
export async function registerAgent(agent: AgentProcess, spec: LaunchSpec, adapter: AdapterProfile): Promise<void> {
  try {
    await agent.register();
  } catch (error) {
    throw spawnFailure(spec, adapter, error);
  }
}

function spawnFailure(spec: LaunchSpec, adapter: AdapterProfile, problem: unknown): Halt {
  const asked = spec.config.command ?? adapter.programs[0]?.argv ?? [];
  return failed(failurePayload.spawnFailed(asked, problem instanceof Error ? problem.message : String(problem)));
}

function isFolder(path: string): boolean {
  try {
    return statSync(path).isDirectory();
  } catch {
    return false;
  }
}
