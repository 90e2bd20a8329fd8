import { row, type Signature } from '../signature.js';

/** Gemini CLI and Google's APIs (`google.rpc.Status`, `ErrorInfo`, `QuotaFailure`, `RetryInfo`). */
export const gemini: readonly Signature[] = [
  row('gemini.capacity', 'overloaded', 'exact', {
    any: ['model_capacity_exhausted', 'no capacity available for model*'],
    despiteLimit: true,
  }),
  row('gemini.unavailable', 'server_error', 'high', {
    any: ['status:unavailable', 'code:unavailable'],
    none: ['overloaded', 'experiencing high demand'],
  }),
  row('gemini.internal', 'server_error', 'high', { any: ['status:internal', 'an internal error has occurred. please retry'] }),
  row('gemini.deadline', 'server_error', 'exact', { any: ['deadline expired before operation could complete'], ownWords: true }),
  row('gemini.empty', 'server_error', 'high', {
    any: ['api returned an empty response', 'model stream ended with empty response', 'model stream ended without a finish reason'],
  }),
  row('gemini.shared-capacity', 'rate_limit', 'exact', {
    any: ['resource exhausted. please try again later'],
    none: ['*perday*', 'per day', 'check quota', 'current quota'],
    ends: 'notFar',
  }),
  row('gemini.reset-soon', 'rate_limit', 'exact', {
    all: ['your quota will reset after', ['rate_limit_exceeded', 'exhausted your capacity on this model']],
    ends: 'near',
  }),
  row('gemini.reset-late', 'quota', 'high', {
    any: ['your quota will reset after', 'exhausted your capacity on this model'],
    ends: 'notNear',
  }),
  row('gemini.per-minute', 'rate_limit', 'exact', {
    all: ['*perminute*', ['retrydelay:*', 'retry in', 'please retry in', 'rate_limit_exceeded']],
    none: ['*perday*', 'per day', 'daily*', 'limit:0', '*freetier*', 'free_tier*'],
    ends: 'notFar',
  }),
  row('gemini.per-day', 'quota', 'exact', { any: ['*perday*', 'daily quota'] }),
  row('gemini.metric', 'quota', 'exact', { any: ['quota exceeded for quota metric'], none: ['*perminute*'] }),
  row('gemini.current-quota', 'quota', 'high', { any: ['exceeded your current quota'], none: ['*perminute*'] }),
  row('gemini.check-quota', 'quota', 'high', {
    any: ['resource has been exhausted', 'status:resource_exhausted', '[resource_exhausted]'],
    none: ['*perminute*', 'resource exhausted. please try again later', 'your quota will reset after', 'no capacity available for model*'],
  }),
  row('gemini.key', 'auth', 'exact', {
    any: [
      'api key not valid',
      'gemini api key is missing',
      'status:unauthenticated',
      'api_key_invalid',
      'invalid authentication credentials',
      'api key expired',
      'please set an auth method',
    ],
  }),
  row('gemini.eligibility', 'permission', 'exact', {
    any: [
      'is not eligible for gemini code assist',
      'ineligibletiererror',
      'must be a named user on your organization',
      'contact your administrator to request an entitlement',
      'status:permission_denied',
      'service_disabled',
    ],
  }),
  row('gemini.api-off', 'permission', 'exact', { all: ['has not been used in project*'] }),
  row('gemini.location', 'permission', 'exact', { any: ['user location is not supported'] }),
  row('gemini.model', 'invalid_model', 'exact', { any: ['is not found for api version', 'status:not_found'] }),
  row('gemini.project', 'config', 'exact', { all: ['google_cloud_project', ['requires setting', 'must be set', 'not set']] }),
  row('gemini.argument', 'invalid_request', 'medium', { any: ['status:invalid_argument', 'status:failed_precondition'] }),
  row('gemini.context', 'context_length', 'exact', { all: ['input token count', ['exceeds the maximum', 'exceed*']] }),
  row('gemini.blocked', 'refusal', 'high', { any: ['finishreason:safety', 'blockreason:*', 'prohibited_content'] }),
  row('gemini.loop', 'unknown', 'medium', { any: ['a potential loop was detected'] }),
];
