/** The fencing pair of a run and the rows that belong to it, as whoever holds or found it knows them: what a settlement needs. */
export interface FencedRun {
  readonly runId: string;
  readonly generation: number;
  readonly workspaceId: string;
  readonly agentId: string;
  readonly taskId: string | null;
  readonly sessionId: string;
}
