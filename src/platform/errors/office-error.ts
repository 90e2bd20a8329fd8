/**
 * Every refusal the office can utter, with its HTTP status and its sentence. A new code without both does not compile.
 * On the wire: `{ "error": <sentence>, "code": <code>, ...facts }`.
 */
export const OFFICE_ERRORS = {
  validation_failed: [400, 'The request is not valid.'],
  invalid_json: [400, 'The request body is not valid JSON.'],
  malformed_request: [400, 'The request could not be understood.'],
  invalid_cursor: [400, 'The cursor is not one of ours.'],
  unauthenticated: [401, 'A valid access token is required.'],
  forbidden: [403, 'You may not do this.'],
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
  session_not_failed: [409, 'The session has not failed.'],
  item_not_fixable: [409, 'This item is answered in another way than Mark fixed.'],
  pause_changed: [409, 'The agent is not in that pause any more; look at the inbox again.'],
  paused_by_person: [409, 'A person has paused the agent; it has to be unpaused.'],
  run_not_in_flight: [409, 'The run has ended already.'],
  wake_refused: [409, 'The wake was refused.'],
  too_many_connections: [503, 'This server has as many open connections as it takes.'],
  database_unavailable: [503, 'The database does not answer; try again.'],
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
