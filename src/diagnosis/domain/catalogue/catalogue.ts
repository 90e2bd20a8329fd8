import { FAMILIES, type Family, type Signature } from '../signature.js';
import { amp } from './amp.js';
import { auggie } from './auggie.js';
import { claude } from './claude.js';
import { codex } from './codex.js';
import { copilot } from './copilot.js';
import { gemini } from './gemini.js';
import { LASTING } from './lasting-words.js';
import { neutralAccess } from './neutral-access.js';
import { neutralMachine } from './neutral-machine.js';
import { neutralQuota } from './neutral-quota.js';
import { neutralRate } from './neutral-rate.js';
import { neutralRequest } from './neutral-request.js';
import { neutralTransient } from './neutral-transient.js';
import { opencode } from './opencode.js';

export const CATALOGUES: Readonly<Record<Family | 'neutral', readonly Signature[]>> = {
  claude,
  codex,
  copilot,
  gemini,
  opencode,
  amp,
  auggie,
  neutral: [...neutralQuota, ...neutralAccess, ...neutralRequest, ...neutralMachine, ...neutralTransient, ...neutralRate],
};

export { LASTING };

/** The family an adapter or provider name belongs to (`claude-code`, `gemini-cli`); null: it may be any. */
export function familyOf(provider: string): Family | null {
  const [first] = provider.toLowerCase().split(/[^a-z]/, 1);
  return FAMILIES.find((family) => family === first) ?? null;
}
