import { isRecord } from '../domain/frame.js';
import type { TurnSigns } from '../domain/turn-record.js';
import type { ErrorRecord } from '../domain/turn-verdict.js';
import { installOf, TRUST, type AdapterProfile } from './adapter-profile.js';

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

const npm = '@agentclientprotocol/codex-acp';

export const codex: AdapterProfile = {
  id: 'codex',
  // The older one has the same name; which of the two is installed shows in what it answers.
  programs: [{ argv: ['codex-acp'], from: { npm, version: '2.6.0' } }],
  passes: [...TRUST, 'OPENAI_API_KEY', 'OPENAI_BASE_URL', 'CODEX_API_KEY'],
  homes: ['CODEX_HOME'],
  install: `${installOf(npm)} (or @zed-industries/codex-acp@0.16.0)`,
  signIn: 'run `codex login` as the user it runs as, or set CODEX_API_KEY or OPENAI_API_KEY',
  // It may begin in one in which a model decides instead of a person. The older one does not have it, and asks.
  askingMode: 'workspace-write',
  skillsFolder: '.agents/skills',
  notices: [/^(Warning: )?Model metadata for `[^`]*` not found\./, /^(Warning: )?Falling back from WebSockets to HTTPS transport\./],
  incidentalInput: [
    'call_id',
    'turn_id',
    'started_at_ms',
    'cwd',
    'reason',
    'proposed_execpolicy_amendment',
    'available_decisions',
    'parsed_cmd',
  ],
  telltale: codexTelltale,
};
