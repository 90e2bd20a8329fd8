import { installOf, TRUST, type AdapterProfile } from './adapter-profile.js';

export const opencode: AdapterProfile = {
  id: 'opencode',
  programs: [{ argv: ['opencode', 'acp'], from: { npm: 'opencode-ai', version: '1.18.33' } }],
  passes: [...TRUST, 'OPENCODE_*', 'ANTHROPIC_API_KEY', 'OPENAI_API_KEY', 'GEMINI_API_KEY'],
  homes: ['XDG_CONFIG_HOME', 'XDG_DATA_HOME'],
  sets: { OPENCODE_DISABLE_AUTOUPDATE: 'true' },
  install: installOf('opencode-ai'),
  signIn: 'run `opencode auth login` as the user it runs as, or set the key of a provider',
  admitsAnybody: true,
  skillsFolder: '.opencode/skills',
  errorPrefixes: ['Internal error: '],
};

export const auggie: AdapterProfile = {
  id: 'auggie',
  programs: [{ argv: ['auggie', '--acp'], from: { npm: '@augmentcode/auggie', version: '0.36.0' } }],
  passes: [...TRUST, 'AUGMENT_*'],
  install: installOf('@augmentcode/auggie'),
  signIn: 'run `auggie login` as the user it runs as, or set AUGMENT_SESSION_AUTH',
  skillsFolder: '.augment/skills',
};

export const gemini: AdapterProfile = {
  id: 'gemini',
  programs: [{ argv: ['gemini', '--acp'], from: { npm: '@google/gemini-cli', version: '0.61.0' } }],
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
  install: installOf('@google/gemini-cli'),
  signIn: 'run `gemini` once as the user it runs as and sign in, or set GEMINI_API_KEY',
  skillsFolder: '.gemini/skills',
};

/** Amp speaks no ACP itself; somebody's bridge does, and only its administrator knows which. */
export const amp: AdapterProfile = {
  id: 'amp',
  programs: [],
  passes: [...TRUST, 'AMP_API_KEY', 'AMP_URL'],
  install:
    'Amp does not speak ACP by itself: install an ACP bridge for it and set it as the "command" of the agent, with AMP_API_KEY as a secret in its "env".',
  signIn: 'run `amp login` as the user it runs as, or set AMP_API_KEY',
  skillsFolder: '.agents/skills',
};

/** Any program that speaks ACP over stdio. */
export const custom: AdapterProfile = {
  id: 'custom',
  programs: [],
  passes: [],
  install: 'Set the agent\'s "command" to a program that speaks ACP over stdio.',
  signIn: 'sign in as its own documentation says',
  skillsFolder: '.agents/skills',
};
