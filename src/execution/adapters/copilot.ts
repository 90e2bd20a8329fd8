import type { TurnSigns } from '../domain/turn-record.js';
import type { ErrorRecord } from '../domain/turn-verdict.js';
import { installOf, TRUST, type AdapterProfile } from './adapter-profile.js';

/** It ends nearly every failed model call with `end_turn`: no usage is reported, and the error is a message of its own. */
export function copilotTelltale({ answer, lastChunk }: TurnSigns): ErrorRecord | null {
  const silentOnUsage = answer['usage'] === undefined || answer['usage'] === null;
  return silentOnUsage && lastChunk?.startsWith('Error: ') === true ? { text: lastChunk, fields: {} } : null;
}

const npm = '@github/copilot';

export const copilot: AdapterProfile = {
  id: 'copilot',
  programs: [{ argv: ['copilot', '--acp'], from: { npm, version: '1.0.102' } }],
  passes: [...TRUST, 'GH_TOKEN', 'GITHUB_TOKEN', 'GH_HOST', 'COPILOT_*'],
  homes: ['XDG_CONFIG_HOME', 'XDG_STATE_HOME'],
  sets: { COPILOT_AUTO_UPDATE: 'false' },
  install: installOf(npm),
  signIn: 'run `copilot login` as the user it runs as, or set GH_TOKEN',
  skillsFolder: '.github/skills',
  notices: [/^Info: Request failed due to a transient API error\. Retrying\.\.\.$/],
  telltale: copilotTelltale,
};
