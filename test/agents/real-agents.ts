import { join } from 'node:path';

/** A real agent, and how it is pointed at a model of ours. */
export interface RealAgent {
  readonly name: string;
  readonly adapter: string;
  readonly command: readonly string[];
  readonly env: (modelUrl: string, home: string) => Readonly<Record<string, string>>;
  /** Below its home. */
  readonly files?: (modelUrl: string) => Readonly<Record<string, string>>;
  /** Where it behaves unlike the others, and why. */
  readonly unlike?: Partial<Record<string, Expected>>;
}

export interface Expected {
  readonly status: 'completed' | 'failed' | 'cancelled';
  /** In its error payload. */
  readonly says?: RegExp;
  readonly why: string;
}

const HERE = import.meta.dirname;
const program = (name: string): string => join(HERE, 'all', 'node_modules', '.bin', name);

const codexConfig = (url: string): Readonly<Record<string, string>> => ({
  '.codex/config.toml': `
model = "fake-model"
model_provider = "fake"
check_for_update_on_startup = false

[model_providers.fake]
name = "fake"
base_url = "${url}/v1"
env_key = "FAKE_API_KEY"
wire_api = "responses"
request_max_retries = 0
stream_max_retries = 0

[analytics]
enabled = false
`,
});
const codexEnv = (_url: string, home: string) => ({ CODEX_HOME: join(home, '.codex'), FAKE_API_KEY: 'sk-bogus' });
const claudeEnv = (url: string) => ({
  ANTHROPIC_BASE_URL: url,
  ANTHROPIC_API_KEY: 'sk-ant-bogus',
  CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
  CLAUDE_CODE_MAX_RETRIES: '1',
});
const silent = (why: string): Expected => ({ status: 'failed', says: /no_first_event/, why });

export const OLD_CODEX: RealAgent = {
  name: 'codex-acp 0.16 (Zed)',
  adapter: 'codex',
  command: [join(HERE, 'node_modules', '.bin', 'codex-acp')],
  env: codexEnv,
  files: codexConfig,
};

export const REAL_AGENTS: readonly RealAgent[] = [
  OLD_CODEX,
  { name: 'codex-acp 2.6', adapter: 'codex', command: [program('codex-acp')], env: codexEnv, files: codexConfig },
  { name: 'claude-agent-acp', adapter: 'claude', command: [program('claude-agent-acp')], env: claudeEnv },
  {
    name: 'claude-code-acp',
    adapter: 'claude',
    command: [program('claude-code-acp')],
    env: claudeEnv,
  },
  {
    name: 'opencode',
    adapter: 'opencode',
    command: [program('opencode'), 'acp'],
    env: (url) => ({
      OPENCODE_DISABLE_MODELS_FETCH: '1',
      OPENCODE_CONFIG_CONTENT: JSON.stringify({
        autoupdate: false,
        share: 'disabled',
        model: 'fake/fake-model',
        small_model: 'fake/fake-model',
        enabled_providers: ['fake'],
        permission: { bash: 'ask' },
        provider: {
          fake: {
            npm: '@ai-sdk/openai-compatible',
            name: 'Fake',
            options: { baseURL: `${url}/v1`, apiKey: 'sk-bogus' },
            models: { 'fake-model': { name: 'Fake', limit: { context: 100_000, output: 4096 } } },
          },
        },
      }),
    }),
    unlike: {
      '429': silent('retries inside for longer than anybody waits'),
      quota: silent('retries inside'),
      '500': silent('retries inside'),
      '529': silent('retries inside'),
      reset: silent('retries inside'),
    },
  },
  {
    name: 'gemini',
    adapter: 'gemini',
    command: [program('gemini'), '--acp'],
    env: (url) => ({ GEMINI_API_KEY: 'bogus', GOOGLE_GEMINI_BASE_URL: url, GEMINI_CLI_TRUST_WORKSPACE: 'true' }),
    files: () => ({
      '.gemini/settings.json': JSON.stringify({
        security: { auth: { selectedType: 'gemini-api-key' } },
        privacy: { usageStatisticsEnabled: false },
      }),
    }),
    unlike: {
      '429': silent('retries inside for longer than anybody waits'),
      quota: silent('retries inside'),
      '500': silent('retries inside'),
      '529': silent('retries inside'),
      reset: silent('retries inside'),
    },
  },
  {
    name: 'copilot',
    adapter: 'copilot',
    command: [program('copilot'), '--acp'],
    env: (url) => ({
      COPILOT_OFFLINE: 'true',
      COPILOT_PROVIDER_BASE_URL: `${url}/v1`,
      COPILOT_PROVIDER_API_KEY: 'sk-bogus',
      COPILOT_MODEL: 'fake-model',
      COPILOT_AUTO_UPDATE: 'false',
    }),
    unlike: { '429': silent('retries inside for longer than anybody waits'), quota: silent('retries inside') },
  },
];
