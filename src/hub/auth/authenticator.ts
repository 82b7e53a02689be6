/** How callers are told, as the hub's options say. */
import { createHash, timingSafeEqual } from "node:crypto";
import { BusError } from "../../model/errors.js";
import { HubError } from "../problem.js";
import { Acl, groupsByName } from "./acl.js";
import {
  type Authenticator,
  type AuthOptions,
  type Caller,
  isLoopback,
  REFUSED,
  type TokenDemands,
  type TokenGrant,
} from "./auth.js";

/** `onKeysAway`: told of each time that the keys of tokens could not be had. */
export async function authenticatorOf(
  options: AuthOptions,
  host: string,
  onKeysAway: (error: unknown) => void = () => undefined,
): Promise<Authenticator> {
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
  if ("tokens" in options) return fixedTokens(options.tokens, options);
  // Not loaded by hubs that have no use for it.
  const { jwtTokens } = await import("./jwt-tokens.js");
  return jwtTokens(options.jwt, { ...options, onKeysAway });
}

function fixedTokens(
  tokens: Readonly<Record<string, TokenGrant>>,
  { requireGroups = false }: TokenDemands,
): Authenticator {
  const known = Object.entries(tokens).map(([token, { scopes, subject }], i) => ({
    digest: digestOf(token),
    caller: {
      subject: subject ?? `token-${i + 1}`,
      acl: new Acl(requireGroups ? groupsByName({ scopes }) : { scopes }),
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
