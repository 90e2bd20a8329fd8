/**
 * Every refusal the office can utter, with its HTTP status and its sentence. A new code without both does not compile.
 * On the wire: `{ "error": <sentence>, "code": <code>, ...facts }`.
 */
export const OFFICE_ERRORS = {
  validation_failed: [400, 'The request is not valid.'],
  invalid_json: [400, 'The request body is not valid JSON.'],
  malformed_request: [400, 'The request could not be understood.'],
  invalid_cursor: [400, 'The cursor is not one of ours.'],
  missing_runtime_token: [401, 'missing runtime token'],
  invalid_runtime_token: [401, 'invalid runtime token'],
  unauthenticated: [401, 'A valid access token is required.'],
  forbidden: [403, 'You may not do this.'],
  capability_denied: [403, 'This run may not do that.'],
  workspace_out_of_scope: [403, 'There is no such thing in the workspace of this run.'],
  task_out_of_scope: [403, 'This run may not change that task.'],
  not_found: [404, 'There is no such thing here.'],
  route_not_found: [404, 'There is no such route.'],
  method_not_allowed: [405, 'The route does not take this method.'],
  request_timeout: [408, 'The request took too long to arrive.'],
  resync_required: [410, 'What follows that place is not kept any more; take a new picture and go on from its last_seq.'],
  body_too_large: [413, 'The request body is larger than 1 MiB.'],
  uri_too_long: [414, 'The path is too long.'],
  unsupported_media_type: [415, 'Send JSON.'],
  headers_too_large: [431, 'The request headers are too large.'],
  in_progress: [409, 'A request with this Idempotency-Key is still being worked on.'],
  idempotency_key_reused: [409, 'This Idempotency-Key was used for another request.'],
  stale_write: [409, 'Somebody else changed this first; read it again.'],
  illegal_transition: [409, 'It cannot go from its present state to that one.'],
  handle_taken: [409, 'Another agent of the workspace has this handle.'],
  last_admin: [409, 'A workspace keeps at least one admin.'],
  agent_not_active: [409, 'The agent is archived, stopped or waits for approval.'],
  agent_archived: [409, 'The agent is archived.'],
  reporting_cycle: [409, 'An agent cannot report to itself, directly or through others.'],
  task_not_open: [409, 'The task is done, cancelled or archived.'],
  approvals_pending: [409, 'The task is not done before those have approved it.'],
  no_next_step: [409, 'There is no step after this one.'],
  seat_required: [403, 'Only the holder of a seat at the step where the task stands decides.'],
  no_gate: [409, 'Decisions are made at a review or an approval step only.'],
  step_in_use: [409, 'Tasks stand on the step, or have stood on it.'],
  step_kind_fixed: [409, 'The kind of a step does not change.'],
  workflow_in_use: [409, 'Tasks go through the workflow.'],
  office_workflow_fixed: [409, 'The Office workflow of a workspace stays.'],
  project_in_use: [409, 'Tasks belong to the project.'],
  blocker_cycle: [409, 'A task cannot wait for itself, directly or through others.'],
  subtask_too_deep: [409, 'Subtasks may not be nested that deep by this agent.'],
  memory_conflict: [409, 'Somebody else wrote this first; read it again.'],
  memory_full: [409, 'This namespace holds as many entries as it may.'],
  skill_read_only: [409, 'The skill belongs to the office and cannot be changed.'],
  too_many_skills: [409, 'The workspace has as many skills as it may.'],
  slug_taken: [409, 'Another skill of the workspace has this slug.'],
  already_decided: [409, 'The approval has been decided already.'],
  hire_changed: [409, 'The agent is not what the approval shows any more; reject it, or change it back.'],
  session_not_failed: [409, 'The session has not failed.'],
  item_not_fixable: [409, 'This item is answered in another way than Mark fixed.'],
  permission_answered: [409, 'The request was answered otherwise.'],
  permission_gone: [409, 'Nobody waits for this answer any more: the run has ended, the request was taken back, or its time is over.'],
  pause_changed: [409, 'The agent is not in that pause any more; look at the inbox again.'],
  paused_by_person: [409, 'A person has paused the agent; it has to be unpaused.'],
  run_not_in_flight: [409, 'The run has ended already.'],
  wake_refused: [409, 'The wake was refused.'],
  repository_unusable: [422, 'The repository cannot be used.'],
  repository_taken: [409, 'This repository is registered here already.'],
  task_busy: [409, 'An agent is at work on the task, or just leaving it.'],
  host_offline: [409, 'The folder is on another host.'],
  worktree_not_clean: [409, 'The worktree holds work that is nowhere else.'],
  worktree_unusable: [409, 'Git cannot work with this worktree.'],
  push_failed: [409, 'Git could not push the branch.'],
  too_many_connections: [503, 'This server has as many open connections as it takes.'],
  office_not_open: [503, 'This server is still starting, or has been replaced; try again.'],
  database_unavailable: [503, 'The database does not answer; try again.'],
  runtime_dependency_missing: [500, 'The office lacks a part that this needs.'],
  internal_error: [500, 'Something went wrong here; the request id finds it in the log.'],
} as const satisfies Record<string, readonly [number, string]>;

export type OfficeErrorCode = keyof typeof OFFICE_ERRORS;

/** A refusal with its facts. Facts are for the reader: no secrets, no other tenant's ids. */
export class OfficeError extends Error {
  constructor(
    readonly code: OfficeErrorCode,
    readonly facts: Readonly<Record<string, unknown>> = {},
  ) {
    super(OFFICE_ERRORS[code][1]);
    this.name = 'OfficeError';
  }

  get status(): number {
    return OFFICE_ERRORS[this.code][0];
  }
}
