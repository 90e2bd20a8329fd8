import { Injectable } from '@nestjs/common';
import { SkillService } from '../../workspaces/skill.service.js';
import { RuntimeAction, type ActionCall, type ActionDeclaration } from '../runtime-action.js';
import { DeletedSkillView, KnownSkillsView } from '../runtime.view.js';

@Injectable()
export class ListSkills extends RuntimeAction<object, KnownSkillsView> {
  static readonly declared: ActionDeclaration = {
    action: 'list_skills',
    capability: 'list_skills',
    route: 'GET skills',
    status: 200,
    summary: 'What there is to read up on; each is a SKILL.md in the folder of skills of your session.',
    names: [],
    body: null,
    answer: KnownSkillsView,
    ofTask: true,
  };

  constructor(private readonly skills: SkillService) {
    super();
  }

  override async perform({ tx, run }: ActionCall): Promise<KnownSkillsView> {
    return { items: await this.skills.catalogue(tx, run.workspaceId) };
  }
}

@Injectable()
export class DeleteSkill extends RuntimeAction<object, DeletedSkillView> {
  static readonly declared: ActionDeclaration = {
    action: 'delete_skill',
    capability: 'delete_skills',
    route: 'DELETE skills/:skill_id',
    status: 200,
    summary: 'Delete a skill of the workspace, for everybody.',
    names: [{ field: 'skill_id', kind: 'skill', isTarget: true }],
    body: null,
    answer: DeletedSkillView,
  };

  constructor(private readonly skills: SkillService) {
    super();
  }

  override async perform({ tx, run, params }: ActionCall): Promise<DeletedSkillView> {
    const id = String(params['skill_id']).toLowerCase();
    await this.skills.remove(tx, run.workspaceId, id);
    return { id, deleted: true };
  }
}
