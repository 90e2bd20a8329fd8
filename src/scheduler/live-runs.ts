import { Injectable } from '@nestjs/common';
import { OfficeSettings } from '../platform/config/office-settings.js';
import type { ClaimedRun } from '../runs/claim.js';

/**
 * The runs this server holds: from their claim until no process of theirs is left. That is later than their settlement, so a
 * slot is never given away while its process still uses the machine, nor a folder while somebody is in it (`task_busy`).
 */
@Injectable()
export class LiveRuns {
  private readonly byRun = new Map<string, ClaimedRun>();
  private readonly waiting = new Set<() => void>();

  constructor(private readonly settings: OfficeSettings) {}

  get free(): number {
    return Math.max(0, this.settings.OFFICE_MAX_EXECUTIONS - this.byRun.size);
  }

  get size(): number {
    return this.byRun.size;
  }

  busyTaskIds(): string[] {
    return [...this.byRun.values()].flatMap(({ taskId }) => (taskId === null ? [] : [taskId]));
  }

  all(): ClaimedRun[] {
    return [...this.byRun.values()];
  }

  has(runId: string, generation: number): boolean {
    return this.byRun.get(runId)?.generation === generation;
  }

  find(runId: string, generation: number): ClaimedRun | undefined {
    const run = this.byRun.get(runId);
    return run?.generation === generation ? run : undefined;
  }

  add(run: ClaimedRun): void {
    this.byRun.set(run.runId, run);
  }

  remove(run: ClaimedRun): void {
    if (this.has(run.runId, run.generation)) this.byRun.delete(run.runId);
    if (this.byRun.size > 0) return;
    for (const resolve of this.waiting) resolve();
    this.waiting.clear();
  }

  /** Resolves when nothing is held any more. */
  empty(): Promise<void> {
    if (this.byRun.size === 0) return Promise.resolve();
    return new Promise((resolve) => this.waiting.add(resolve));
  }
}
