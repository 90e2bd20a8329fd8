import { ApiProperty } from '@nestjs/swagger';
import { ERROR_CLASSES, type ErrorClass } from '../diagnosis/domain/codes.js';
import { pageOf } from '../platform/http/page.view.js';
import { UsageView } from '../workspaces/usage.view.js';
import { RUN_PILLS, RUN_STATUSES, type RunPill, type RunStatus } from './domain/run-status.js';
import { WAITING_ON, type WaitingOn } from './domain/waiting-on.js';

/** The task of a run, by name. */
export class RunTaskView {
  id!: string;
  /** `<prefix>-<number>`; stays after the task is deleted. */
  identifier!: string;
  title!: string;
}

/** One row of a list of runs: narrow, never the payload. */
export class RunRowView {
  id!: string;
  agent_id!: string;
  @ApiProperty({ enum: RUN_STATUSES }) status!: RunStatus;
  /** How the Runs tab shows it: a retry that waits is `queued`, a timeout is `failed`. */
  @ApiProperty({ enum: RUN_PILLS }) pill!: RunPill;
  reason!: string;
  note!: string | null;
  @ApiProperty({ type: RunTaskView, nullable: true }) task!: RunTaskView | null;
  requested_at!: string;
  started_at!: string | null;
  finished_at!: string | null;
  /** One line of what went wrong; the whole payload is in the run itself. */
  error_summary!: string | null;
  error_code!: string | null;
  /** transient: it may pass by itself. hard: somebody has to do something. unclassified: nobody knows. */
  @ApiProperty({ enum: ERROR_CLASSES, nullable: true }) error_class!: ErrorClass | null;
  /** Who has to do what about the failure, in one line. */
  hint!: string | null;
  /** Why a waiting run does not run; null for any other. */
  @ApiProperty({ enum: WAITING_ON, nullable: true }) waiting_on!: WaitingOn | null;
  /** When what it waits for ends, where that is known. */
  waiting_until!: string | null;
}

export class RunPage extends pageOf(RunRowView) {}

/** One claim of a run. */
export class AttemptView {
  generation!: number;
  host_id!: string;
  execution_id!: string | null;
  claimed_at!: string;
  launched_at!: string | null;
  started_at!: string | null;
  finished_at!: string | null;
  /** turn_ended, stopped, error, timed_out, interrupted, requeued; null while it lasts. */
  outcome!: string | null;
  error_code!: string | null;
  error_class!: string | null;
  /** The row of the catalogue that said so. */
  rule!: string | null;
  /** What this attempt failed with, as the agent sent it. */
  error_payload!: string | null;
  /** What was known of a failed invocation: phase, output and effect seen, exit, the tail of stderr. */
  @ApiProperty({ type: 'object', additionalProperties: true, nullable: true }) evidence!: object | null;
  /** A result that came after somebody else had settled the run. */
  @ApiProperty({ type: 'object', additionalProperties: true, nullable: true }) late_result!: object | null;
  /** Tokens and cost as its agent told them: `{input_tokens, output_tokens, total_tokens, cost?: {amount, currency}}`. */
  @ApiProperty({ type: 'object', additionalProperties: true, nullable: true }) usage!: object | null;
}

/** One request that led to, or joined, a run. */
export class WakeView {
  id!: string;
  reason!: string;
  note!: string | null;
  outcome!: string;
  @ApiProperty({
    type: 'object',
    properties: { kind: { type: 'string' }, id: { type: 'string', nullable: true } },
    required: ['kind', 'id'],
  })
  actor!: { kind: string; id: string | null };
  /** Left out of the prompt because it meant nothing any more when the run was claimed. */
  stale!: boolean;
  requested_at!: string;
}

/** A run with everything that is known of it. */
export class RunView extends RunRowView {
  workspace_id!: string;
  session_id!: string | null;
  /** The raw payload of the failure, as the agent sent it. */
  error_message!: string | null;
  /** When the limit it failed on ends, if the provider said so. */
  retry_after!: string | null;
  /** `interrupted` failures are nobody's fault and are not counted. */
  failure_kind!: string | null;
  cancel_reason!: string | null;
  merged_into!: string | null;
  stop_reason!: string | null;
  stop_requested_at!: string | null;
  generation!: number;
  retry_count!: number;
  claimed_at!: string | null;
  launched_at!: string | null;
  /** What the agent may do, frozen when the run was first claimed. */
  @ApiProperty({ type: [String], nullable: true }) capabilities!: string[] | null;
  /** What the agent was told, as composed at the claim. */
  @ApiProperty({ type: 'object', properties: { preamble: { type: 'string' }, turn: { type: 'string' } }, nullable: true })
  prompt!: { preamble: string; turn: string } | null;
  /** Of all its attempts; null where none told. */
  @ApiProperty({ type: UsageView, nullable: true }) usage!: UsageView | null;
  causation_id!: string | null;
  depth!: number;
  @ApiProperty({ type: [AttemptView] }) attempts!: AttemptView[];
  /** The newest 200. */
  @ApiProperty({ type: [WakeView] }) wakes!: WakeView[];
}

/** One line of a run's own log. */
export class RunEventView {
  seq!: number;
  event_type!: string;
  level!: string;
  @ApiProperty({ type: 'object', additionalProperties: true }) payload!: object;
  created_at!: string;
}

export class RunEventPage extends pageOf(RunEventView) {}

/** What became of a wake somebody asked for. */
export class WakeAnswerView {
  run_id!: string;
  @ApiProperty({ enum: ['queued', 'coalesced', 'deduplicated'] }) outcome!: 'queued' | 'coalesced' | 'deduplicated';
}

/** A stop that has been asked for; the run ends when its process has. */
export class StopView {
  run_id!: string;
  @ApiProperty({ enum: RUN_STATUSES }) status!: RunStatus;
  stop_requested_at!: string | null;
}
