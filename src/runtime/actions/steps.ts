import { Injectable } from '@nestjs/common';
import { OfficeError } from '../../platform/errors/office-error.js';
import { CompletionSignals } from '../../sessions/completion-signals.service.js';
import { TaskGate } from '../../tasks/task-gate.service.js';
import { RuntimeAction, type ActionCall, type ActionDeclaration } from '../runtime-action.js';
import { CompleteStepBody, DecideOnTaskBody } from '../runtime.dto.js';
import { MadeDecisionView, SignalView } from '../runtime.view.js';

@Injectable()
export class CompleteStep extends RuntimeAction<CompleteStepBody, SignalView> {
  static readonly declared: ActionDeclaration = {
    action: 'step_complete',
    capability: 'update_task_status',
    route: 'POST tasks/:task_id/step-complete',
    status: 200,
    summary: 'Say that the step of your own task is complete. It counts when your turn has ended well.',
    names: [{ field: 'task_id', kind: 'task', changes: true, isTarget: true }],
    body: CompleteStepBody,
    answer: SignalView,
    idempotent: true,
    ofTask: true,
  };

  constructor(private readonly signals: CompletionSignals) {
    super();
  }

  override perform({ tx, run, body, task }: ActionCall<CompleteStepBody>): Promise<SignalView> {
    // Whoever may change every task still ends the step of no conversation but its own.
    if (task!.id !== run.taskId) throw new OfficeError('task_out_of_scope');
    const words = { summary: body.summary, handoff: body.handoff ?? null, blockers: body.blockers ?? null };
    return this.signals.signal(tx, run.workspaceId, run, run.taskId, words);
  }
}

@Injectable()
export class Decide extends RuntimeAction<DecideOnTaskBody, MadeDecisionView> {
  static readonly declared: ActionDeclaration = {
    action: 'decide',
    capability: 'decide',
    route: 'POST tasks/:task_id/decisions',
    status: 201,
    summary: 'Approve the task, or ask for changes, at the step where it stands; only if you have a seat there.',
    names: [{ field: 'task_id', kind: 'task', changes: true, isTarget: true }],
    body: DecideOnTaskBody,
    answer: MadeDecisionView,
    idempotent: true,
    ofTask: true,
  };

  constructor(private readonly gate: TaskGate) {
    super();
  }

  override async perform({ tx, run, body, task, actor }: ActionCall<DecideOnTaskBody>): Promise<MadeDecisionView> {
    const word = { decision: body.decision, note: body.note ?? null };
    const { seat, decision } = await this.gate.decide(tx, run.workspaceId, task!.id, word, { actor, mayStandIn: false, seatId: null });
    return { decision_id: decision.id, task_id: task!.id, step_id: seat.stepId, decision: decision.decision };
  }
}
