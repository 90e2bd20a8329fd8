import { MOCK_SCRIPT_META, scriptIn } from '../mock-agent/domain/mock-script.js';
import type { AdapterProfile } from './adapter-profile.js';

/** The agent of this repository: a real process that speaks real ACP and does what its script says. */
export const mockAgent = (entry: string): AdapterProfile => ({
  id: 'mock',
  programs: [{ argv: [process.execPath, entry], from: null }],
  passes: [],
  install: 'run `npm run build`',
  signIn: 'it knows nobody',
  skillsFolder: '.agents/skills',
  // The agent must know a script of the prompt before there is a prompt, for steps that break the launch.
  initializeMeta: ({ config, prompt }) => ({ [MOCK_SCRIPT_META]: { prompt: scriptIn(prompt.turn), config: config.script ?? null } }),
});
