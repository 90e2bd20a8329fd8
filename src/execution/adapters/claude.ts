import { TRUST, type AdapterProfile } from './adapter-profile.js';

export const claude: AdapterProfile = {
  id: 'claude',
  skillsFolder: '.claude/skills',
  commands: [['claude-agent-acp'], ['claude-code-acp']],
  passes: [
    ...TRUST,
    'ANTHROPIC_API_KEY',
    'ANTHROPIC_AUTH_TOKEN',
    'ANTHROPIC_BASE_URL',
    'ANTHROPIC_MODEL',
    'CLAUDE_CONFIG_DIR',
    'CLAUDE_CODE_OAUTH_TOKEN',
  ],
  // By default it retries a failing model for longer than anybody waits, in silence.
  sets: { CLAUDE_CODE_MAX_RETRIES: '2', DISABLE_AUTOUPDATER: '1' },
  install: 'npm install -g @agentclientprotocol/claude-agent-acp',
  errorPrefixes: ['Internal error: '],
};
