import { Injectable, Logger } from '@nestjs/common';
import { layOutSkills, type Skill } from './skill-folder.js';

/** Of all workspaces together; with more than that it begins anew. */
const MOST_CHARACTERS = 8 * 1024 * 1024;

interface Known {
  readonly version: string;
  readonly skills: Promise<readonly Skill[]>;
}

/**
 * Skills for folders that are new and the office's own still: nobody can be in the way, and what is put there is known to be so.
 * Every folder has files of its own. One copy that all link to would be any agent's to change for the others.
 */
@Injectable()
export class NewFolderSkills {
  private readonly logger = new Logger(NewFolderSkills.name);
  private readonly known = new Map<string, Known>();
  private characters = 0;

  /**
   * Puts the skills of that version below such a folder. False: it did not go, and nothing is there. `read` is asked only where
   * that version is not known yet.
   */
  async putInto(
    place: { readonly folder: string; readonly below: string },
    workspaceId: string,
    version: string,
    read: () => Promise<readonly Skill[]>,
  ): Promise<boolean> {
    try {
      await layOutSkills(place.folder, place.below, await this.skillsOf(workspaceId, version, read));
      return true;
    } catch (error) {
      this.logger.warn({ workspace_id: workspaceId, folder: place.folder, err: error }, 'skills could not be put into a new folder');
      return false;
    }
  }

  /** Whoever asks while they are being read waits for the same answer; a failure is not remembered. */
  private async skillsOf(workspaceId: string, version: string, read: () => Promise<readonly Skill[]>): Promise<readonly Skill[]> {
    const known = this.known.get(workspaceId);
    if (known?.version === version) return known.skills;
    const skills = read();
    this.known.set(workspaceId, { version, skills });
    try {
      this.characters += (await skills).reduce((sum, { content }) => sum + content.length, 0);
    } catch (error) {
      this.known.delete(workspaceId);
      throw error;
    }
    if (this.characters > MOST_CHARACTERS) {
      this.known.clear();
      this.characters = 0;
    }
    return skills;
  }
}
