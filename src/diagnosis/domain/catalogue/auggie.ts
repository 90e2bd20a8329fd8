import { row, type Signature } from '../signature.js';

/** Augment's Auggie. */
export const auggie: readonly Signature[] = [
  row('auggie.usage', 'quota', 'exact', { any: ['run out of usage', 'out of user messages', 'no more credits', 'run out of credits'] }),
  row('auggie.restricted', 'auth', 'exact', { all: ['your account', ['has been restricted', 'has been suspended', 'has been disabled']] }),
  row('auggie.purchase', 'quota', 'high', { any: ['purchase a subscription'], none: ['has been restricted', 'has been suspended'] }),
  row('auggie.inactive', 'quota', 'exact', { all: ['your subscription', ['is inactive', 'is not active', 'has been cancelled']] }),
  row('auggie.login', 'auth', 'exact', { any: ['auggie login', 'augment_session_auth', 'augment_api_token'] }),
  row('auggie.service', 'server_error', 'medium', {
    any: ['augment service is temporarily unavailable', 'augment api is temporarily unavailable'],
  }),
];
