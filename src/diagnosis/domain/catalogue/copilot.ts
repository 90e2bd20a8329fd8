import { row, type Signature } from '../signature.js';

/** GitHub Copilot CLI (`CAPIError`, codes `quota_exceeded`, `rate_limited`, `model_degraded`, …). */
export const copilot: readonly Signature[] = [
  row('copilot.goaway', 'server_error', 'exact', { any: ['http/2 goaway connection terminated'] }),
  row('copilot.degraded', 'overloaded', 'exact', { any: ['model_degraded', 'is currently experiencing issues. we are actively working'] }),
  row('copilot.rate-limited', 'rate_limit', 'exact', {
    any: ['code:rate_limited'],
    none: ['weekly*', 'monthly*', 'daily*', 'specific time period', 'hours', 'hour', 'upgrade'],
    ends: 'notFar',
  }),
  row('copilot.transient', 'server_error', 'medium', { any: ['transient api error', 'response was interrupted due to a server error'] }),
  row('copilot.body-cut', 'network', 'exact', {
    all: ['failed native model http request', ['error sending request*', 'error decoding response body', 'connection closed*']],
  }),
  row('copilot.no-quota', 'quota', 'exact', {
    any: [
      'quota_exceeded',
      'you have no quota',
      'billing_not_configured',
      'user_weekly_rate_limited',
      'user_global_rate_limited',
      'specific time period',
    ],
  }),
  row('copilot.premium', 'quota', 'exact', {
    any: ['premium request allowance', 'out of premium requests', 'limit for premium requests', 'premium requests. please enable'],
  }),
  row('copilot.policy', 'permission', 'exact', {
    any: [
      'denied by copilot policy',
      'not authorized to use this copilot feature',
      'requires an enterprise or organization policy',
      'copilot cli policy',
      'feature_flag_blocked',
    ],
  }),
  row('copilot.provider-key', 'auth', 'exact', {
    any: ['authentication failed with provider', 'copilot_provider_api_key', 'no authentication information found'],
  }),
  row('copilot.model', 'invalid_model', 'exact', {
    any: ['model_not_supported', 'model_not_available', 'the requested model is not supported', 'is not available for your plan'],
  }),
  row('copilot.context', 'context_length', 'exact', { any: ['model_max_prompt_tokens_exceeded'] }),
  row('copilot.unknown-after-retries', 'unknown', 'medium', {
    all: ['failed to get response from the ai model', 'last error:unknown error'],
  }),
];
