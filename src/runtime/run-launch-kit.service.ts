import { Injectable } from '@nestjs/common';
import { RunTokens } from '../access/run-tokens.service.js';
import { skillsFolderOf } from '../execution/adapters/skills-folder.js';
import { OfficeAddress } from '../platform/http/office-address.js';
import type { ClaimedRun } from '../runs/claim.js';
import { LaunchKit, type LaunchKitContents } from '../runs/launch-kit.js';
import { RunOwnership } from '../runs/run-ownership.service.js';
import { SkillService } from '../workspaces/skill.service.js';
import { AgentUsers } from '../workspaces/agent-users.service.js';
import { NewFolderSkills } from './new-folder-skills.js';
import { writeSkillsAs } from './skill-writer.js';

/** What a running agent reaches the office with. */
@Injectable()
export class RunLaunchKit extends LaunchKit {
  constructor(
    private readonly tokens: RunTokens,
    private readonly address: OfficeAddress,
    private readonly skills: SkillService,
    private readonly newFolders: NewFolderSkills,
    private readonly ownership: RunOwnership,
    private readonly users: AgentUsers,
  ) {
    super();
  }

  override furnish({ workspaceId, skillsVersion, folder, adapter }: ClaimedRun): Promise<boolean> {
    const place = { folder, below: skillsFolderOf(adapter) };
    return this.newFolders.putInto(place, workspaceId, skillsVersion, () => this.skills.whole(workspaceId));
  }

  override async pack(run: ClaimedRun, { furnished }: { readonly furnished: boolean }): Promise<LaunchKitContents> {
    if (!furnished) await this.writeSkills(run);
    const token = this.tokens.mint(run);
    return {
      env: { OFFICE_API_URL: this.address.apiUrl, OFFICE_API_KEY: token },
      mcp: { name: 'agent-office', url: this.address.mcpUrl, token },
    };
  }

  private async writeSkills(run: ClaimedRun): Promise<void> {
    const { identity } = await this.users.of(run.workspaceId);
    const problems = await writeSkillsAs(identity, run.folder, skillsFolderOf(run.adapter), await this.skills.whole(run.workspaceId));
    // A turn can do without a skill; whoever wonders why it was not read finds the reason in the run's log.
    if (problems.length > 0) await this.ownership.note(run, 'skills.not_written', 'warn', { skills: problems });
  }
}
