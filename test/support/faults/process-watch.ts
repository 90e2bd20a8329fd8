import { readdirSync, readFileSync } from 'node:fs';

interface Seen {
  readonly pid: number;
  readonly taskId: string;
  readonly executionId: string;
}

/** Looks at the machine again and again: no two executions may ever be in one task's folder. Linux only. */
export class ProcessWatch {
  /** What was seen that must not be. */
  readonly doubled: string[] = [];
  looks = 0;
  private readonly timer: NodeJS.Timeout;

  constructor(private readonly workspaces: readonly string[]) {
    this.timer = setInterval(() => this.look(), 300);
  }

  stop(): void {
    clearInterval(this.timer);
  }

  private look(): void {
    this.looks++;
    const byTask = new Map<string, Seen[]>();
    for (const seen of this.agents()) byTask.set(seen.taskId, [...(byTask.get(seen.taskId) ?? []), seen]);
    for (const [taskId, all] of byTask) {
      if (new Set(all.map(({ executionId }) => executionId)).size < 2) continue;
      // Reading takes time: only those that are both still there are there together.
      const still = all.filter(({ pid, executionId }) => this.agentOf(pid)?.executionId === executionId);
      const executions = new Set(still.map(({ executionId }) => executionId));
      if (executions.size > 1) this.doubled.push(`task ${taskId}: ${[...executions].join(' and ')}`);
    }
  }

  private agents(): Seen[] {
    return readdirSync('/proc').flatMap((name) => {
      const seen = /^\d+$/.test(name) ? this.agentOf(Number(name)) : null;
      return seen === null ? [] : [seen];
    });
  }

  private agentOf(pid: number): Seen | null {
    try {
      const variables = new Map(
        readFileSync(`/proc/${pid}/environ`, 'latin1')
          .split('\0')
          .map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)] as const),
      );
      const [workspaceId, taskId, executionId] = ['OFFICE_WORKSPACE_ID', 'OFFICE_TASK_ID', 'OFFICE_EXECUTION_ID'].map((n) =>
        variables.get(n),
      );
      if (workspaceId === undefined || taskId === undefined || executionId === undefined || !this.workspaces.includes(workspaceId))
        return null;
      const isZombie = /^\d+ \(.*\) Z/s.test(readFileSync(`/proc/${pid}/stat`, 'latin1'));
      return isZombie ? null : { pid, taskId, executionId };
    } catch {
      return null;
    }
  }
}
