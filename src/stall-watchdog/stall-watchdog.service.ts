import { Injectable } from '@nestjs/common';
import { Clock } from '../platform/clock/clock.js';
import { DecisionWaiting } from './decision-waiting.pass.js';
import { QuietRuns } from './quiet-runs.pass.js';
import { StrandedSignals } from './stranded-signals.pass.js';
import { TickBudget } from './tick-budget.js';
import { Tick } from './tick.js';

const BUDGET_MS = 20_000;

/** Detects what stalls. The passes are siblings: a task that waits for a decision need not have any conversation. */
@Injectable()
export class StallWatchdog {
  constructor(
    private readonly signals: StrandedSignals,
    private readonly decisions: DecisionWaiting,
    private readonly quiet: QuietRuns,
    private readonly clock: Clock,
  ) {}

  /** One tick, within one budget. `leads` is asked again and again: a server that leads no more stops at once. */
  async tick(leads: () => boolean = () => true): Promise<void> {
    const tick = new Tick(new TickBudget(this.clock, BUDGET_MS), leads);
    // Side by side: what one of them waits for is not the other's delay. Quiet turns come after signals: one that is being closed for its
    // signal is not told of as quiet, too.
    const ends = await Promise.allSettled([this.signals.look(tick).then(() => this.quiet.look(tick)), this.decisions.look(tick)]);
    for (const end of ends) if (end.status === 'rejected') throw end.reason;
  }

  /** Another server looks now. */
  rest(): void {
    this.signals.forgetAll();
    this.decisions.forgetAll();
    this.quiet.forgetAll();
  }
}
