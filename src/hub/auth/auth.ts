/**
 * Who is calling: a JWT (secret, public keys or a JWKS), a fixed token, or, on loopback only, nobody in particular.
 * Every fault of a token gets the same answer. Where its keys cannot be had nobody knows whether it has one, and its bearer is told so.
 */
import type { JWK } from "jose";
import { HubError } from "../problem.js";
import type { Acl } from "./acl.js";

/** A secret that JWTs are signed with. */
export type Secret = string | Uint8Array;

/** How a hub checks JWTs: by a secret, by public keys, or by keys fetched from an address. */
export interface JwtOptions {
  /** HS256. At least 32 bytes. Of several each counts, while one takes the place of another. */
  readonly secret?: Secret | readonly Secret[];
  /** Public keys as JWK, by `kid` where there are several. */
  readonly keys?: readonly JWK[];
  /** Where public keys are fetched from (JWKS). */
  readonly jwksUrl?: string;
  /** How soon after a fetch a key that nobody knows may lead to another. Default 5,000. */
  readonly jwksCooldownMs?: number;
  /** How long fetched keys count; a token they were good for is remembered for a minute at most. Default 600,000. */
  readonly jwksMaxAgeMs?: number;
  /** The `iss` that tokens must have. */
  readonly issuer?: string;
  /** The `aud` that tokens must have. */
  readonly audience?: string;
}

/** What a fixed token may do, and in whose name. */
export interface TokenGrant {
  /** `verb:pattern`, such as "publish:orders.*". */
  readonly scopes: readonly string[];
  /** Shown in the audit. */
  readonly subject?: string;
}

/** What is asked of every token, of either kind. */
export interface TokenDemands {
  /** Tokens act for the groups that they name, and for no others: one that names none takes part in no group. Default false. */
  readonly requireGroups?: boolean;
}

/** Who gets in: bearers of JWTs, bearers of fixed tokens, or anybody ("none", on loopback alone). */
export type AuthOptions =
  | "none"
  | ({ readonly jwt: JwtOptions } & TokenDemands)
  | ({ readonly tokens: Readonly<Record<string, TokenGrant>> } & TokenDemands);

/** Somebody who may do some things until some time. */
export interface Caller {
  readonly subject: string;
  readonly acl: Acl;
  /** Until when the token counts, for requests and for what goes on, leeway included; Infinity if it does not run out. */
  readonly expiresMs: number;
}

export interface Authenticator {
  /** Throws UNAUTHENTICATED, the same for every fault; `keysAway` if that cannot be told for now. */
  authenticate(token: string | undefined): Promise<Caller>;
  /** Whose token this is, if that is known without asking; undefined says nothing. */
  known(token: string | undefined): Caller | undefined;
  /** Nobody needs a token. */
  readonly open: boolean;
}

/** Said of every token that is not good. */
export const REFUSED = "a valid token is needed";

/** Neither good nor bad: whoever sends the token again may well be let in. */
export function keysAway(cause: unknown): HubError {
  return new HubError("STORE_UNAVAILABLE", KEYS_AWAY, { cause });
}

export const KEYS_AWAY = "the keys by which tokens are checked cannot be had for now";

export function areKeysAway(error: unknown): error is HubError {
  return error instanceof HubError && error.code === "STORE_UNAVAILABLE";
}

export function isLoopback(host: string): boolean {
  return host === "localhost" || host === "::1" || /^127(\.\d{1,3}){3}$/.test(host);
}
