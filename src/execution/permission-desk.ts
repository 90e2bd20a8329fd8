import type { Clock } from '../platform/clock/clock.js';
import { newId } from '../platform/ids.js';
import type { ExecutionEvent, LaunchConfig, PermissionDecision } from './agent-runtime.js';
import { permissionAbout } from './domain/permission-about.js';
import { CANCELLED, choosePermission, type PermissionOutcome } from './domain/permission-choice.js';

/** More questions at once than a person could ever be asked; what comes on top is refused. */
const WAITING_AT_MOST = 64;

export interface PermissionListener {
  tell(event: ExecutionEvent, bytes: number): void;
  /** Somebody is being waited for, or nobody any more. */
  waiting(now: boolean): void;
  /** The agent was refused what it asked for. */
  refused(): void;
}

type Request = Readonly<Record<string, unknown>>;
type Verdict = PermissionDecision | 'withdrawn';

/** The permission requests of one execution: answered by policy, by a person, or, too late, with no. */
export class PermissionDesk {
  private readonly open = new Map<string, (verdict: Verdict) => void>();

  constructor(
    private readonly policy: LaunchConfig['permissionPolicy'],
    private readonly incidental: readonly string[] | undefined,
    private readonly expiresMs: number,
    private readonly clock: Clock,
    private readonly listener: PermissionListener,
  ) {}

  /** A question of the agent is open. */
  get waits(): boolean {
    return this.open.size > 0;
  }

  /** Resolves to what the agent is answered. `withdrawn` aborts when the agent takes its question back. */
  ask(request: Request, bytes: number, withdrawn: AbortSignal): Promise<PermissionOutcome> {
    const requestId = newId();
    const waits = this.policy === 'ask' && this.open.size < WAITING_AT_MOST && !withdrawn.aborted;
    this.listener.tell(
      { type: 'permission_requested', requestId, request, about: permissionAbout(request, this.incidental), waits },
      bytes,
    );
    return new Promise((resolve) => {
      const settle = (verdict: Verdict): void => resolve(this.settle(requestId, request, verdict));
      if (waits) this.wait(requestId, withdrawn, settle);
      else if (withdrawn.aborted) settle('withdrawn');
      else settle(this.policy === 'allow' ? 'allow_once' : 'deny');
    });
  }

  /** False when no such request waits. */
  answer(requestId: string, decision: PermissionDecision): boolean {
    const settle = this.open.get(requestId);
    settle?.(decision);
    return settle !== undefined;
  }

  /** Nobody will answer any more: the turn is over or being cancelled. */
  close(): void {
    for (const settle of this.open.values()) settle('withdrawn');
  }

  private wait(requestId: string, withdrawn: AbortSignal, settle: (verdict: Verdict) => void): void {
    const once = (verdict: Verdict): void => {
      if (!this.open.delete(requestId)) return;
      late.cancel();
      withdrawn.removeEventListener('abort', withdraw);
      if (this.open.size === 0) this.listener.waiting(false);
      settle(verdict);
    };
    const withdraw = (): void => once('withdrawn');
    const late = this.clock.after(this.expiresMs, () => once('deny'));
    withdrawn.addEventListener('abort', withdraw, { once: true });
    this.open.set(requestId, once);
    if (this.open.size === 1) this.listener.waiting(true);
  }

  /** Told at once, so that the answer stands before whatever its withdrawal leads to. */
  private settle(requestId: string, request: Request, verdict: Verdict): PermissionOutcome {
    const decision = verdict === 'withdrawn' ? 'deny' : verdict;
    const choice = this.policy === 'allow' && decision === 'allow_once' ? 'allow_any' : decision;
    const outcome = verdict === 'withdrawn' ? CANCELLED : choosePermission(request['options'], choice);
    if (verdict === 'deny' || (verdict !== 'withdrawn' && outcome === CANCELLED)) this.listener.refused();
    this.listener.tell({ type: 'permission_answered', requestId, decision }, 0);
    return outcome;
  }
}
