/** As much of a WebSocket as the client needs: the browser's, and that of `ws`, both have it. */
export interface WebSocketLike {
  onopen: (() => void) | null;
  onmessage: ((message: { data: unknown }) => void) | null;
  onclose: ((close: { code: number; reason: string }) => void) | null;
  onerror: ((error: { message?: string }) => void) | null;
  send(text: string): void;
  close(code?: number, reason?: string): void;
  /** Of `ws`: without waiting for the other side. */
  terminate?(): void;
}

export type WebSocketClass = new (url: string, protocols: string[]) => WebSocketLike;

/** The given class, the platform's own, or in Node without one the package `ws`. */
export async function webSocketClass(given: WebSocketClass | undefined): Promise<WebSocketClass> {
  if (given !== undefined) return given;
  const { WebSocket: own } = globalThis as { WebSocket?: WebSocketClass };
  if (own !== undefined) return own;
  const { WebSocket } = await import('ws');
  return WebSocket as unknown as WebSocketClass;
}

/** `https://host/anything` or `wss://host` becomes `wss://host/ws`. */
export function socketUrl(url: string): string {
  const { protocol, host } = new URL(url);
  return `${protocol === 'https:' || protocol === 'wss:' ? 'wss' : 'ws'}://${host}/ws`;
}

/** The subprotocols that carry a token, the one place where a browser may put it. */
export const protocolsFor = (token: string): string[] => [
  'office.v1',
  // A subprotocol has fewer characters than a token may have; the server reads this back.
  `bearer.${encodeURIComponent(token).replace(/[()]/g, (bracket) => (bracket === '(' ? '%28' : '%29'))}`,
];
