import type { Cost, Usage } from './agent-runtime.js';
import type { Answer, Update } from './domain/frame.js';
import { costOf, costSince, usageOf, withCost } from './domain/usage.js';

/** What the turns of one agent have used, by its own word. */
export class UsageMeter {
  private before: Cost | null = null;
  private now: Cost | null = null;
  private tokens: Usage | null = null;
  private turning = false;

  /** A turn begins: what was told until then is not its own. */
  begin(): void {
    this.before = this.now;
    this.tokens = null;
    this.turning = true;
  }

  /** Every update, those of a replayed history too. */
  hear(update: Update): void {
    this.now = costOf(update) ?? this.now;
  }

  answered(answer: Answer): void {
    if (answer.kind === 'result') this.tokens = usageOf(answer.value);
  }

  /** Of the turn that is open, or was last. */
  get usage(): Usage | null {
    const hasTold = this.turning && this.now !== null && this.now !== this.before;
    return withCost(this.tokens, hasTold ? costSince(this.before, this.now!) : null);
  }

  /** The same as a part of an outcome that need not have one. */
  get part(): { readonly usage?: Usage } {
    const { usage } = this;
    return usage === null ? {} : { usage };
  }
}
