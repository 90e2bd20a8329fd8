import { Injectable } from '@nestjs/common';
import type { LaunchConfig } from '../execution/agent-runtime.js';
import { credentialsIn } from '../execution/domain/agent-environment.js';
import type { ClaimedRun } from '../runs/claim.js';
import type { Secret } from '../transcript/domain/masking.js';
import { SecretStore } from '../workspaces/secret-store.service.js';

/** The stored shape of `adapter_config` (validated when an admin writes it). */
interface StoredConfig {
  readonly command?: readonly string[];
  readonly env?: Readonly<Record<string, string | { readonly secret: string }>>;
  readonly model?: string;
  readonly mode?: string;
  readonly permission_policy?: 'ask' | 'allow' | 'deny';
  readonly script?: unknown;
}

/** What a launch needs of an agent's configuration, and what of it nobody is to read. */
export interface OpenedConfig {
  readonly config: LaunchConfig;
  readonly secrets: readonly Secret[];
}

/** Turns what an admin configured into what a launch needs: secrets by name become their values, here and nowhere earlier. */
@Injectable()
export class AgentConfigs {
  constructor(private readonly secrets: SecretStore) {}

  /** @throws Error naming the secrets that the workspace does not have, or that this server cannot open. */
  async launchConfig({ workspaceId, adapterConfig }: ClaimedRun): Promise<OpenedConfig> {
    const { command, env = {}, model, mode, permission_policy = 'ask', script } = adapterConfig as StoredConfig;
    const named = Object.values(env).flatMap((value) => (typeof value === 'string' ? [] : [value.secret]));
    const { values, missing, unreadable } = await this.secrets.open(workspaceId, named);
    if (missing.length > 0) throw new Error(`the workspace has no secret named ${missing.join(', ')}`);
    if (unreadable.length > 0) throw new Error(`sealed with another OFFICE_SECRETS_KEY: secret ${unreadable.join(', ')}`);
    const plain = Object.entries(env).map(
      ([name, value]) => [name, typeof value === 'string' ? value : values.get(value.secret)!] as const,
    );
    const config: LaunchConfig = {
      ...(command === undefined ? {} : { command }),
      ...(plain.length === 0 ? {} : { env: Object.fromEntries(plain) }),
      ...(model === undefined ? {} : { model }),
      ...(mode === undefined ? {} : { mode }),
      permissionPolicy: permission_policy,
      ...(script === undefined ? {} : { script }),
    };
    const byName = [...values].map(([name, value]) => ({ name, value }));
    return { config, secrets: [...byName, ...credentialsIn(plain)] };
  }
}
