/** A user and a group of this machine. */
export interface Identity {
  readonly uid: number;
  readonly gid: number;
}

/** As whom agents, and git on their folders, run for a workspace. */
export interface WorkspaceAccount {
  /** Null: as the office itself. */
  readonly identity: Identity | null;
  /** Where that user's own settings are, for a push; null: the office's own. */
  readonly home: string | null;
}

/** Declared here for git; whoever gives workspaces users of their own fills it. */
export abstract class WorkspaceAccounts {
  abstract of(workspaceId: string): Promise<WorkspaceAccount>;
}

/** Everything runs as the office itself. */
export class OfficeAccount extends WorkspaceAccounts {
  override of(): Promise<WorkspaceAccount> {
    return Promise.resolve({ identity: null, home: null });
  }
}
