export interface EscalationAbout {
  readonly agent: { readonly id: string; readonly name: string };
  readonly task: { readonly id: string; readonly identifier: string };
  readonly run: { readonly runId: string; readonly sessionId: string };
  readonly diagnosis: { readonly class: string; readonly code: string } | null;
  readonly summary: string;
}

/** What a coordinator is told of a failed run: everything it needs to look it up, and one line of what went wrong. */
export function escalationNote({ agent, task, run, diagnosis, summary }: EscalationAbout): string {
  return [
    `Failed agent: ${agent.name} (${agent.id})`,
    `Task: ${task.identifier} (${task.id})`,
    `Run: ${run.runId}`,
    `Session: ${run.sessionId}`,
    `Class: ${diagnosis === null ? 'unclassified' : `${diagnosis.class} (${diagnosis.code})`}`,
    `Error: ${summary}`,
  ].join('\n');
}
