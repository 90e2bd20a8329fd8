import { Injectable, Logger } from '@nestjs/common';
import type { CallToolResult, Tool } from '@modelcontextprotocol/sdk/types.js';
import { referencesOf, type Fields, type RunIdentity } from '../../access/domain/run-access.js';
import { RunDoor } from '../../access/run-door.service.js';
import type { McpMode } from '../../execution/agent-runtime.js';
import { ApiDocument } from '../../platform/http/api-document.js';
import { refusalOf, wireRefusal } from '../../platform/http/office-error.filter.js';
import { invalid, InputValidation } from '../../platform/http/input-validation.js';
import { newId } from '../../platform/ids.js';
import { RUNTIME_ACTIONS } from '../all-actions.js';
import { toolSchema, type ToolSchema } from '../domain/tool-schema.js';
import { handlerName, type ActionClass, type ActionDeclaration } from '../runtime-action.js';
import { RuntimeActions } from '../runtime-actions.service.js';

/** The actions as tools: the same guards, the same validation, the same work; only the envelope is another. */
@Injectable()
export class McpTools {
  private readonly logger = new Logger(McpTools.name);
  private readonly validation = new InputValidation();
  private readonly schemas = new Map<string, ToolSchema>();

  constructor(
    private readonly door: RunDoor,
    private readonly actions: RuntimeActions,
    private readonly document: ApiDocument,
  ) {}

  /** What this run is offered: what it may use, of what its mode shows. */
  list(run: RunIdentity, mode: McpMode): Tool[] {
    return RUNTIME_ACTIONS.map(({ declared }) => declared)
      .filter((declared) => isShown(declared, mode) && (declared.capability === null || run.capabilities.includes(declared.capability)))
      .map((declared) => ({
        name: declared.action,
        description: declared.summary,
        inputSchema: this.schemaOf(declared),
        annotations: { readOnlyHint: declared.route.startsWith('GET '), openWorldHint: false },
      }));
  }

  /** Null: the mode shows no such tool. A refusal is a result, for the model to read. */
  async call(run: RunIdentity, mode: McpMode, name: string, given: Fields): Promise<CallToolResult | null> {
    const action = RUNTIME_ACTIONS.find(({ declared }) => declared.action === name && isShown(declared, mode));
    if (action === undefined) return null;
    const fields = withOwnTask(action.declared, given, run);
    try {
      const view = await this.perform(action, run, fields);
      return { content: [{ type: 'text', text: JSON.stringify(view) }], structuredContent: view as Record<string, unknown> };
    } catch (error) {
      const refusal = refusalOf(error, newId());
      if (refusal.status >= 500) this.logger.error({ run_id: run.runId, action: name, err: error, ...refusal.facts }, 'tool failed');
      else await this.actions.noteRefusal(run, action.declared, fields, refusal);
      return { content: [{ type: 'text', text: JSON.stringify(wireRefusal(refusal)) }], isError: true };
    }
  }

  /** In the order of the guards of a route (contract 12). */
  private async perform(action: ActionClass, run: RunIdentity, fields: Fields): Promise<object> {
    const { declared } = action;
    this.door.assertCapable(run, declared);
    const references = referencesOf(declared.names, fields, run);
    const found = await this.door.assertInWorkspace(run, references);
    this.door.assertInTaskScope(run, references);
    this.door.assertThere(found);
    return this.actions.perform(action, { run, fields, body: await this.bodyOf(declared, fields), idempotency: null });
  }

  private async bodyOf(declared: ActionDeclaration, fields: Fields): Promise<object> {
    const params = paramsOf(declared);
    const missing = params.filter((param) => typeof fields[param] !== 'string');
    if (missing.length > 0) throw invalid(missing.map((path) => ({ path, problem: 'must be a string' })));
    const rest = Object.fromEntries(Object.entries(fields).filter(([name]) => !params.includes(name)));
    if (declared.body !== null) return (await this.validation.transform(rest, { type: 'body', metatype: declared.body })) as object;
    const unknown = Object.keys(rest);
    if (unknown.length > 0) throw invalid(unknown.map((path) => ({ path, problem: 'is not a known field' })));
    return {};
  }

  private schemaOf(declared: ActionDeclaration): ToolSchema {
    const known = this.schemas.get(declared.action);
    if (known !== undefined) return known;
    const optional = declared.ofTask === true ? ['task_id'] : [];
    const schema = toolSchema(this.document.get(), `runtime_${handlerName(declared)}`, optional);
    this.schemas.set(declared.action, schema);
    return schema;
  }
}

const isShown = ({ ofTask }: ActionDeclaration, mode: McpMode): boolean => mode === 'office' || (mode === 'task' && ofTask === true);

const paramsOf = ({ route }: ActionDeclaration): string[] => [
  ...[...route.matchAll(/:(\w+)/g)].map(([, name]) => name!),
  ...(route.endsWith('*') ? ['path'] : []),
];

/** Where a route names a task, a tool that is of the task may leave it out. */
function withOwnTask(declared: ActionDeclaration, given: Fields, run: RunIdentity): Fields {
  const takesOwn = declared.ofTask === true && paramsOf(declared).includes('task_id') && given['task_id'] === undefined;
  return takesOwn && run.taskId !== null ? { ...given, task_id: run.taskId } : given;
}
