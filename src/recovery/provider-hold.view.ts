import { pageOf } from '../platform/http/page.view.js';

/** A provider that takes no more work on one credential; runs of agents with that credential wait behind it. */
export class ProviderHoldView {
  id!: string;
  adapter!: string;
  /** A fingerprint, the same for agents that share the credential. */
  credential!: string;
  /** One line of what the provider said. */
  summary!: string;
  /** The run that ran into the limit, and its agent. */
  run_id!: string;
  agent_id!: string;
  /** When the provider takes work again, as it said. */
  reset_at!: string;
  /** Until when runs wait; then one goes first. */
  held_until!: string;
  opened_at!: string;
  /** How many runs wait behind it now. */
  waiting_runs!: number;
}

export class ProviderHoldPage extends pageOf(ProviderHoldView) {}

export class LiftedHoldView {
  id!: string;
  lifted!: boolean;
}
