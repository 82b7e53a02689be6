/** Tokens that are forged, torn, swapped, out of date or meant for somebody else. */
import { createHmac, generateKeyPairSync, type KeyObject, sign } from "node:crypto";
import type { Authenticator } from "../../../src/hub/auth/auth.js";
import { authenticatorOf } from "../../../src/hub/auth/authenticator.js";
import type { Kind } from "./fuzz.js";
import type { Noise } from "./noise.js";

const SECRET = "0123456789abcdef0123456789abcdef";
const ISSUER = "us";
const AUDIENCE = "hub";

const pair = generateKeyPairSync("ec", { namedCurve: "P-256" });
const stranger = generateKeyPairSync("ec", { namedCurve: "P-256" });
const publicJwk = { ...pair.publicKey.export({ format: "jwk" }), kid: "k1", alg: "ES256" };
const publicPem = pair.publicKey.export({ format: "pem", type: "spki" }).toString();

const bySecret = await authenticatorOf(
  { jwt: { secret: SECRET, issuer: ISSUER, audience: AUDIENCE } },
  "127.0.0.1",
);
const byKey = await authenticatorOf(
  { jwt: { keys: [publicJwk], issuer: ISSUER, audience: AUDIENCE } },
  "127.0.0.1",
);

const part = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString("base64url");

function hmac(header: object, payload: unknown, secret: string, digest = "sha256"): string {
  const text = `${part(header)}.${part(payload)}`;
  return `${text}.${createHmac(digest, secret).update(text).digest("base64url")}`;
}

function ecdsa(header: object, payload: unknown, key: KeyObject): string {
  const text = `${part(header)}.${part(payload)}`;
  return `${text}.${sign("sha256", Buffer.from(text), { key, dsaEncoding: "ieee-p1363" }).toString("base64url")}`;
}

interface Token {
  readonly token: string | undefined;
  readonly by: Authenticator;
  readonly good: boolean;
  readonly why: string;
}

const nowS = (): number => Math.floor(Date.now() / 1_000);
const claims = (): Record<string, unknown> => ({
  ...{ sub: "ada", iss: ISSUER, aud: AUDIENCE, exp: nowS() + 600, scopes: ["publish:a.*"] },
});

