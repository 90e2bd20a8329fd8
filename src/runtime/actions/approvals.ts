import { Injectable } from '@nestjs/common';
import { Approvals } from '../../inbox/approvals.service.js';
import { invalid, InputValidation } from '../../platform/http/input-validation.js';
import { ApprovalDesk } from '../approval-desk.service.js';
import { RequestedApprovalView } from '../approval.view.js';
import { HireDesk } from '../hire-desk.service.js';
import { RuntimeAction, type ActionCall, type ActionDeclaration } from '../runtime-action.js';
import { CreateAgentBody, RequestApprovalBody } from '../runtime.dto.js';

@Injectable()
export class RequestApproval extends RuntimeAction<RequestApprovalBody, RequestedApprovalView> {
  static readonly declared: ActionDeclaration = {
    action: 'request_approval',
    capability: 'request_approval',
    route: 'POST approvals',
    status: 201,
    summary: 'Ask a person. You are woken when they have decided. hire_agent proposes an agent that may do no more than you.',
    names: [{ field: 'target_id', kindIn: 'target_type' }],
    body: RequestApprovalBody,
    answer: RequestedApprovalView,
    idempotent: true,
    ofTask: true,
  };

  private readonly validation = new InputValidation();

  constructor(
    private readonly approvals: Approvals,
    private readonly hires: HireDesk,
    private readonly desk: ApprovalDesk,
  ) {
    super();
  }

  override async perform(call: ActionCall<RequestApprovalBody>): Promise<RequestedApprovalView> {
    const { tx, run, about } = call;
    const id = call.body.type === 'hire_agent' ? await this.proposeHire(call) : await this.ask(call);
    about('approval', id);
    return { approval: await this.desk.viewIn(tx, run.workspaceId, id) };
  }

  private async ask({ tx, run, body }: ActionCall<RequestApprovalBody>): Promise<string> {
    const { target_type: type, target_id: id } = body;
    if ((type === undefined) !== (id === undefined)) {
      throw invalid([{ path: type === undefined ? 'target_type' : 'target_id', problem: 'goes with the other: both or neither' }]);
    }
    return this.approvals.open(tx, {
      type: 'generic',
      agentId: run.agentId,
      runId: run.runId,
      taskId: run.taskId,
      target: type === undefined || id === undefined ? null : { type, id: id.toLowerCase() },
      reason: body.reason,
      payload: body.payload ?? {},
      shownHash: null,
    });
  }

  private async proposeHire({ tx, run, body }: ActionCall<RequestApprovalBody>): Promise<string> {
    if (body.target_type !== undefined || body.target_id !== undefined) {
      throw invalid([{ path: 'target_type', problem: 'is not for hire_agent: the agent does not exist yet' }]);
    }
    const wanted = (await this.validation.transform(body.payload ?? {}, { type: 'body', metatype: CreateAgentBody })) as CreateAgentBody;
    if (wanted.reports_to != null) await this.hires.assertColleague(tx, wanted.reports_to);
    wanted.reason = body.reason;
    const { approvalId } = await this.hires.hire(tx, run, wanted, 'always_asks');
    return approvalId!;
  }
}
