import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { exportJWK, generateKeyPair, type JWK, SignJWT } from "jose";
import { afterEach, describe, expect, it } from "vitest";
import type { JwtOptions } from "./auth.js";
import { authenticatorOf } from "./authenticator.js";

const SECRET = "0123456789abcdef0123456789abcdef";
const HOST = "127.0.0.1";
type Claims = Record<string, unknown>;
const ALL = { scopes: ["publish:**"] };
const DENY = { effect: "deny", verbs: ["publish"], resources: ["orders.secret"] };

const signed = (claims: Claims, secret = SECRET, alg = "HS256"): Promise<string> =>
  new SignJWT(claims)
    .setProtectedHeader({ alg })
    .setExpirationTime("exp" in claims ? Number(claims.exp) : "1h")
    .sign(new TextEncoder().encode(secret));

const jwt = (options: Partial<JwtOptions> = {}) =>
  authenticatorOf({ jwt: { secret: SECRET, ...options } }, HOST);

describe("JSON Web Tokens", () => {
  it("allow what their scopes say, as an array or as words", async () => {
    for (const claims of [{ scopes: ["publish:a.*"] }, { scope: "publish:a.* read:b" }]) {
      const { acl, subject } = await (await jwt()).authenticate(await signed({ sub: "ada", ...claims }));
      expect([subject, acl.allows("publish", "a.x"), acl.allows("publish", "b")]).toEqual([
        "ada",
        true,
        false,
      ]);
    }
  });

  it("carry scopes as a list or as words, under either name", async () => {
    const words = "publish:orders  read:orders";
    for (const claims of [{ scopes: words }, { scope: words }, { scope: words.split("  ") }]) {
      const { acl } = await (await jwt()).authenticate(await signed(claims));
      expect(acl.allows("publish", "orders")).toBe(true);
      expect(acl.allows("read", "orders")).toBe(true);
      expect(acl.allows("publish", "users")).toBe(false);
    }
  });

  it("may have words of other services in `scope`, which allow nothing", async () => {
    const { acl } = await (await jwt()).authenticate(
      await signed({ scope: "openid profile publish:orders.* offline_access" }),
    );
    expect(acl.rules).toEqual([{ effect: "allow", verbs: ["publish"], resources: ["orders.*"] }]);
  });

  it.each([
    [7, "7"],
    ["", "unnamed"],
    [undefined, "unnamed"],
  ])("name whom they are for: %j is %s", async (sub, named) => {
    const { subject } = await (await jwt()).authenticate(await signed({ ...ALL, sub }));
    expect(subject).toBe(named);
  });

  it("may deny groups and ops by names that topics cannot have", async () => {
    const rules = [
      { effect: "deny", verbs: ["group"], resources: ["mail:eu/1", "dlq.mender", "*", "a.**.b"] },
      { effect: "deny", verbs: ["ops"], resources: ["*"] },
    ];
    await expect(
      (await jwt()).authenticate(await signed({ ...ALL, policy: { rules } })),
    ).resolves.toBeDefined();
  });

  it("carry a policy, in which deny wins and what nothing allows is denied", async () => {
    const rules = [
      { effect: "allow", verbs: ["publish", "subscribe"], resources: ["orders.**"] },
      { effect: "deny", verbs: ["*"], resources: ["orders.secret"] },
    ];
    const { acl } = await (await jwt()).authenticate(await signed({ policy: { rules } }));
    expect(acl.allows("publish", "orders.placed")).toBe(true);
    expect(acl.allows("publish", "orders.secret")).toBe(false);
    expect(acl.allows("read", "dlq.orders.secret")).toBe(false);
    expect(acl.allowsPattern("subscribe", "orders.**")).toBe(false);
    expect(acl.allows("ops", "redrive")).toBe(false);
  });

  it("that name groups allow those alone; others allow all that no rule denies", async () => {
    const groups = ["billing", "billing.eu", "mail:eu/1", "shop"];
    const allowed = async (claims: Claims): Promise<string[]> => {
      const { acl } = await (await jwt()).authenticate(await signed(claims));
      return groups.filter((group) => acl.allows("group", group));
    };
    const subscribe = "subscribe:orders.**";
    const deny = { effect: "deny", verbs: ["group"], resources: ["billing.**"] };
    expect(await allowed({ scopes: [subscribe] })).toEqual(groups);
    expect(await allowed({ scopes: ["*:*"] })).toEqual(groups);
    expect(await allowed({ scopes: [subscribe, "group:billing.**"] })).toEqual(["billing", "billing.eu"]);
    expect(await allowed({ scopes: ["*:*", "group:billing.*", "group:mail:eu/1"] })).toEqual([
      "billing.eu",
      "mail:eu/1",
    ]);
    expect(await allowed({ scopes: [subscribe], policy: { rules: [deny] } })).toEqual(["mail:eu/1", "shop"]);
    expect(await allowed({ scopes: ["group:*"], policy: { rules: [deny] } })).toEqual(["mail:eu/1", "shop"]);
  });

  const faults: [string, () => Promise<string | undefined>][] = [
    ["no token", async () => undefined],
    ["what is no token", async () => "abc.def"],
    ["another secret", () => signed({}, "another-secret-of-at-least-32-bytes!")],
    ["a token that ran out", () => signed({ exp: Math.floor(Date.now() / 1_000) - 60 })],
    ["another algorithm", () => signed({}, SECRET.repeat(2), "HS512")],
    [
      "no algorithm",
      async () => `${btoa('{"alg":"none"}')}.${btoa('{"exp":9999999999}')}.`.replaceAll("=", ""),
    ],
    [
      "no end",
      () => new SignJWT({}).setProtectedHeader({ alg: "HS256" }).sign(new TextEncoder().encode(SECRET)),
    ],
    ["a scope that is none", () => signed({ scopes: ["everything"] })],
    ["several scopes in one", () => signed({ scopes: ["read:orders publish:orders"] })],
    ["a scope of groups that was misspelt", () => signed({ scope: "subscribe:orders gruop:billing" })],
    ["a scope of groups without its colon", () => signed({ scope: "subscribe:orders group billing" })],
    ["scopes that are neither a list nor words", () => signed({ scopes: { publish: "orders" } })],
    [
      "a policy that is none",
      () => signed({ policy: { rules: [{ effect: "maybe", verbs: [], resources: [] }] } }),
    ],
    ["a policy without `rules`, whose denials would not count", () => signed({ ...ALL, policy: [DENY] })],
    ["a policy with `rules` misspelt", () => signed({ ...ALL, policy: { rule: [DENY] } })],
    ["a policy with one rule in place of a list", () => signed({ ...ALL, policy: { rules: DENY } })],
    ...["dlq.orders.secret", "dlq.**", "orders.snapshot", "orders.sec*", "orders.***"].map(
      (resource): [string, () => Promise<string>] => [
        `a denial of ${resource}, which would fit nothing`,
        () => signed({ ...ALL, policy: { rules: [{ ...DENY, resources: [resource] }] } }),
      ],
    ),
    ["a subject that is no name", () => signed({ ...ALL, sub: { name: "ada" } })],
    ["a policy in words", () => signed({ ...ALL, policy: "deny publish orders.secret" })],
  ];
  it.each(faults)("refuse %s, in the same words", async (_, make) => {
    const auth = await jwt();
    const refused = await auth.authenticate(await make()).catch((error: unknown) => error);
    expect(refused).toMatchObject({ code: "UNAUTHENTICATED", message: "a valid token is needed" });
  });

  it("need the issuer and the audience that were asked for", async () => {
    const strict = await jwt({ issuer: "us", audience: "hub" });
    await expect(strict.authenticate(await signed({ iss: "us", aud: "hub" }))).resolves.toBeDefined();
    await expect(strict.authenticate(await signed({ iss: "them", aud: "hub" }))).rejects.toThrow(
      "valid token",
    );
    await expect(strict.authenticate(await signed({ iss: "us" }))).rejects.toThrow("valid token");
  });

  it("are taken by each of several secrets, and refused by all for what they say", async () => {
    const newer = "a-newer-secret-of-at-least-32-bytes!";
    const auth = await jwt({ secret: [newer, new TextEncoder().encode(SECRET)] });
    for (const secret of [newer, SECRET])
      expect((await auth.authenticate(await signed({ sub: secret }, secret))).subject).toBe(secret);
    const refused = [
      await signed({}, "another-secret-of-at-least-32-bytes!"),
      await signed({ exp: 1 }, newer),
      await signed({ exp: 1 }),
    ];
    for (const token of refused) await expect(auth.authenticate(token)).rejects.toThrow("valid token");
  });

  it("with public keys, are not taken if one was used as a secret", async () => {
    const { publicKey, privateKey } = await generateKeyPair("ES256");
    const key = { ...(await exportJWK(publicKey)), kid: "k1", alg: "ES256" };
    const auth = await authenticatorOf({ jwt: { keys: [key] } }, HOST);
    const good = await new SignJWT({ sub: "ada" })
      .setProtectedHeader({ alg: "ES256", kid: "k1" })
      .setExpirationTime("1h")
      .sign(privateKey);
    expect((await auth.authenticate(good)).subject).toBe("ada");
    await expect(auth.authenticate(await signed({}, JSON.stringify(key)))).rejects.toThrow("valid token");
  });
});

