export const STEP_KINDS = ['work', 'review', 'approval', 'done'] as const;
export type StepKind = (typeof STEP_KINDS)[number];

/** A step as it is to be made. */
export interface StepPlan {
  readonly name: string;
  readonly kind: StepKind;
  /** The step ends when its agent says so, not when a turn does. */
  readonly requiresSignal: boolean;
  /** Whom a failed run on this step is told to. */
  readonly onAgentError: { readonly target: string } | null;
}

/** What every new workspace begins with (contract 9). */
export const OFFICE_WORKFLOW = {
  name: 'Office default',
  style: 'office',
  steps: [
    { name: 'Work', kind: 'work', requiresSignal: true, onAgentError: { target: 'ceo' } },
    { name: 'Review', kind: 'review', requiresSignal: false, onAgentError: null },
    { name: 'Approval', kind: 'approval', requiresSignal: false, onAgentError: null },
    { name: 'Done', kind: 'done', requiresSignal: false, onAgentError: null },
  ],
} as const satisfies { name: string; style: 'office' | 'kanban'; steps: readonly StepPlan[] };
