/**
 * Who is calling: a JWT (secret, public keys or a JWKS), a fixed token, or, on loopback only, nobody in particular.
 * Algorithms are pinned by the kind of key; every fault of a token gets the same answer.
 */
import { createHash, timingSafeEqual } from "node:crypto";
import {
  createRemoteJWKSet,
  importJWK,
  type JWK,
  type JWTPayload,
  type JWTVerifyGetKey,
  jwtVerify,
} from "jose";
import { BusError } from "../model/errors.js";
import { Acl, type Rule } from "./acl.js";
import { HubError } from "./problem.js";
import { RememberedTokens } from "./remembered-tokens.js";

/** How a hub checks JWTs: by a secret, by public keys, or by keys fetched from an address. */
export interface JwtOptions {
  /** HS256. At least 32 bytes. */
  readonly secret?: string | Uint8Array;
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

/** Who gets in: bearers of JWTs, bearers of fixed tokens, or anybody ("none", on loopback alone). */
export type AuthOptions =
  | "none"
  | { readonly jwt: JwtOptions }
  | { readonly tokens: Readonly<Record<string, TokenGrant>> };

/** Somebody who may do some things until some time. */
export interface Caller {
  readonly subject: string;
  readonly acl: Acl;
  /** When the token runs out; Infinity if it does not. */
  readonly expiresMs: number;
}

export interface Authenticator {
  /** Throws UNAUTHENTICATED, the same for every fault. */
  authenticate(token: string | undefined): Promise<Caller>;
  /** Whose token this is, if that is known without asking; undefined says nothing. */
  known(token: string | undefined): Caller | undefined;
  /** Nobody needs a token. */
  readonly open: boolean;
}

const REFUSED = "a valid token is needed";
const REMEMBER_MS = 60_000;
const ASYMMETRIC = ["RS256", "PS256", "ES256", "ES384", "EdDSA"];

export function authenticatorOf(options: AuthOptions, host: string): Authenticator {
  if (options === "none") {
    if (!isLoopback(host)) {
      throw new BusError(
        "INVALID_OPTION",
        `auth "none" is for loopback only, and the hub would listen on ${host}`,
      );
    }
    const caller: Caller = {
      subject: "anyone",
      acl: new Acl({ scopes: ["*:*"] }),
      expiresMs: Number.POSITIVE_INFINITY,
    };
    return { open: true, authenticate: async () => caller, known: () => caller };
  }
  return "tokens" in options ? fixedTokens(options.tokens) : jwtTokens(options.jwt);
}

export function isLoopback(host: string): boolean {
  return host === "localhost" || host === "::1" || /^127(\.\d{1,3}){3}$/.test(host);
}

function fixedTokens(tokens: Readonly<Record<string, TokenGrant>>): Authenticator {
  const known = Object.entries(tokens).map(([token, grant], i) => ({
    digest: digestOf(token),
    caller: {
      subject: grant.subject ?? `token-${i + 1}`,
      acl: new Acl({ scopes: grant.scopes }),
      expiresMs: Number.POSITIVE_INFINITY,
    } satisfies Caller,
  }));
  // What was found good once need not be hashed again; there are as many as there are tokens.
  const good = new Map<string, Caller>();
  return {
    open: false,
    known: (token) => good.get(token ?? ""),
    authenticate: async (token) => {
      const seen = good.get(token ?? "");
      if (seen !== undefined) return seen;
      const digest = digestOf(token ?? "");
      const found = known.find((candidate) => timingSafeEqual(candidate.digest, digest));
      if (token === undefined || found === undefined) throw new HubError("UNAUTHENTICATED", REFUSED);
      good.set(token, found.caller);
      return found.caller;
    },
  };
}

function digestOf(token: string): Buffer {
  return createHash("sha256").update(token).digest();
}

function jwtTokens(options: JwtOptions): Authenticator {
  const { key, algorithms } = keySource(options);
  const verify = {
    algorithms,
    clockTolerance: 5,
    requiredClaims: ["exp"],
    ...(options.issuer !== undefined && { issuer: options.issuer }),
    ...(options.audience !== undefined && { audience: options.audience }),
  };
  const remembered = new RememberedTokens(Math.min(REMEMBER_MS, options.jwksMaxAgeMs ?? REMEMBER_MS));
  const known = (token = ""): Caller | undefined => remembered.find(token, Date.now());
  return {
    open: false,
    known,
    authenticate: async (token = "") => {
      const seen = known(token);
      if (seen !== undefined) return seen;
      const caller = await jwtVerify(token, key, verify)
        .then(({ payload }) => callerOf(payload))
        .catch(() => null);
      if (caller === null) throw new HubError("UNAUTHENTICATED", REFUSED);
      remembered.add(token, caller, Date.now());
      return caller;
    },
  };
}

function keySource(options: JwtOptions): { key: JWTVerifyGetKey; algorithms: string[] } {
  const given = [options.secret, options.keys, options.jwksUrl].filter(
    (source) => source !== undefined,
  ).length;
  if (given !== 1)
    throw new BusError("INVALID_OPTION", "auth.jwt needs exactly one of secret, keys, jwksUrl");
  if (options.secret !== undefined) {
    const secret =
      typeof options.secret === "string" ? new TextEncoder().encode(options.secret) : options.secret;
    if (secret.length < 32)
      throw new BusError("INVALID_OPTION", "auth.jwt.secret must have at least 32 bytes");
    return { key: async () => secret, algorithms: ["HS256"] };
  }
  if (options.jwksUrl !== undefined) {
    const { jwksCooldownMs: cooldownDuration = 5_000, jwksMaxAgeMs: cacheMaxAge = 600_000 } = options;
    const key = createRemoteJWKSet(new URL(options.jwksUrl), { cooldownDuration, cacheMaxAge });
    return { key, algorithms: ASYMMETRIC };
  }
  return { key: keyAmong(options.keys ?? []), algorithms: ASYMMETRIC };
}

function keyAmong(keys: readonly JWK[]): JWTVerifyGetKey {
  return async ({ kid, alg }) => {
    const fitting = keys.filter(
      (key) => (kid === undefined || key.kid === kid) && (key.alg === undefined || key.alg === alg),
    );
    const [only] = fitting;
    if (only === undefined || fitting.length > 1) throw new HubError("UNAUTHENTICATED", REFUSED);
    return importJWK(only, alg);
  };
}

/** `scopes` (array), `scope` (space-separated) or `policy: { rules }`. A token that says nothing may do nothing. */
function callerOf(payload: JWTPayload): Caller {
  const scopes = Array.isArray(payload.scopes)
    ? payload.scopes.map(String)
    : String(payload.scope ?? "")
        .split(" ")
        .filter((scope) => scope !== "");
  const policy = payload.policy as { rules?: readonly Rule[] } | undefined;
  return {
    subject: payload.sub ?? "unnamed",
    acl: new Acl({ scopes, rules: policy?.rules ?? [] }),
    expiresMs: (payload.exp ?? 0) * 1_000,
  };
}
