import { TRUST, type AdapterProfile } from './adapter-profile.js';

export const opencode: AdapterProfile = {
  id: 'opencode',
  skillsFolder: '.agents/skills',
  commands: [['opencode', 'acp']],
  passes: [...TRUST, 'OPENCODE_*', 'ANTHROPIC_API_KEY', 'OPENAI_API_KEY', 'GEMINI_API_KEY', 'XDG_CONFIG_HOME', 'XDG_DATA_HOME'],
  install: 'npm install -g opencode-ai',
  errorPrefixes: ['Internal error: '],
};

export const auggie: AdapterProfile = {
  id: 'auggie',
  commands: [['auggie', '--acp']],
  passes: [...TRUST, 'AUGMENT_*'],
  install: 'npm install -g @augmentcode/auggie',
};

export const gemini: AdapterProfile = {
  id: 'gemini',
  skillsFolder: '.gemini/skills',
  commands: [['gemini', '--acp']],
  passes: [
    ...TRUST,
    'GEMINI_API_KEY',
    'GEMINI_MODEL',
    'GEMINI_CLI_TRUST_WORKSPACE',
    'GOOGLE_API_KEY',
    'GOOGLE_CLOUD_PROJECT',
    'GOOGLE_CLOUD_LOCATION',
    'GOOGLE_GEMINI_BASE_URL',
    'GOOGLE_GENAI_USE_VERTEXAI',
  ],
  install: 'npm install -g @google/gemini-cli',
};

/** Amp speaks no ACP itself; somebody's bridge does, and only its administrator knows which. */
export const amp: AdapterProfile = {
  id: 'amp',
  skillsFolder: '.agents/skills',
  commands: [],
  passes: [...TRUST, 'AMP_API_KEY', 'AMP_URL'],
  install: 'Amp does not speak ACP by itself: set the agent\'s "command" to an ACP bridge for it.',
};

/** Any program that speaks ACP over stdio. */
export const custom: AdapterProfile = {
  id: 'custom',
  commands: [],
  passes: [],
  install: 'Set the agent\'s "command" to a program that speaks ACP over stdio.',
};
