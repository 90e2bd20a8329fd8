import { Injectable } from '@nestjs/common';
import { ModuleRef } from '@nestjs/core';
import type { IdempotentRequest } from '../access/call.js';
import { referencesOf, targetOf, type Fields, type RunIdentity, type RunRequirement } from '../access/domain/run-access.js';
import { CAPABILITIES } from '../access/domain/capabilities.js';
import { IdempotentCommands } from '../access/idempotent-commands.service.js';
import { MissingCapabilities } from '../inbox/missing-capabilities.service.js';
import { UnitOfWork } from '../platform/database/unit-of-work.js';
import { OfficeError, type OfficeErrorCode } from '../platform/errors/office-error.js';
import { appendRunEvent, noteRun } from '../runs/run-notes.js';
import { RunFence } from './run-fence.js';
import { RunSecrets } from '../transcript/run-secrets.service.js';
import { actorOf, RefusedWithEffect, type ActionClass, type RuntimeAction } from './runtime-action.js';

/** A request that has passed every guard, with a body that has passed its validation. */
export interface AdmittedCall {
  readonly run: RunIdentity;
  readonly body: object;
  /** Path and body as they came. */
  readonly fields: Fields;
  readonly idempotency: IdempotentRequest | null;
}

/** What is remembered of an action under its Idempotency-Key: the view, or the refusal that was committed. */
type Kept =
  { readonly view: object } | { readonly refused: { readonly code: OfficeErrorCode; readonly facts: Readonly<Record<string, unknown>> } };

/**
 * The one way by which anything an agent asks for is done, over REST and MCP alike: in one transaction the run is found to be
 * running still, the action does its work, and the run's log says so.
 */
@Injectable()
export class RuntimeActions {
  constructor(
    private readonly parts: ModuleRef,
    private readonly commands: IdempotentCommands,
    private readonly unitOfWork: UnitOfWork,
    private readonly fence: RunFence,
    private readonly secrets: RunSecrets,
    private readonly missing: MissingCapabilities,
  ) {}

  async perform(action: ActionClass, { run, body, fields, idempotency }: AdmittedCall): Promise<object> {
    const { declared } = action;
    const doer = this.doerOf(action);
    // What nobody is to read is kept nowhere, whoever says it (contract 11a).
    const said = this.secrets.of(run).maskJson(body) as object;
    const changed = referencesOf(declared.names, fields, run).find(({ changes }) => changes)?.id ?? null;
    const kept = await this.commands.once<Kept>({ idempotency }, run.workspaceId, async (tx) => {
      const task = await this.fence.hold(tx, run, changed);
      let target = targetOf(declared.names, fields, run);
      const about = (type: string, id: string): void => void (target = { type, id });
      const done = await doer.perform({ tx, run, actor: actorOf(run), body: said, params: fields, task, about });
      const told = { action: declared.action, target_type: target.type, target_id: target.id };
      if (done instanceof RefusedWithEffect) {
        const { code, facts } = done.error;
        appendRunEvent(tx, run.runId, 'runtime.denied', 'warn', { ...told, error: code });
        return { refused: { code, facts } };
      }
      appendRunEvent(tx, run.runId, 'runtime.action', 'info', told);
      return { view: done };
    });
    if ('view' in kept) return kept.view;
    throw new CommittedRefusal(kept.refused.code, kept.refused.facts);
  }

  /**
   * A refusal is written down by itself: whatever it refused has been undone. Not of one that is in the log already. One for want
   * of a capability goes before a person; one of scope never does, for there is nothing to grant.
   */
  async noteRefusal(run: RunIdentity, { action, names }: RunRequirement, fields: Fields, error: OfficeError): Promise<void> {
    if (error instanceof CommittedRefusal) return;
    const { type, id } = targetOf(names, fields, run);
    const told = { action, target_type: type, target_id: id, error: error.code };
    const needed = CAPABILITIES.find((one) => error.code === 'capability_denied' && one === error.facts['needed']);
    await this.unitOfWork.run(run.workspaceId, async (tx) => {
      await noteRun(tx, run.runId, 'runtime.denied', 'warn', told);
      if (needed !== undefined) await this.missing.miss(tx, run.runId, needed, action);
    });
  }

  private doerOf(action: ActionClass): RuntimeAction {
    try {
      return this.parts.get<RuntimeAction>(action, { strict: false });
    } catch {
      throw new OfficeError('runtime_dependency_missing', { action: action.declared.action });
    }
  }
}

/** Its `runtime.denied` was committed with what it kept. */
class CommittedRefusal extends OfficeError {}
