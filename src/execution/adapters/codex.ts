import { isRecord } from '../domain/frame.js';
import type { TurnSigns } from '../domain/turn-record.js';
import type { ErrorRecord } from '../domain/turn-verdict.js';
import { TRUST, type AdapterProfile } from './adapter-profile.js';

/**
 * The newer bridge (2.x) ends a turn whose model call failed with `end_turn`: the thread's status stays `systemError`, and
 * the error is the last message.
 */
export function codexTelltale({ info, lastMessage }: TurnSigns): ErrorRecord | null {
  let status: unknown;
  let error: unknown;
  for (const { _meta: meta } of info) {
    const codex = isRecord(meta) ? meta['codex'] : undefined;
    if (!isRecord(codex)) continue;
    if (isRecord(codex['threadStatus'])) status = codex['threadStatus']['type'];
    if (isRecord(codex['error'])) error = codex['error'];
  }
  if (status !== 'systemError') return null;
  const fields = { threadStatus: status, ...(error === undefined ? {} : { error }) };
  return { text: lastMessage ?? JSON.stringify(fields), fields };
}

export const codex: AdapterProfile = {
  id: 'codex',
  skillsFolder: '.agents/skills',
  commands: [['codex-acp']],
  passes: [...TRUST, 'OPENAI_API_KEY', 'OPENAI_BASE_URL', 'CODEX_API_KEY', 'CODEX_HOME'],
  install: 'npm install -g @zed-industries/codex-acp',
  notices: [/^(Warning: )?Model metadata for `[^`]*` not found\./, /^(Warning: )?Falling back from WebSockets to HTTPS transport\./],
  telltale: codexTelltale,
};