describe("keys behind an address", () => {
  let server: Server | undefined;
  afterEach(() => new Promise((resolve) => (server === undefined ? resolve(null) : server.close(resolve))));

  const pair = async (kid: string) => {
    const { publicKey, privateKey } = await generateKeyPair("ES256");
    const jwk: JWK = { ...(await exportJWK(publicKey)), kid, alg: "ES256" };
    const token = await new SignJWT({ sub: kid })
      .setProtectedHeader({ alg: "ES256", kid })
      .setExpirationTime("1h")
      .sign(privateKey);
    return { jwk, token };
  };

  it("rotate: a new key is fetched when it is first seen, an old one is refused once it is gone", async () => {
    const [one, two] = [await pair("one"), await pair("two")];
    let keys: JWK[] = [one.jwk];
    let fetched = 0;
    server = createServer((_, response) => {
      fetched++;
      response.setHeader("content-type", "application/json").setHeader("connection", "close");
      response.end(JSON.stringify({ keys }));
    });
    await new Promise<void>((resolve) => server?.listen(0, HOST, resolve));
    const jwksUrl = `http://${HOST}:${(server.address() as AddressInfo).port}/keys`;
    const auth = await authenticatorOf({ jwt: { jwksUrl, jwksCooldownMs: 0, jwksMaxAgeMs: 1 } }, HOST);
    expect((await auth.authenticate(one.token)).subject).toBe("one");
    await expect(auth.authenticate(two.token)).rejects.toThrow("valid token");
    keys = [one.jwk, two.jwk];
    expect((await auth.authenticate(two.token)).subject).toBe("two");
    keys = [two.jwk];
    await expect.poll(() => auth.authenticate(one.token).catch(() => "refused")).toBe("refused");
    expect((await auth.authenticate(two.token)).subject).toBe("two");
    expect(fetched).toBeGreaterThan(2);
  });

  it.each([
    ["refuses", 500, ""],
    ["does not answer with keys", 200, "<html>"],
    ["has something else", 200, "{}"],
    ["is not there", 0, ""],
  ])("that %s say nothing about a token: nobody gets in, and nobody is refused", async (_, status, body) => {
    const { token } = await pair("one");
    let port = 9;
    if (status !== 0) {
      server = createServer((_, response) => response.writeHead(status, { connection: "close" }).end(body));
      await new Promise<void>((resolve) => server?.listen(0, HOST, resolve));
      port = (server.address() as AddressInfo).port;
    }
    const told: unknown[] = [];
    const jwksUrl = `http://${HOST}:${port}/keys`;
    const auth = await authenticatorOf({ jwt: { jwksUrl } }, HOST, (error) => told.push(error));
    await expect(auth.authenticate(token)).rejects.toMatchObject({
      code: "STORE_UNAVAILABLE",
      message: "the keys by which tokens are checked cannot be had for now",
    });
    expect(told).toEqual([expect.any(Error)]);
    // What is no token needs no key.
    await expect(auth.authenticate("abc")).rejects.toMatchObject({ code: "UNAUTHENTICATED" });
    await expect(auth.authenticate(await signed({}))).rejects.toMatchObject({ code: "UNAUTHENTICATED" });
  });
});

describe("what auth may be", () => {
  it("none is for loopback only", async () => {
    await expect(authenticatorOf("none", "0.0.0.0")).rejects.toThrow("loopback");
    expect((await authenticatorOf("none", "::1")).open).toBe(true);
  });

  it.each([
    [{ secret: "short" }, "32 bytes"],
    [{ secret: [SECRET, "short"] }, "32 bytes"],
    [{ secret: [] }, "a secret, or several"],
    [{ secret: 5 as never }, "32 bytes"],
    [{}, "exactly one"],
    [{ secret: SECRET, keys: [] }, "exactly one"],
    [{ keys: [] }, "at least one public key"],
    [{ keys: [{ kty: "RSA" }] }, "auth.jwt.keys[0] is no public key"],
    [{ keys: [{ kty: "oct", k: "abc" }] }, "auth.jwt.keys[0] is secret"],
    [{ keys: [{ kty: "RSA", alg: "RS512" }] }, "auth.jwt.keys[0] is for none of RS256, PS256, ES256"],
  ])("a secret has 32 bytes, a key is public, and there is one source of keys: %j", async (options, said) => {
    await expect(authenticatorOf({ jwt: options }, HOST)).rejects.toThrow(said);
  });
});
