import { Injectable } from '@nestjs/common';
import type { Fields, RunIdentity } from '../../access/domain/run-access.js';
import { OfficeError } from '../../platform/errors/office-error.js';
import { invalid } from '../../platform/http/input-validation.js';
import { memoryPath, readMemoryPath, type MemoryPlace } from '../domain/memory-path.js';
import { Memory } from '../memory.service.js';
import { RuntimeAction, type ActionCall, type ActionDeclaration } from '../runtime-action.js';
import { WriteMemoryBody } from '../runtime.dto.js';
import { MemoryView, WrittenMemoryView } from '../runtime.view.js';

/** Agents keep their memory to themselves; that of tasks, projects and skills is shared. */
function placeOf(run: RunIdentity, { path }: Fields): MemoryPlace {
  const place = readMemoryPath(typeof path === 'string' ? path : '');
  // Before what is wrong with its key: nobody learns anything of another agent's.
  const owner = /^workspaces\/[^/]+\/memory\/agents\/([^/]+)/.exec(String(path))?.[1];
  if (owner !== undefined && owner.toLowerCase() !== run.agentId) throw new OfficeError('capability_denied', { namespace: 'agents' });
  if ('problem' in place) throw invalid([{ path: 'path', problem: place.problem }]);
  return place;
}

@Injectable()
export class ReadMemory extends RuntimeAction<object, MemoryView> {
  static readonly declared: ActionDeclaration = {
    action: 'read_memory',
    capability: 'read_memory',
    route: 'GET memory/*',
    status: 200,
    summary: 'Read what was kept at workspaces/{workspace id}/memory/{agents|tasks|projects|skills}/{id}/{key}.',
    names: [{ field: 'path', kind: 'memory' }],
    body: null,
    answer: MemoryView,
    ofTask: true,
  };

  constructor(private readonly memory: Memory) {
    super();
  }

  override async perform({ tx, run, params }: ActionCall): Promise<MemoryView> {
    const place = placeOf(run, params);
    const row = await this.memory.read(tx, run.workspaceId, place);
    if (row === null) throw new OfficeError('not_found', { what: 'memory', key: place.key });
    return { path: memoryPath(run.workspaceId, place), content: row.content, updated_at: row.updated_at.toISOString() };
  }
}

@Injectable()
export class WriteMemory extends RuntimeAction<WriteMemoryBody, WrittenMemoryView> {
  static readonly declared: ActionDeclaration = {
    action: 'write_memory',
    capability: 'write_memory',
    route: 'PUT memory/*',
    status: 200,
    summary:
      'Keep a text for later runs. With if_updated_at only if nobody has written meanwhile; without, you are told what you replaced.',
    names: [{ field: 'path', kind: 'memory' }],
    body: WriteMemoryBody,
    answer: WrittenMemoryView,
    ofTask: true,
  };

  constructor(private readonly memory: Memory) {
    super();
  }

  override async perform({ tx, run, params, body }: ActionCall<WriteMemoryBody>): Promise<WrittenMemoryView> {
    const place = placeOf(run, params);
    const { now, replaced } = await this.memory.write(tx, run, place, { content: body.content, expected: body.if_updated_at });
    return {
      path: memoryPath(run.workspaceId, place),
      content: now.content,
      updated_at: now.updated_at.toISOString(),
      replaced: replaced && { content: replaced.content, updated_at: replaced.updated_at.toISOString() },
    };
  }
}
