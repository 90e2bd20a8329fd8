import type { AgentPermissions, AgentRole, Capability } from '../access/domain/capabilities.js';
import type { WakeReason } from './domain/wake-reason.js';
import type { Prompt, PromptSeat } from './domain/prompt.js';

/** A run about to be claimed, with all that its prompt and launch are made of. Rows of one SQL statement, hence snake case. */
export interface ClaimInput {
  readonly run_id: string;
  readonly generation: number;
  readonly retry_count: number;
  /** Of its earlier attempts; null before the first. */
  readonly session_id: string | null;
  readonly reason: WakeReason;
  readonly capabilities: readonly Capability[] | null;
  /** The role they were frozen under; null with them. */
  readonly run_role: AgentRole | null;
  readonly depth: number;
  readonly agent_id: string;
  readonly agent_name: string;
  readonly agent_role: AgentRole;
  readonly permissions: AgentPermissions;
  readonly instructions: string | null;
  readonly adapter: string;
  readonly adapter_config: Readonly<Record<string, unknown>>;
  readonly consecutive_failures: number;
  readonly agent_running: number;
  readonly workspace_name: string;
  readonly task_id: string | null;
  readonly scope: string | null;
  readonly task: {
    readonly identifier: string;
    readonly title: string;
    readonly state: string;
    readonly step: string;
    readonly archived: boolean;
    readonly deleted: boolean;
    readonly assigneeId: string | null;
    readonly reviewAfterFailure: boolean;
    readonly description: string | null;
    readonly descriptionIsNews: boolean;
    readonly repositoryId: string | null;
  } | null;
  readonly session: {
    readonly id: string;
    readonly state: string;
    readonly acpSessionId: string | null;
    readonly adapter: string;
    readonly turns: number;
  } | null;
  readonly folder: string | null;
  readonly wakes: readonly { readonly id: string; readonly reason: WakeReason; readonly note: string | null }[];
  readonly refused_wakes: readonly { readonly reason: string; readonly why: string }[];
  readonly comments: readonly { readonly author: string; readonly body: string; readonly at: string }[];
  readonly comments_total: number;
  readonly open_blockers: readonly string[];
  readonly skills: readonly { readonly slug: string; readonly description: string }[];
  /** Another whenever one of them is. */
  readonly skills_version: string;
  /** It may decide at the step where the task stands. */
  readonly holds_seat: boolean;
  readonly seats: readonly PromptSeat[];
  readonly may_have_begun: boolean;
  /** A retry that is given up instead of being run. */
  readonly too_old: boolean;
  /** The open hold on its provider whose time is over: one run goes first. */
  readonly hold_id: string | null;
}

/** What the claim writes of one run: a row of `jsonb_to_recordset`, hence snake case. */
export interface ClaimWrite {
  readonly run_id: string;
  readonly agent_id: string;
  readonly task_id: string | null;
  readonly session_id: string;
  readonly new_session: boolean;
  /** The conversation so far belongs to another program: it is kept in the history only. */
  readonly new_conversation: boolean;
  readonly adapter: string;
  readonly path: string;
  readonly repository_id: string | null;
  readonly task_starts: boolean;
  readonly capabilities: readonly Capability[];
  readonly role: AgentRole;
  readonly input_snapshot: object;
  readonly stale_wake_ids: readonly string[];
}

export interface WrittenClaim {
  readonly run_id: string;
  readonly generation: number;
  readonly execution_id: string;
}

/** A run this server has claimed and now owns until it is settled: the fencing pair is (runId, generation). */
export interface ClaimedRun {
  readonly runId: string;
  readonly generation: number;
  readonly executionId: string;
  readonly workspaceId: string;
  readonly agentId: string;
  readonly taskId: string | null;
  readonly sessionId: string;
  readonly adapter: string;
  readonly adapterConfig: Readonly<Record<string, unknown>>;
  readonly acpSessionId: string | null;
  readonly folder: string;
  /** Where the folder is to be a worktree of; null: an empty folder. */
  readonly repositoryId: string | null;
  readonly prompt: Prompt;
  /** Of the workspace's skills when it was claimed. */
  readonly skillsVersion: string;
  readonly reason: WakeReason;
  /** What the run may do, and the role that some rules ask for; frozen by its first claim. */
  readonly capabilities: readonly Capability[];
  readonly role: AgentRole;
  /** 1 for the first attempt. */
  readonly attempt: number;
  /** 1 for the first turn of the session. */
  readonly turn: number;
}
