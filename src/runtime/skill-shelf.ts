import { Injectable, Logger } from '@nestjs/common';
import { lstat, mkdir, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { AgentUsers } from '../workspaces/agent-users.service.js';
import { holdsSkills, linkSkills, skillPath, writeSkills, type Skill } from './skill-folder.js';

/** Workspaces whose shelves are known by heart. */
const MOST_KNOWN = 1_000;

interface Shelf {
  readonly path: string;
  readonly slugs: readonly string[];
  /** Of each skill's file, as it was written. */
  readonly stamps: readonly string[];
}

/**
 * One copy of a workspace's skills, from which its new folders are furnished by links. Whoever owns a folder may write to what is
 * linked there, so the shelf is looked at before it is used and made anew when it is not as it was.
 */
@Injectable()
export class SkillShelf {
  private readonly logger = new Logger(SkillShelf.name);
  private readonly known = new Map<string, Shelf>();
  private readonly making = new Map<string, Promise<Shelf>>();
  /** Paths of shelves that links could not be made to. */
  private readonly unusable = new Set<string>();

  constructor(private readonly users: AgentUsers) {}

  /**
   * Puts the skills of that version below a folder that is new and the office's own. False: they cannot be linked there, and nothing,
   * or a part, is there. `read` is asked only where that version is not on the shelf.
   */
  async furnish(
    workspaceId: string,
    version: string,
    place: { readonly folder: string; readonly below: string },
    read: () => Promise<readonly Skill[]>,
  ): Promise<boolean> {
    try {
      const shelf = await this.shelf(workspaceId, version, read);
      await linkSkills(shelf.path, place.folder, place.below, shelf.slugs);
      return true;
    } catch (error) {
      // Another disk, one that has no links, or a file that has as many as it may: the next one begins with a new shelf.
      this.known.delete(workspaceId);
      this.unusable.add(this.pathOf(workspaceId, version));
      this.logger.warn({ workspace_id: workspaceId, folder: place.folder, err: error }, 'skills could not be linked, they are written');
      return false;
    }
  }

  private async shelf(workspaceId: string, version: string, read: () => Promise<readonly Skill[]>): Promise<Shelf> {
    const path = this.pathOf(workspaceId, version);
    const known = this.known.get(workspaceId);
    if (known?.path === path && (await stampsOf(path, known.slugs)).join() === known.stamps.join()) return known;
    const made = this.making.get(path) ?? this.make(workspaceId, path, read).finally(() => this.making.delete(path));
    this.making.set(path, made);
    return made;
  }

  private async make(workspaceId: string, path: string, read: () => Promise<readonly Skill[]>): Promise<Shelf> {
    const skills = await read();
    await this.write(path, skills);
    const slugs = skills.map(({ slug }) => slug);
    const shelf = { path, slugs, stamps: await stampsOf(path, slugs) };
    if (this.known.size >= MOST_KNOWN) this.known.clear();
    this.known.set(workspaceId, shelf);
    return shelf;
  }

  private async write(path: string, skills: readonly Skill[]): Promise<void> {
    if (!this.unusable.delete(path) && (await holdsSkills(path, '.', skills))) return;
    const shelves = join(path, '..');
    await mkdir(shelves, { recursive: true, mode: 0o700 });
    // Those of other versions, too: what is linked in folders stays there.
    for (const name of await readdir(shelves)) await rm(join(shelves, name), { recursive: true, force: true });
    await mkdir(path, { mode: 0o700 });
    const problems = await writeSkills(path, '.', skills);
    if (problems.length > 0) throw new Error(problems.map(({ path: at, problem }) => `${at}: ${problem}`).join(', '));
  }

  private pathOf(workspaceId: string, version: string): string {
    return join(this.users.folderOf(workspaceId), 'skills', version);
  }
}

async function stampsOf(path: string, slugs: readonly string[]): Promise<string[]> {
  return Promise.all(
    slugs.map(async (slug) => {
      const { ino, size, mtimeMs } = await lstat(skillPath(path, slug)).catch(() => ({ ino: 0, size: 0, mtimeMs: 0 }));
      return `${ino} ${size} ${mtimeMs}`;
    }),
  );
}
