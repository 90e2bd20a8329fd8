import { row, type Signature } from '../signature.js';

/** Codex and its ACP bridges (`codex_error_info`, `codexErrorInfo`), over the OpenAI Responses API. */
export const codex: readonly Signature[] = [
  row('codex.stream-transport', 'network', 'exact', {
    all: [
      'stream disconnected before completion',
      [
        'error sending request*',
        'transport error:network error',
        'failed to lookup address information',
        'stream closed before response.completed',
        'idle timeout waiting for sse',
        'websocket closed by server before response.completed',
        'connection reset',
      ],
    ],
  }),
  row('codex.stream-cut', 'network', 'medium', {
    any: ['stream disconnected before completion', 'responsestreamdisconnected', 'response_stream_disconnected'],
    none: ['an error occurred while processing your request'],
  }),
  row('codex.connection-failed', 'network', 'medium', {
    any: ['responsestreamconnectionfailed', 'response_stream_connection_failed', 'httpconnectionfailed', 'http_connection_failed'],
  }),
  row('codex.processing', 'server_error', 'exact', {
    any: ['an error occurred while processing your request. you can retry your request', 'the server had an error processing your request'],
  }),
  row('codex.internal', 'server_error', 'exact', {
    any: ['codex_error_info:internal_server_error', 'codexerrorinfo:internalservererror'],
    none: ['experiencing high demand', 'overloaded'],
  }),
  row('codex.high-demand', 'overloaded', 'exact', {
    any: [
      "we're currently experiencing high demand",
      'codex_error_info:server_overloaded',
      'codexerrorinfo:serveroverloaded',
      'selected model is at capacity',
      'server_is_overloaded',
      'code:slow_down',
    ],
  }),
  row('codex.usage-limit', 'quota', 'exact', {
    any: [
      "you've hit your usage limit",
      'usage_limit_reached',
      'usage_limit_exceeded',
      'usagelimitexceeded',
      'the usage limit has been reached',
      'usage_not_included',
      'workspace is out of credits',
      '利用制限に達しました*',
    ],
  }),
  row('codex.quota', 'quota', 'exact', { any: ['quota exceeded. check your plan and billing details'] }),
  row('codex.retries-spent-on-server', 'server_error', 'exact', {
    all: ['exceeded retry limit'],
    status: [500, 502, 503, 504, 529],
    ownWords: true,
  }),
  row('codex.retries-spent', 'quota', 'low', { any: ['exceeded retry limit'], all: ['429'] }),
  row('codex.token-refresh', 'auth', 'exact', {
    any: [
      'token refresh failed',
      'failed to refresh token',
      'refresh token has already been used',
      'refresh token was already used',
      'your access token could not be refreshed',
    ],
  }),
  row('codex.unauthorized', 'auth', 'exact', {
    any: ['codex_error_info:unauthorized', 'codexerrorinfo:unauthorized', 'detail:unauthorized'],
  }),
  row('codex.login-flow', 'auth', 'exact', { any: ['authorization session was not initialized or has expired', 'invalid session'] }),
  row('codex.model', 'invalid_model', 'exact', {
    any: ['model is not supported when using codex', 'is not supported when using codex with a chatgpt account'],
  }),
  row('codex.bad-request', 'invalid_request', 'medium', { any: ['codex_error_info:bad_request', 'codexerrorinfo:badrequest'] }),
  row('codex.context', 'context_length', 'exact', {
    any: ['codex_error_info:context_window_exceeded', 'codexerrorinfo:contextwindowexceeded', 'ran out of room in the model'],
  }),
  row('codex.sandbox', 'environment', 'high', { any: ['codex_error_info:sandbox_error', 'codexerrorinfo:sandboxerror'] }),
  row('codex.cyber-policy', 'refusal', 'exact', { any: ['codexerrorinfo:cyberpolicy', 'codex_error_info:cyber_policy'] }),
  row('codex.reader', 'session_corrupted', 'exact', { any: ['bufio.scanner:token too long'] }),
  row('codex.thread-lost', 'session_lost', 'exact', { any: ['thread not found', 'no rollout found', 'codex_error_info:thread_not_found'] }),
  row('codex.binary', 'missing_binary', 'exact', {
    any: ['failed to spawn codex', 'failed to start native codex client', 'start codex:fork/exec'],
  }),
  row('codex.node', 'config', 'exact', { all: ['does not satisfy', 'prerequisite'] }),
  row('codex.unverified', 'permission', 'exact', { any: ['organization must be verified'] }),
];
