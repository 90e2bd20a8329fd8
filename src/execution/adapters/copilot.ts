import type { TurnSigns } from '../domain/turn-record.js';
import type { ErrorRecord } from '../domain/turn-verdict.js';
import { TRUST, type AdapterProfile } from './adapter-profile.js';

/** It ends nearly every failed model call with `end_turn`: no usage is reported, and the error is a message of its own. */
export function copilotTelltale({ answer, lastChunk }: TurnSigns): ErrorRecord | null {
  const silentOnUsage = answer['usage'] === undefined || answer['usage'] === null;
  return silentOnUsage && lastChunk?.startsWith('Error: ') === true ? { text: lastChunk, fields: {} } : null;
}

export const copilot: AdapterProfile = {
  id: 'copilot',
  skillsFolder: '.github/skills',
  commands: [['copilot', '--acp']],
  passes: [...TRUST, 'GH_TOKEN', 'GITHUB_TOKEN', 'GH_HOST', 'COPILOT_*'],
  sets: { COPILOT_AUTO_UPDATE: 'false' },
  install: 'npm install -g @github/copilot',
  notices: [/^Info: Request failed due to a transient API error\. Retrying\.\.\.$/],
  telltale: copilotTelltale,
};
