import { Injectable, Logger, type OnApplicationBootstrap } from '@nestjs/common';
import { join } from 'node:path';
import { MOCK_AGENT_ENTRY } from '../execution/entries.js';
import { OfficeSettings } from '../platform/config/office-settings.js';
import { UnitOfWork } from '../platform/database/unit-of-work.js';
import { shutToOthers } from '../platform/state/work-dir.js';

/** A user of this machine, and the group of the same number. */
export interface MachineUser {
  readonly uid: number;
  readonly gid: number;
}

/** As whom the agents of a workspace run, and what is done on their folders. */
export interface AgentUser {
  /** Null: as the office itself. */
  readonly identity: MachineUser | null;
  /** Their own home; null where they share the office's. */
  readonly home: string | null;
}

/**
 * Keeps the agents of different workspaces apart (contract 12). Where the server is root and others can reach the folders agents
 * work in, those of each workspace run as a user of their own; otherwise all are one trust domain, which is said at start.
 */
@Injectable()
export class AgentUsers implements OnApplicationBootstrap {
  private readonly logger = new Logger(AgentUsers.name);
  private readonly numbers = new Map<string, number>();
  private apart: boolean | null = null;

  constructor(
    private readonly unitOfWork: UnitOfWork,
    private readonly settings: OfficeSettings,
  ) {}

  onApplicationBootstrap(): void {
    const { isRoot, shut } = this.facts();
    if (!isRoot) {
      this.logger.warn('not root: agents run as this user, and all workspaces are one trust domain');
    } else if (shut !== null) {
      this.logger.error({ folder: shut }, 'agents run as root, and all workspaces are one trust domain: only root may enter this folder');
    } else {
      this.logger.log({ uid_base: this.settings.OFFICE_AGENT_UID_BASE }, 'agents of each workspace run as a user of their own');
    }
  }

  /** Whether workspaces have users of their own here. Then agents have homes of their own, too, unless they are told otherwise. */
  get separate(): boolean {
    if (this.apart === null) {
      const { isRoot, shut } = this.facts();
      this.apart = isRoot && shut === null;
    }
    return this.apart;
  }

  /** For what is no workspace's business, such as asking a program for its version. */
  get stranger(): MachineUser | null {
    return this.separate ? this.user(0) : null;
  }

  async of(workspaceId: string): Promise<AgentUser> {
    if (!this.separate) return { identity: null, home: null };
    return { identity: this.user(await this.numberOf(workspaceId)), home: join(this.folderOf(workspaceId), 'homes', 'office') };
  }

  /** The workspace's part of the work dir: everything its agents have is in it. */
  folderOf(workspaceId: string): string {
    return join(this.settings.OFFICE_WORK_DIR, workspaceId);
  }

  private async numberOf(workspaceId: string): Promise<number> {
    const known = this.numbers.get(workspaceId);
    if (known !== undefined) return known;
    const [row] = await this.unitOfWork.read<{ number: number }>(`select agent_user_number as number from workspaces where id = $1`, [
      workspaceId,
    ]);
    if (row === undefined) throw new Error(`no such workspace: ${workspaceId}`);
    this.numbers.set(workspaceId, row.number);
    return row.number;
  }

  private user(number: number): MachineUser {
    const id = this.settings.OFFICE_AGENT_UID_BASE + number;
    return { uid: id, gid: id };
  }

  private facts(): { isRoot: boolean; shut: string | null } {
    const isRoot = process.getuid?.() === 0;
    const programs = [process.execPath, MOCK_AGENT_ENTRY];
    return {
      isRoot,
      shut: isRoot ? (shutFolder(this.settings.OFFICE_WORK_DIR) ?? programs.map(shutToOthers).find((one) => one !== null) ?? null) : null,
    };
  }
}

function shutFolder(path: string): string | null {
  try {
    return shutToOthers(path);
  } catch {
    return path;
  }
}
