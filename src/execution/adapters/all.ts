import type { AdapterProfile } from './adapter-profile.js';
import { claude } from './claude.js';
import { codex } from './codex.js';
import { copilot } from './copilot.js';
import { mockAgent } from './mock.js';
import { amp, auggie, custom, gemini, opencode } from './other-agents.js';

/** Every kind of agent, in the order people see them. */
export const allAdapters = (mockAgentEntry: string): AdapterProfile[] => [
  claude,
  codex,
  copilot,
  amp,
  opencode,
  auggie,
  gemini,
  mockAgent(mockAgentEntry),
  custom,
];
