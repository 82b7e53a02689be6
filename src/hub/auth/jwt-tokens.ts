/** Callers by their JWT, checked with a secret, public keys or a JWKS. Algorithms are pinned by the kind of key. */
import {
  createRemoteJWKSet,
  importJWK,
  type JWK,
  type JWTPayload,
  type JWTVerifyGetKey,
  type JWTVerifyOptions,
  jwtVerify,
} from "jose";
import { BusError } from "../../model/errors.js";
import { HubError } from "../problem.js";
import { Acl, groupsByName } from "./acl.js";
import {
  type Authenticator,
  areKeysAway,
  type Caller,
  type JwtOptions,
  keysAway,
  REFUSED,
  type Secret,
  type TokenDemands,
} from "./auth.js";
import { grantsOf } from "./claims.js";
import { ASYMMETRIC, faultOf } from "./public-keys.js";
import { RememberedTokens } from "./remembered-tokens.js";

const REMEMBER_MS = 60_000;
/** How far the clocks of whoever signs tokens and of hubs may be apart. */
const LEEWAY_S = 5;
/** Of a set of keys that was fetched, that it has none for a token. Other failures say nothing about the token. */
const NO_KEY: ReadonlySet<unknown> = new Set(["ERR_JWKS_NO_MATCHING_KEY", "ERR_JWKS_MULTIPLE_MATCHING_KEYS"]);
const OTHER_SIGNATURE = "ERR_JWS_SIGNATURE_VERIFICATION_FAILED";

export function jwtTokens(
  options: JwtOptions,
  demands: TokenDemands & { readonly onKeysAway: (error: unknown) => void },
): Authenticator {
  const { keys, algorithms } = keySource(options);
  const verify: JWTVerifyOptions = {
    algorithms: [...algorithms],
    clockTolerance: LEEWAY_S,
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
      const caller = await verifiedByAny(token, keys, verify)
        .then((payload) => callerOf(payload, demands))
        .catch((error: unknown) => {
          if (!areKeysAway(error)) throw new HubError("UNAUTHENTICATED", REFUSED);
          demands.onKeysAway((error as Error).cause);
          throw error;
        });
      remembered.add(token, caller, Date.now());
      return caller;
    },
  };
}

/** By the first key that its signature fits; what is wrong with it then is wrong. */
async function verifiedByAny(
  token: string,
  [key, ...others]: readonly [JWTVerifyGetKey, ...JWTVerifyGetKey[]],
  verify: JWTVerifyOptions,
): Promise<JWTPayload> {
  try {
    return (await jwtVerify(token, key, verify)).payload;
  } catch (error) {
    const [next, ...rest] = others;
    if (next === undefined || (error as { code?: unknown }).code !== OTHER_SIGNATURE) throw error;
    return verifiedByAny(token, [next, ...rest], verify);
  }
}

interface KeySource {
  readonly keys: readonly [JWTVerifyGetKey, ...JWTVerifyGetKey[]];
  readonly algorithms: readonly string[];
}

function keySource(options: JwtOptions): KeySource {
  const given = [options.secret, options.keys, options.jwksUrl].filter(
    (source) => source !== undefined,
  ).length;
  if (given !== 1)
    throw new BusError("INVALID_OPTION", "auth.jwt needs exactly one of secret, keys, jwksUrl");
  if (options.secret !== undefined) return { keys: secretsOf(options.secret), algorithms: ["HS256"] };
  if (options.jwksUrl !== undefined) {
    const { jwksCooldownMs: cooldownDuration = 5_000, jwksMaxAgeMs: cacheMaxAge = 600_000 } = options;
    const fetched = createRemoteJWKSet(new URL(options.jwksUrl), { cooldownDuration, cacheMaxAge });
    const key: JWTVerifyGetKey = (header, token) =>
      fetched(header, token).catch((error: unknown) => {
        throw NO_KEY.has((error as { code?: unknown }).code) ? error : keysAway(error);
      });
    return { keys: [key], algorithms: ASYMMETRIC };
  }
  return { keys: [keyAmong(options.keys ?? [])], algorithms: ASYMMETRIC };
}

function secretsOf(given: Secret | readonly Secret[]): KeySource["keys"] {
  const [first, ...others] = [given].flat().map((secret): JWTVerifyGetKey => {
    const bytes = typeof secret === "string" ? new TextEncoder().encode(secret) : secret;
    if (!(bytes?.length >= 32))
      throw new BusError("INVALID_OPTION", "auth.jwt.secret must have at least 32 bytes");
    return async () => bytes;
  });
  if (first === undefined) throw new BusError("INVALID_OPTION", "auth.jwt.secret is a secret, or several");
  return [first, ...others];
}

function keyAmong(keys: readonly JWK[]): JWTVerifyGetKey {
  if (keys.length === 0) throw new BusError("INVALID_OPTION", "auth.jwt.keys has at least one public key");
  for (const [i, key] of keys.entries()) {
    const fault = faultOf(key);
    if (fault !== undefined) throw new BusError("INVALID_OPTION", `auth.jwt.keys[${i}] ${fault}`);
  }
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
    subject: subjectOf(payload.sub),
    acl: new Acl(requireGroups ? groupsByName(grants) : grants),
    expiresMs: ((payload.exp ?? 0) + LEEWAY_S) * 1_000,
  };
}

/** Who is named in the audit, and by whom connections are counted. Some issuers write numbers. */
function subjectOf(sub: unknown): string {
  if (sub === undefined || sub === null || sub === "") return "unnamed";
  if (typeof sub === "string" || typeof sub === "number") return String(sub);
  throw new HubError("UNAUTHENTICATED", REFUSED);
}
