import { Injectable } from '@nestjs/common';
import { chmod, lchown, lstat, mkdir, opendir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { ClaimedRun } from '../runs/claim.js';
import { LaunchKit } from '../runs/launch-kit.js';
import { AgentUsers, type MachineUser } from '../workspaces/agent-users.service.js';

export interface AgentPlace {
  readonly identity: MachineUser | null;
  /** `isolated`: what the server's own environment says of its home is not for this agent. */
  readonly home: 'server' | 'isolated';
  readonly env: Readonly<Record<string, string>>;
  /** Its folder is new, and what belongs there is there. */
  readonly furnished: boolean;
}

/**
 * Where an agent lives on this machine: as which user, with which home, in which folders.
 *
 *     <work dir>/<workspace>/            root's, its group may pass: no agent can put something else in its place
 *       tasks/ runs/ homes/              the same
 *         <task> <run> <agent>/          0700, the workspace's own user's
 *       tmp/                             the same
 *
 * Where there are no separate users all of it is the server's own, 0700.
 */
@Injectable()
export class AgentPlaces {
  constructor(
    private readonly users: AgentUsers,
    private readonly kits: LaunchKit,
  ) {}

  /** Makes the folders that are missing, that of a conversation that has begun excepted: it must find it as it left it. */
  async prepare(run: ClaimedRun): Promise<AgentPlace> {
    const { home: wanted } = run.adapterConfig as { home?: 'server' | 'isolated' };
    const home = wanted ?? (this.users.separate ? 'isolated' : 'server');
    const user = (await this.users.of(run.workspaceId)).identity;
    const root = this.users.folderOf(run.workspaceId);
    await passage(root, user);
    const furnished = await this.makeWorkFolder(run, root, user);
    // In the server's own home an agent is the server's own user: nobody else could read it.
    if (home === 'server') return { identity: null, home, env: {}, furnished };
    const [homes, temporary] = [join(root, 'homes'), join(root, 'tmp')];
    await passage(homes, user);
    for (const folder of [join(homes, run.agentId), temporary]) await own(folder, user);
    return { identity: user, home, env: { HOME: join(homes, run.agentId), TMPDIR: temporary }, furnished };
  }

  /** Answers whether it made the folder and furnished it. */
  private async makeWorkFolder(run: ClaimedRun, root: string, user: MachineUser | null): Promise<boolean> {
    const { folder, acpSessionId } = run;
    const parent = dirname(folder);
    if (dirname(parent) === root) await passage(parent, user);
    // A worktree is made as its user, or found.
    if (run.repositoryId !== null) return false;
    const made = acpSessionId === null ? await mkdir(folder, { recursive: true, mode: 0o700 }) : undefined;
    // Before anybody else can reach it: no agent can lead this astray.
    const furnished = made !== undefined && (await this.kits.furnish(run));
    // New, or made before its workspace had a user of its own.
    if (user !== null && (made !== undefined || (await ownerOf(folder)) !== user.uid)) await giveAll(folder, user);
    return furnished;
  }
}

/** A folder that agents pass through without being able to change what is in it. Somebody may have taken it away since the last run. */
async function passage(folder: string, user: MachineUser | null): Promise<void> {
  const is = () => lstat(folder);
  const { uid, gid, mode } = await is().catch(() => mkdir(folder, { recursive: true, mode: 0o700 }).then(is));
  if (user === null) return;
  if (uid !== 0 || gid !== user.gid) await lchown(folder, 0, user.gid);
  if ((mode & 0o777) !== 0o710) await chmod(folder, 0o710);
}

/** A folder of the agents' own, in a passage. What is in it is not looked at. */
async function own(folder: string, user: MachineUser | null): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  if (user === null) return;
  const { uid, mode } = await lstat(folder);
  if ((mode & 0o777) !== 0o700) await chmod(folder, 0o700);
  if (uid !== user.uid) await lchown(folder, user.uid, user.gid);
}

/** Null: there is none. The launch says so. */
async function ownerOf(folder: string): Promise<number | null> {
  return lstat(folder).then(
    ({ uid }) => uid,
    () => null,
  );
}

/** Follows no link. The folder itself goes last: until then its next owner cannot exchange anything in it. */
async function giveAll(path: string, { uid, gid }: MachineUser): Promise<void> {
  const found = await lstat(path).catch(() => null);
  if (found === null) return;
  if (found.isDirectory()) for await (const { name } of await opendir(path)) await giveAll(join(path, name), { uid, gid });
  await lchown(path, uid, gid);
}
