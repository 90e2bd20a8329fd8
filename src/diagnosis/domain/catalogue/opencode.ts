import { row, type Signature } from '../signature.js';

/** opencode and what it puts around providers (AI SDK: `AI_APICallError`, `ProviderModelNotFoundError`, `data.errorName`). */
export const opencode: readonly Signature[] = [
  row('opencode.connect', 'network', 'exact', {
    any: ['ai_apicallerror:cannot connect to api', 'cannot connect to api', 'sse read timed out'],
  }),
  row('opencode.empty-step', 'server_error', 'exact', { all: ['stream ended on an empty step', 'provider produced nothing'] }),
  row('opencode.balance', 'quota', 'exact', {
    any: [
      'creditserror',
      'type:creditserror',
      'insufficient balance',
      'monthlylimiterror',
      'userlimiterror',
      'freeusagelimiterror',
      'subscriptionusagelimiterror',
    ],
  }),
  row('opencode.key', 'auth', 'exact', { any: ['providerautherror', 'type:autherror', 'errorname:providerautherror'] }),
  row('opencode.model', 'invalid_model', 'exact', {
    any: ['providermodelnotfounderror', 'modelerror', 'errorname:providermodelnotfounderror'],
  }),
  row('opencode.routing', 'config', 'exact', { any: ['no allowed providers are available', 'no endpoints found'] }),
  row('opencode.provider', 'config', 'exact', { any: ['providerinit*', 'configinvaliderror', 'configjsonerror'] }),
  row('opencode.free-tier', 'permission', 'exact', { any: ['free tier can only be used from within'] }),
  row('opencode.context', 'context_length', 'exact', { any: ['contextoverflowerror', 'session too large to compact'] }),
  row('opencode.output', 'invalid_request', 'high', { any: ['messageoutputlengtherror'] }),
  row('opencode.aborted', 'unknown', 'medium', { any: ['messageabortederror'] }),
];
