import type { Actor } from '../../platform/actor.js';

/** Who goes first. Stored as its index; 0 is the most urgent. */
export const WAKE_CLASSES = ['human', 'event', 'recovery', 'periodic'] as const;
export type WakeClass = (typeof WAKE_CLASSES)[number];
export const rankOf = (wakeClass: WakeClass): number => WAKE_CLASSES.indexOf(wakeClass);

/** What must still hold at the claim for the wake to be worth anything (contract 3). */
export type StaleWhen = 'never' | 'not_assignee' | 'seat_gone';

interface ReasonRow {
  /** `actor`: human from a person, else event. */
  readonly class: WakeClass | 'actor';
  readonly staleWhen: StaleWhen;
  /** How the prompt says it. */
  readonly words: string;
}

/** The registry of reasons: class, staleness and wording in one place (contract 3). */
export const WAKE_REASONS = {
  user_comment: { class: 'human', staleWhen: 'not_assignee', words: 'A person commented on your task.' },
  manual_resume_after_failure: {
    class: 'human',
    staleWhen: 'never',
    words: 'A person says the cause of your earlier failure is fixed. Continue where you stopped.',
  },
  manual_start_fresh: { class: 'human', staleWhen: 'never', words: 'A person asks you to begin this task afresh.' },
  manual_run: { class: 'human', staleWhen: 'never', words: 'A person asked you to work now.' },
  mentioned: { class: 'actor', staleWhen: 'never', words: 'You were mentioned in a comment.' },
  approval_resolved: { class: 'actor', staleWhen: 'never', words: 'An approval you asked for has been decided.' },
  task_assigned: { class: 'event', staleWhen: 'not_assignee', words: 'This task was assigned to you.' },
  task_blockers_resolved: {
    class: 'event',
    staleWhen: 'not_assignee',
    words: 'Nothing blocks this task any more.',
  },
  task_children_completed: { class: 'event', staleWhen: 'not_assignee', words: 'All subtasks of this task are finished.' },
  task_changes_requested: { class: 'event', staleWhen: 'not_assignee', words: 'Reviewers ask for changes.' },
  task_ready_to_close: { class: 'event', staleWhen: 'not_assignee', words: 'This task is ready to be closed.' },
  task_review_requested: { class: 'event', staleWhen: 'seat_gone', words: 'Your review is asked for.' },
  agent_comment: { class: 'event', staleWhen: 'never', words: 'Another agent commented on your task.' },
  agent_spawned: { class: 'event', staleWhen: 'never', words: 'Another agent asked you to work.' },
  agent_error: { class: 'event', staleWhen: 'never', words: 'Another agent failed and you coordinate.' },
  resumed_after_interruption: {
    class: 'recovery',
    staleWhen: 'never',
    words: 'Your last turn was cut off by a restart. Continue where you stopped.',
  },
  routine: { class: 'periodic', staleWhen: 'never', words: 'A routine of yours is due.' },
} as const satisfies Record<string, ReasonRow>;

export type WakeReason = keyof typeof WAKE_REASONS;
export const WAKE_REASON_NAMES = Object.keys(WAKE_REASONS) as WakeReason[];

export function classOf(reason: WakeReason, actor: Actor): WakeClass {
  const declared = WAKE_REASONS[reason].class;
  if (declared !== 'actor') return declared;
  return actor.kind === 'user' ? 'human' : 'event';
}

/** A chain of wakes caused by wakes may be this long; one more is refused (contract 3). */
export const MAX_DEPTH = 8;
