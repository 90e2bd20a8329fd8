import { Injectable } from '@nestjs/common';
import type { Tx } from '../platform/database/tx.js';
import { OfficeError } from '../platform/errors/office-error.js';
import { BlockerRepository } from './blocker.repository.js';
import { cyclePath } from './domain/blockers.js';
import type { LockedTask } from './task.repository.js';

/** What a task waits for. Parts of a change of a task. */
@Injectable()
export class TaskBlockers {
  constructor(private readonly blockers: BlockerRepository) {}

  /** Before the task is locked, by whoever is going to call `change`. */
  lockWaits(tx: Tx, workspaceId: string): Promise<void> {
    return this.blockers.lockWaits(tx, workspaceId);
  }

  /** Of a new task, which nobody can be waiting for yet. */
  async set(tx: Tx, workspaceId: string, taskId: string, wanted: readonly string[]): Promise<void> {
    await this.assertKnown(tx, workspaceId, wanted);
    await this.blockers.set(tx, workspaceId, taskId, wanted);
  }

  /** Writes only a difference. `freed`: something held the task up before, and nothing does now. */
  async change(tx: Tx, task: LockedTask, wanted: readonly string[]): Promise<{ changed: boolean; freed: boolean }> {
    const before = await this.blockers.of(tx, task.workspace_id, task.id);
    const known = new Set(before.map(({ id }) => id));
    const added = wanted.filter((id) => !known.has(id));
    const isSame = added.length === 0 && before.length === wanted.length;
    if (isSame) return { changed: false, freed: false };

    await this.assertKnown(tx, task.workspace_id, added);
    await this.assertNoCycle(tx, task, added);
    await this.blockers.set(tx, task.workspace_id, task.id, wanted);
    const after = await this.blockers.of(tx, task.workspace_id, task.id);
    return { changed: true, freed: before.some(({ open }) => open) && !after.some(({ open }) => open) };
  }

  private async assertKnown(tx: Tx, workspaceId: string, ids: readonly string[]): Promise<void> {
    const [unknown] = ids.length === 0 ? [] : await this.blockers.unknownOf(tx, workspaceId, ids);
    if (unknown !== undefined) throw new OfficeError('not_found', { what: 'task', id: unknown });
  }

  private async assertNoCycle(tx: Tx, task: LockedTask, added: readonly string[]): Promise<void> {
    if (added.length === 0) return;
    const waits = await this.blockers.waitsLeadingTo(tx, task.workspace_id, task.id, added);
    const path = cyclePath(task.id, added, waits);
    if (path === null) return;
    const identifiers = await this.blockers.identifiers(tx, task.workspace_id, path);
    throw new OfficeError('blocker_cycle', { path: path.map((id) => identifiers.get(id)) });
  }
}
