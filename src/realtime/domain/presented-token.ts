/** The subprotocol of this wire; the one the server selects. */
export const SUBPROTOCOL = 'office.v1';
const BEARER = 'bearer.';

/**
 * The token among the subprotocols a browser offers (`office.v1, bearer.<token>`), which is the only place it can put one.
 * Characters that no subprotocol may have are percent-encoded. Null when there is none.
 */
export function tokenAmong(protocols: string | undefined): string | null {
  const offered = (protocols ?? '').split(',').map((name) => name.trim());
  if (!offered.includes(SUBPROTOCOL)) return null;
  const [bearer, ...others] = offered.filter((name) => name.startsWith(BEARER));
  return bearer === undefined || others.length > 0 ? null : decoded(bearer.slice(BEARER.length));
}

function decoded(token: string): string | null {
  try {
    return decodeURIComponent(token) || null;
  } catch {
    return token;
  }
}
