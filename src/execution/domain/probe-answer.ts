import { isRecord } from './frame.js';

type Fields = Readonly<Record<string, unknown>>;

/** What came of asking an agent who it is and to open a session. */
export interface ProbeFindings {
  /** The answer to `initialize`; null when there was none. */
  readonly initialize: Fields | null;
  /** The error of `session/new`, parsed; null when the session opened or was not asked for. */
  readonly refusal: unknown;
  readonly opened: boolean;
  /** What it told of its own accord about who is signed in (`_auth/status_update`). */
  readonly authKind: string | null;
}

/** ACP's "authentication required". */
const NOT_SIGNED_IN = -32000;
const METHODS_AT_MOST = 20;

/** Null: only the first turn can tell. */
export function signedIn({ opened, refusal, authKind }: ProbeFindings, admitsAnybody: boolean): boolean | null {
  if (authKind !== null) return authKind !== 'none';
  if (isRecord(refusal) && refusal['code'] === NOT_SIGNED_IN) return false;
  return opened && !admitsAnybody ? true : null;
}

/** The telling parts of an answer to `initialize`, whatever else it is made of. */
export function identityOf(answer: Fields): {
  readonly protocol_version: number;
  readonly agent: string | null;
  readonly version: string | null;
  readonly load_session: boolean;
  readonly mcp_http: boolean;
  readonly sign_in_methods: { id: string; name: string; description: string | null }[];
} {
  const info = fields(answer['agentInfo']);
  const capabilities = fields(answer['agentCapabilities']);
  const methods = Array.isArray(answer['authMethods']) ? answer['authMethods'].filter(isRecord).slice(0, METHODS_AT_MOST) : [];
  return {
    protocol_version: Number(answer['protocolVersion']),
    agent: text(info['title']) ?? text(info['name']),
    version: text(info['version']),
    load_session: capabilities['loadSession'] === true,
    mcp_http: fields(capabilities['mcpCapabilities'])['http'] === true,
    sign_in_methods: methods.map((method) => ({
      id: text(method['id']) ?? '',
      name: text(method['name']) ?? '',
      description: text(method['description']),
    })),
  };
}

const fields = (value: unknown): Fields => (isRecord(value) ? value : {});
const text = (value: unknown): string | null => (typeof value === 'string' && value !== '' ? value.slice(0, 200).toWellFormed() : null);
