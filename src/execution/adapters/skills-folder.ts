import { claude } from './claude.js';
import { codex } from './codex.js';
import { copilot } from './copilot.js';
import { amp, auggie, custom, gemini, opencode } from './other-agents.js';

/** Where nobody looks by itself: the prompt says where it is. */
const ELSEWHERE = '.office/skills';

const PROFILES = [claude, codex, copilot, amp, opencode, auggie, gemini, custom];

/** The folder, below that of a session, in which this kind of agent looks for skills. */
export const skillsFolderOf = (adapter: string): string => PROFILES.find(({ id }) => id === adapter)?.skillsFolder ?? ELSEWHERE;
