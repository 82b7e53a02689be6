/** What `startHub` was given, before anything is started: what is wrong is one error that says what to write. */
import { BusError } from "../model/errors.js";
import { checkOptionNames, namesOf } from "../model/known-options.js";
import type { JwtOptions, TokenDemands, TokenGrant } from "./auth/auth.js";
import { DEFAULT_HUB_LIMITS } from "./limits.js";
import type { HubOptions } from "./server.js";
import { originOf } from "./visitors.js";

const KNOWN = namesOf<HubOptions>({
  bus: true,
  auth: true,
  host: true,
  port: true,
  limits: true,
  name: true,
  origins: true,
  log: true,
  tracing: true,
  drainMs: true,
});

const OF_TOKENS = namesOf<TokenDemands>({ requireGroups: true });
const OF_JWT = namesOf<JwtOptions>({
  secret: true,
  keys: true,
  jwksUrl: true,
  jwksCooldownMs: true,
  jwksMaxAgeMs: true,
  issuer: true,
  audience: true,
});
const OF_GRANT = namesOf<TokenGrant>({ scopes: true, subject: true });

/** INVALID_OPTION for what is no hub's. */
export function checkHubOptions(options: HubOptions): void {
  const { bus, auth, port = 0, limits = {}, origins = [], drainMs = 0 } = options ?? {};
  if (typeof bus?.observe !== "function") throw wrong("a hub needs a bus: startHub({ bus, auth })");
  if (typeof auth !== "object" ? auth !== "none" : auth === null || !("tokens" in auth || "jwt" in auth))
    throw wrong(
      'a hub needs auth: { jwt: { secret } }, { tokens: { token: { scopes } } }, or "none" on loopback',
    );
  if (!Number.isInteger(port) || port < 0 || port > 65_535)
    throw wrong("port must be a whole number from 0 to 65,535; 0 is any free one");
  checkOptionNames("a hub", options, KNOWN);
  if (auth !== "none") checkAuth(auth);
  checkOptionNames("limits", limits, Object.keys(DEFAULT_HUB_LIMITS));
  for (const [name, limit] of Object.entries(limits))
    if (!(typeof limit === "number" && limit > 0)) throw wrong(`limits.${name} must be a number above 0`);
  checkOrigins(origins);
  if (!(typeof drainMs === "number" && drainMs >= 0)) throw wrong("drainMs must be a number of 0 or more");
}

function checkJwt(jwt: JwtOptions): void {
  checkNames("auth.jwt", jwt, OF_JWT);
  const { issuer, audience, jwksUrl } = jwt;
  // An empty one, of a variable that is not set, is that of no token.
  for (const [name, value] of Object.entries({ issuer, audience }))
    if (value !== undefined && (typeof value !== "string" || value === ""))
      throw wrong(`auth.jwt.${name} is a text that is not empty, or left out`);
  if (jwksUrl !== undefined && !URL.canParse(jwksUrl))
    throw wrong("auth.jwt.jwksUrl is the address of a JWKS");
}

/** What becomes of a variable that is not set, as the name of a member. */
const UNSET: ReadonlySet<string> = new Set(["", "undefined", "null"]);

function checkTokens(tokens: Readonly<Record<string, TokenGrant>>): void {
  checkNames("auth.tokens", tokens, Object.keys(tokens ?? {}));
  for (const [token, grant] of Object.entries(tokens)) {
    if (UNSET.has(token)) throw wrong(`auth.tokens has a token "${token}": is a variable not set?`);
    checkNames("a token of auth", grant, OF_GRANT);
    if (!Array.isArray(grant.scopes)) throw wrong("the scopes of a token of auth are a list");
  }
}

/** One that names no site would let nobody in, or all pages that have none. */
function checkOrigins(origins: unknown): void {
  if (!Array.isArray(origins)) throw wrong("origins is a list of sites, such as https://shop.example");
  for (const origin of origins)
    if (typeof origin !== "string" || originOf(origin) === undefined)
      throw wrong(`${JSON.stringify(origin)} in origins is no site: write it as https://shop.example`);
}

/** A demand that is misspelt would let in more than was meant. */
function checkAuth(auth: Exclude<HubOptions["auth"], "none">): void {
  if ("jwt" in auth && "tokens" in auth) throw wrong("auth takes one of jwt and tokens");
  checkNames("auth", auth, ["jwt" in auth ? "jwt" : "tokens", ...OF_TOKENS]);
  if ("jwt" in auth) checkJwt(auth.jwt);
  else checkTokens(auth.tokens);
  if (typeof (auth.requireGroups ?? false) !== "boolean") throw wrong("auth.requireGroups is true or false");
}

function checkNames(whose: string, given: unknown, known: readonly string[]): void {
  if (typeof given !== "object" || given === null) throw wrong(`${whose} is an object`);
  checkOptionNames(whose, given, known);
}

function wrong(message: string): BusError {
  return new BusError("INVALID_OPTION", message);
}
