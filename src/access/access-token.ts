import { createHash, randomBytes } from 'node:crypto';

/** A new access token's text: shown once, never stored. */
export const newAccessToken = (): string => `office_${randomBytes(32).toString('base64url')}`;

/** What is stored of a token. It has 256 bits of randomness, so a plain hash is enough to make the table useless to a thief. */
export const hashOfToken = (token: string): Buffer => createHash('sha256').update(token, 'utf8').digest();

/** One credential of visible ASCII after one scheme; the scheme's name is case-insensitive (RFC 9110). */
const BEARER = /^Bearer +([\x21-\x7e]+)$/i;

/** The token of an Authorization header; null for none, another scheme, or anything that is not exactly one token. A runtime token is longer. */
export function bearerToken(header: string | undefined, longest = 512): string | null {
  const token = header === undefined ? undefined : BEARER.exec(header)?.[1];
  return token !== undefined && token.length <= longest ? token : null;
}
