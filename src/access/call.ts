import type { Scope } from './domain/route-access.js';

/** Whose token came with the request. */
export interface Person {
  readonly userId: string;
  readonly name: string;
  readonly tokenId: string;
  readonly scopes: readonly Scope[];
  readonly isInstanceAdmin: boolean;
}

/** A request that may be repeated without acting twice: same principal, method, route and key. */
export interface IdempotentRequest {
  /** `user:<id>` or `run:<id>`. */
  readonly principal: string;
  readonly method: string;
  /** The path with its parameters, without the query. */
  readonly route: string;
  readonly key: string;
  /** SHA-256 of the body in canonical form. */
  readonly hash: Buffer;
}

/** Who calls, and how to answer the same call again. `idempotency` is null unless the route is `@Idempotent()` and a key came. */
export interface Call {
  readonly person: Person;
  readonly idempotency: IdempotentRequest | null;
}
