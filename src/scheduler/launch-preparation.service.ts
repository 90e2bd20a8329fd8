import { Injectable } from '@nestjs/common';
import { AdapterRegistry } from '../execution/adapter-registry.service.js';
import type { LaunchSpec } from '../execution/agent-runtime.js';
import { OfficeSettings } from '../platform/config/office-settings.js';
import type { ClaimedRun } from '../runs/claim.js';
import { LaunchKit } from '../runs/launch-kit.js';
import { RunSecrets } from '../transcript/run-secrets.service.js';
import type { RunTranscript } from '../transcript/run-transcript.js';
import { TaskFolders } from '../worktrees/task-folders.service.js';
import { AgentConfigs } from './agent-configs.service.js';
import { AgentPlaces } from './agent-places.service.js';
import { PERMISSION_MS } from './permission-keeper.service.js';
import { Persistence } from './persistence.js';

const LAUNCH_GRACE_MS = 5_000;
const START_MS = 60_000;
const SECOND_MS = 1_000;

/** Everything an agent needs before it is started: folders, a user, its configuration, its environment. */
@Injectable()
export class LaunchPreparation {
  constructor(
    private readonly persistence: Persistence,
    private readonly configs: AgentConfigs,
    private readonly places: AgentPlaces,
    private readonly folders: TaskFolders,
    private readonly kits: LaunchKit,
    private readonly adapters: AdapterRegistry,
    private readonly secrets: RunSecrets,
    private readonly settings: OfficeSettings,
  ) {}

  /** True once the office is closing: what is being prepared then is given up. */
  get givenUp(): boolean {
    return this.folders.givenUp;
  }

  /** Safe to repeat. What nobody is to read is hidden from `transcript`, from results and from logs when this returns. */
  async prepare(run: ClaimedRun, transcript: RunTranscript): Promise<LaunchSpec> {
    const place = await this.persistence.untilHeard(() => this.places.prepare(run), 1);
    await this.persistence.untilHeard(() => this.folders.prepare(run), 1);
    const { config, secrets } = await this.persistence.untilHeard(() => this.configs.launchConfig(run), 1);
    const kit = await this.persistence.untilHeard(() => this.kits.pack(run, place), 1);
    const token = { name: 'OFFICE_API_KEY', value: kit.mcp.token };
    transcript.hide(this.secrets.hold(run, [...secrets, token, ...this.adapters.inheritedCredentials(run.adapter)]));
    return {
      executionId: run.executionId,
      adapter: run.adapter,
      config,
      cwd: run.folder,
      env: {
        // An admin may have chosen another home for it.
        ...place.env,
        ...chosen(config.env, Object.keys(place.env)),
        OFFICE_RUN_ID: run.runId,
        OFFICE_AGENT_ID: run.agentId,
        OFFICE_WORKSPACE_ID: run.workspaceId,
        ...(run.taskId === null ? {} : { OFFICE_TASK_ID: run.taskId }),
        OFFICE_WAKE_REASON: run.reason,
        OFFICE_RUN_ATTEMPT: String(run.attempt),
        OFFICE_SESSION_TURN: String(run.turn),
        ...kit.env,
      },
      mcp: kit.mcp,
      prompt: run.prompt,
      acpSessionId: run.acpSessionId,
      identity: place.identity,
      home: place.home,
      limits: {
        startMs: Math.min(START_MS, this.settings.OFFICE_FIRST_EVENT_TIMEOUT_SEC * SECOND_MS),
        firstContentMs: this.settings.OFFICE_FIRST_EVENT_TIMEOUT_SEC * SECOND_MS,
        runMs: this.settings.OFFICE_RUN_TIMEOUT_SEC * SECOND_MS,
        graceMs: LAUNCH_GRACE_MS,
        permissionMs: PERMISSION_MS,
      },
    };
  }
}

const chosen = (env: Readonly<Record<string, string>> = {}, names: readonly string[]): Record<string, string> =>
  Object.fromEntries(Object.entries(env).filter(([name]) => names.includes(name)));
