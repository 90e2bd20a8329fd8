import { row, type Signature } from '../signature.js';

/** Amp, through whatever bridge speaks ACP for it. */
export const amp: readonly Signature[] = [
  row('amp.credits', 'quota', 'exact', { any: ['out of credits', 'insufficient credits', 'ampcode.com/settings/billing', 'daily grant'] }),
  row('amp.refusal', 'refusal', 'exact', { any: ['amp refused to respond*', 'violates its content policy'] }),
  row('amp.login', 'auth', 'exact', { any: ['run amp login', 'amp_api_key', 'amp api key'] }),
  row('amp.disconnected', 'network', 'high', { any: ['connection to amp server lost', 'amp server connection lost'] }),
];