/** Each is wrong in one way; with a signature that fits wherever a forger could make one. */
const FORGERIES: readonly ((noise: Noise) => Token)[] = [
  () => bad("alg none", bySecret, `${part({ alg: "none" })}.${part(claims())}.`),
  () => bad("alg none, in odd letters", byKey, `${part({ alg: "nOnE" })}.${part(claims())}.`),
  () => bad("alg none, with a signature", bySecret, hmac({ alg: "none" }, claims(), SECRET)),
  () =>
    bad(
      "the public key as a secret (JWK)",
      byKey,
      hmac({ alg: "HS256", kid: "k1" }, claims(), JSON.stringify(publicJwk)),
    ),
  () =>
    bad("the public key as a secret (PEM)", byKey, hmac({ alg: "HS256", kid: "k1" }, claims(), publicPem)),
  () => bad("another algorithm of the family", bySecret, hmac({ alg: "HS512" }, claims(), SECRET, "sha512")),
  () =>
    bad(
      "the right algorithm, the wrong digest",
      bySecret,
      hmac({ alg: "HS256" }, claims(), SECRET, "sha512"),
    ),
  () =>
    bad("another secret", bySecret, hmac({ alg: "HS256" }, claims(), "another-secret-of-at-least-32-bytes!")),
  () => bad("an empty secret", bySecret, hmac({ alg: "HS256" }, claims(), "")),
  () => bad("a stranger's key", byKey, ecdsa({ alg: "ES256", kid: "k1" }, claims(), stranger.privateKey)),
  (noise) =>
    bad(
      "a kid that is a trick",
      byKey,
      ecdsa(
        {
          alg: "ES256",
          kid: noise.pick(["../../dev/null", "k1' OR '1'='1", "__proto__", "", "k1\u0000", "K1"]),
        },
        claims(),
        pair.privateKey,
      ),
    ),
  () =>
    bad(
      "a kid that is no text",
      byKey,
      ecdsa({ alg: "ES256", kid: { $ne: null } as unknown as string }, claims(), pair.privateKey),
    ),
  () =>
    bad(
      "a key brought along (jwk)",
      byKey,
      ecdsa(
        { alg: "ES256", jwk: stranger.publicKey.export({ format: "jwk" }) },
        claims(),
        stranger.privateKey,
      ),
    ),
  () =>
    bad(
      "an address of keys brought along (jku)",
      byKey,
      ecdsa({ alg: "ES256", jku: "http://127.0.0.1:1/keys" }, claims(), stranger.privateKey),
    ),
  () => bad("a crit header", bySecret, hmac({ alg: "HS256", crit: ["exp"], exp: 1 }, claims(), SECRET)),
  () => bad("out of date", bySecret, hmac({ alg: "HS256" }, { ...claims(), exp: nowS() - 60 }, SECRET)),
  () => bad("without an end", bySecret, hmac({ alg: "HS256" }, { ...claims(), exp: undefined }, SECRET)),
  (noise) =>
    bad(
      "an end that is no number",
      bySecret,
      hmac({ alg: "HS256" }, { ...claims(), exp: noise.pick(["9999999999", null, [], {}, true]) }, SECRET),
    ),
  () => bad("not yet good", bySecret, hmac({ alg: "HS256" }, { ...claims(), nbf: nowS() + 600 }, SECRET)),
  (noise) =>
    bad(
      "another issuer",
      bySecret,
      hmac({ alg: "HS256" }, { ...claims(), iss: noise.pick(["them", "", null, ["us"], "US"]) }, SECRET),
    ),
  (noise) =>
    bad(
      "another audience",
      bySecret,
      hmac(
        { alg: "HS256" },
        { ...claims(), aud: noise.pick(["club", "", null, [], ["club"], "HUB"]) },
        SECRET,
      ),
    ),
  (noise) =>
    bad(
      "claims that are no object",
      bySecret,
      hmac({ alg: "HS256" }, noise.pick([null, [], 7, "x"]), SECRET),
    ),
  (noise) =>
    bad(
      "scopes that are none",
      bySecret,
      hmac(
        { alg: "HS256" },
        { ...claims(), scopes: [noise.pick(["everything", ":", "publish", "own:a"])] },
        SECRET,
      ),
    ),
  (noise) =>
    bad(
      "a policy that is none",
      bySecret,
      hmac({ alg: "HS256" }, { ...claims(), policy: { rules: [noise.json(2)] } }, SECRET),
    ),
  (noise) =>
    bad(
      "a policy without a list of rules",
      bySecret,
      hmac({ alg: "HS256" }, { ...claims(), policy: noise.pick([[], {}, "deny", 1, { rules: {} }]) }, SECRET),
    ),
  (noise) => ({ ...unsure("noise"), token: noise.text() }),
  (noise) => ({ ...unsure("torn"), token: noise.torn(hmac({ alg: "HS256" }, claims(), SECRET)) }),
  (noise) => ({
    ...unsure("torn, public key"),
    by: byKey,
    token: noise.torn(ecdsa({ alg: "ES256", kid: "k1" }, claims(), pair.privateKey)),
  }),
  () => ({ ...unsure("no token"), token: undefined }),
];

function bad(why: string, by: Authenticator, token: string): Token {
  return { why, by, token, good: false };
}

function unsure(why: string): Token {
  return { why, by: bySecret, token: "", good: false };
}

/** Good tokens among the bad ones, so that a door that is simply shut does not pass. */
function goodToken(noise: Noise): Token {
  const token = noise.chance(0.5)
    ? { by: bySecret, token: hmac({ alg: "HS256" }, claims(), SECRET) }
    : { by: byKey, token: ecdsa({ alg: "ES256", kid: "k1" }, claims(), pair.privateKey) };
  return { ...token, good: true, why: "good" };
}

/** A tear may leave a token as it was, or change only bits of its last character that carry nothing. */
function isUntouched(token: string | undefined): boolean {
  const [header = "", payload = "", signature = ""] = (token ?? "").split(".");
  const text = `${header}.${payload}`;
  const wanted = createHmac("sha256", SECRET).update(text).digest();
  return Buffer.from(signature, "base64url").equals(wanted);
}

export const tokens: Kind = {
  name: "tokens",
  codes: ["UNAUTHENTICATED"],
  make: (noise) => (noise.chance(0.1) ? goodToken(noise) : noise.pick(FORGERIES)(noise)),
  run: async (input) => {
    const { token, by, good, why } = input as Token;
    const caller = await by.authenticate(token);
    if (!good && !isUntouched(token) && why !== "torn, public key")
      throw new Error(`taken, though: ${why} ${token}`);
    if (caller.subject !== "ada") throw new Error(`taken for ${caller.subject}`);
    if (caller.acl.allows("publish", "b") || !caller.acl.allows("publish", "a.x"))
      throw new Error("the rights are not the token's");
  },
  refused: (input) => ((input as Token).good ? "a good token was refused" : undefined),
};
