/** Who did something. The system has no id. */
export type Actor =
  | { readonly kind: 'user'; readonly id: string }
  | { readonly kind: 'agent'; readonly id: string; readonly runId: string }
  | { readonly kind: 'system'; readonly id: null };

export const THE_SYSTEM: Actor = { kind: 'system', id: null };
