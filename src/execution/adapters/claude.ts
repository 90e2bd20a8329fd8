import { installOf, TRUST, type AdapterProfile } from './adapter-profile.js';

const npm = '@agentclientprotocol/claude-agent-acp';

export const claude: AdapterProfile = {
  id: 'claude',
  programs: [
    { argv: ['claude-agent-acp'], from: { npm, version: '0.101.0' } },
    { argv: ['claude-code-acp'], from: { npm: '@zed-industries/claude-code-acp', version: '0.16.2' } },
  ],
  passes: [...TRUST, 'ANTHROPIC_API_KEY', 'ANTHROPIC_AUTH_TOKEN', 'ANTHROPIC_BASE_URL', 'ANTHROPIC_MODEL', 'CLAUDE_CODE_OAUTH_TOKEN'],
  homes: ['CLAUDE_CONFIG_DIR'],
  // By default it retries a failing model for longer than anybody waits, in silence.
  sets: { CLAUDE_CODE_MAX_RETRIES: '2', DISABLE_AUTOUPDATER: '1' },
  install: installOf(npm),
  signIn: 'run `claude /login` as the user it runs as, or set ANTHROPIC_API_KEY or CLAUDE_CODE_OAUTH_TOKEN',
  admitsAnybody: true,
  // It may begin in one in which a model decides what is harmless.
  askingMode: 'default',
  skillsFolder: '.claude/skills',
  notices: [/^\*\*Warning:\*\* We're changing auto mode /],
  errorPrefixes: ['Internal error: '],
  incidentalInput: ['description'],
};
