/** Callers by their JWT, checked with a secret, public keys or a JWKS. Algorithms are pinned by the kind of key. */
import {
  createRemoteJWKSet,
  importJWK,
  type JWK,
  type JWTPayload,
  type JWTVerifyGetKey,
  jwtVerify,
} from "jose";
import { BusError } from "../model/errors.js";
import { Acl, groupsByName } from "./acl.js";
import { type Authenticator, type Caller, type JwtOptions, REFUSED, type TokenDemands } from "./auth.js";
import { grantsOf } from "./claims.js";
import { HubError } from "./problem.js";
import { RememberedTokens } from "./remembered-tokens.js";

const REMEMBER_MS = 60_000;
const ASYMMETRIC = ["RS256", "PS256", "ES256", "ES384", "EdDSA"];

export function jwtTokens(options: JwtOptions, demands: TokenDemands = {}): Authenticator {
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
        .then(({ payload }) => callerOf(payload, demands))
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

function callerOf(payload: JWTPayload, { requireGroups = false }: TokenDemands): Caller {
  const grants = grantsOf(payload);
  return {
    subject: payload.sub ?? "unnamed",
    acl: new Acl(requireGroups ? groupsByName(grants) : grants),
    expiresMs: (payload.exp ?? 0) * 1_000,
  };
}
