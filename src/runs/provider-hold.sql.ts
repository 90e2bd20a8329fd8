/** The open hold on what an agent works with; `a` is the agent, `ph` the hold. Nothing of the agent is computed where there is none. */
export const HOLD_OF_AGENT = `ph.workspace_id = a.workspace_id and ph.ended_at is null and ph.adapter = a.adapter
  and ph.credential = office_credential(a.adapter_config)`;

/** A hold whose time is over lets one run go first; while that runs, the others wait for what becomes of it. */
const FIRST_IS_OUT = `exists (select from runs pf where pf.id = ph.first_run_id and pf.status = 'running')`;

/** Whether a hold keeps the run waiting, and until when, where that is known. */
export const PROVIDER_LIMITED = `exists (select from provider_holds ph where ${HOLD_OF_AGENT} and (ph.held_until > now() or ${FIRST_IS_OUT}))`;
export const HELD_UNTIL = `(select case when ph.held_until > now() then ph.held_until end from provider_holds ph where ${HOLD_OF_AGENT})`;

/** A hold that nobody has gone first for: `ph`. */
export const NOBODY_WENT_FIRST = `ph.ended_at is null and ph.held_until <= now() and not ${FIRST_IS_OUT}`;
