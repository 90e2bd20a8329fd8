/** The inbox as a few sets in memory: what it has to be after anything that can happen, by the words of the contract and no SQL. */
export class InboxModel {
  /** Open failures: run to pair. */
  readonly open = new Map<string, Pair>();
  readonly agents = new Map<string, AgentModel>();

  constructor(readonly threshold: number) {}

  agent(id: string): AgentModel {
    const known = this.agents.get(id) ?? { failures: 0, paused: null, episode: null };
    this.agents.set(id, known);
    return known;
  }

  /** Ids of everything that stands in the inbox. */
  ids(): string[] {
    const episodes = [...this.agents.values()].flatMap(({ episode }) => episode?.id ?? []);
    return [...this.open.keys(), ...episodes].sort();
  }

  errorsOf(agentId: string): number {
    return [...this.open.values()].filter((pair) => pair.agentId === agentId).length;
  }

  /** `episodeId`: how the office calls the episode, should this failure open one. */
  failed(runId: string, pair: Pair, episodeId: string): void {
    const agent = this.agent(pair.agentId);
    agent.failures++;
    if (agent.failures < this.threshold || agent.paused === 'person') {
      this.open.set(runId, pair);
      return;
    }
    const swallowed = new Map([...(agent.episode?.swallowed ?? []), [runId, pair]]);
    const affected = [...(agent.episode?.affected ?? []), pair];
    for (const [id, other] of this.open) {
      if (other.agentId !== pair.agentId) continue;
      this.open.delete(id);
      swallowed.set(id, other);
      affected.push(other);
    }
    agent.paused = 'auto';
    agent.episode = { id: episodeId, swallowed, affected };
  }

  completed(pair: Pair): void {
    this.agent(pair.agentId).failures = 0;
    this.dealtWith(pair);
  }

  /** Somebody dealt with what went wrong in this pair: nothing of it stands open, and lifting a pause brings nothing of it back. */
  dealtWith({ agentId, taskId }: Pair): void {
    const swallowed = this.agent(agentId).episode?.swallowed ?? new Map<string, Pair>();
    for (const runs of [this.open, swallowed]) {
      for (const [id, pair] of runs) if (pair.agentId === agentId && pair.taskId === taskId) runs.delete(id);
    }
  }

  taskGone(taskId: string): void {
    for (const agentId of this.agents.keys()) this.dealtWith({ agentId, taskId });
  }

  /** False: refused, a person has paused the agent. */
  pauseFixed(agentId: string): boolean {
    const agent = this.agent(agentId);
    if (agent.paused === 'person') return false;
    const { affected } = agent.episode!;
    Object.assign(agent, { failures: 0, paused: null, episode: null });
    for (const pair of affected) this.dealtWith(pair);
    return true;
  }

  unpaused(agentId: string): void {
    const agent = this.agent(agentId);
    for (const [id, pair] of agent.episode?.swallowed ?? []) this.open.set(id, pair);
    Object.assign(agent, { paused: null, episode: null });
  }

  pausedByPerson(agentId: string): void {
    this.agent(agentId).paused = 'person';
  }
}

export interface Pair {
  readonly agentId: string;
  readonly taskId: string;
}

interface AgentModel {
  failures: number;
  paused: 'auto' | 'person' | null;
  episode: { readonly id: string; readonly swallowed: Map<string, Pair>; readonly affected: readonly Pair[] } | null;
}
