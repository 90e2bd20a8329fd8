import { row, type Signature } from '../signature.js';

/** Claude Code and the Anthropic API (error types: overloaded_error, api_error, rate_limit_error, authentication_error, …). */
export const claude: readonly Signature[] = [
  row('claude.overloaded', 'overloaded', 'exact', {
    any: [
      'overloaded_error',
      'type:api_error,message:overloaded',
      'repeated 529 overloaded errors',
      '529 overloaded',
      'is experiencing high load',
    ],
  }),
  // A type says of whose making it is, not what: its message may name a cause that lasts.
  row('claude.api-error', 'server_error', 'high', { any: ['type:api_error', 'type:timeout_error'], none: ['message:overloaded'] }),
  row('claude.kind-server-error', 'server_error', 'high', { any: ['errorkind:server_error'], none: ['overloaded'] }),
  row('claude.connection', 'network', 'exact', {
    any: [
      'unable to connect to api (econn*',
      'unable to connect to api (etimedout*',
      'unable to connect to api (enotfound*',
      'unable to connect to api (eai_again*',
      'unable to connect to api (failedtoopensocket*',
      'unable to connect to api (connectionrefused*',
      'unable to connect to api (connectionclosed*',
      'unable to connect to api due to poor internet connection',
      'connection to the api was lost',
      'api error (request timed out',
      'api error (connection error',
      'api error:request timed out',
      'api error:connection error',
      'stream idle timeout - partial response received',
      'response stalled mid-stream',
      'connection closed mid-response',
      'failed to connect to api.anthropic.com',
    ],
  }),
  row('claude.temporarily-limited', 'rate_limit', 'exact', {
    any: ['server is temporarily limiting requests', 'number of concurrent connections has exceeded your rate limit'],
  }),
  row('claude.account-limit', 'quota', 'exact', {
    any: ["your account's rate limit", 'extra usage is required', 'out of extra usage', 'add more at claude.ai/settings/usage'],
  }),
  row('claude.usage-limit', 'quota', 'exact', {
    any: [
      'claude ai usage limit reached',
      'claude usage limit reached',
      "you've hit your limit",
      "you've hit your weekly limit",
      "you've hit your session limit",
      "you've hit your opus limit",
      "you've hit your sonnet limit",
      "you've hit your org's monthly usage limit",
      '5-hour limit reached',
      'weekly limit reached',
      'session limit reached',
      'opus limit reached',
    ],
  }),
  row('claude.credit', 'quota', 'exact', { any: ['credit balance is too low', 'errorkind:billing_error', 'type:billing_error'] }),
  row('claude.login', 'auth', 'exact', {
    any: [
      'please run /login',
      'run /login',
      'type:authentication_error',
      'errorkind:authentication_failed',
      'errorkind:oauth_org_not_allowed',
      'token is expired and has no refresh token',
      'invalid bearer token',
      'invalid x-api-key',
      'fix external api key',
      'oauth token revoked',
      'oauth token has expired',
      'this organization has been disabled',
    ],
  }),
  row('claude.permission', 'permission', 'exact', {
    any: [
      'type:permission_error',
      'type:forbidden',
      'has disabled claude subscription access',
      'oauth authentication is currently not allowed for this organization',
      'does not have access to claude',
      'long context beta is not yet available',
    ],
  }),
  row('claude.model', 'invalid_model', 'exact', {
    any: [
      'type:not_found_error',
      "there's an issue with the selected model",
      'errorkind:model_not_found',
      'not available on the claude pro plan',
    ],
  }),
  row('claude.context', 'context_length', 'exact', {
    any: [
      'prompt is too long',
      'exceed context limit',
      'stop_reason:model_context_window_exceeded',
      'model_context_window_exceeded',
      'type:request_too_large',
      'conversation too long',
      'exceeded model token limit',
    ],
  }),
  row('claude.invalid-request', 'invalid_request', 'medium', {
    any: ['type:invalid_request_error', 'errorkind:invalid_request', 'output token maximum', 'errorkind:max_output_tokens'],
  }),
  row('claude.history-broken', 'session_corrupted', 'exact', {
    any: [
      'tool_use ids were found without',
      'tool_use ids must be unique',
      'unexpected tool_use_id',
      'tool use concurrency issues',
      'thinking blocks in the latest assistant message cannot be modified',
      'thinking or redacted_thinking blocks',
      'could not process image',
      'image dimensions exceed max allowed size',
      'roles must alternate',
    ],
  }),
  row('claude.image-too-large', 'session_corrupted', 'exact', { all: ['image exceeds', 'maximum'] }),
  row('claude.no-conversation', 'session_lost', 'exact', { any: ['no conversation found with session id'] }),
  row('claude.usage-policy', 'refusal', 'exact', { any: ['appears to violate our usage policy', 'is unable to respond to this request'] }),
  row('claude.version', 'config', 'exact', { any: ['is below the minimum supported version', 'needs an update'] }),
];
