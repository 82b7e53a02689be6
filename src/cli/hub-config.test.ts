import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, vi } from "vitest";
import { Acl, groupsByName } from "../hub/auth/acl.js";
import { checkConfig, loadConfig, redactedConfig } from "./hub-config.js";

const AUTH = { tokens: [{ token: "0123456789abcdef", scopes: ["*:*"] }] };

describe("the settings of a hub", () => {
  it("have defaults that are safe", () => {
    expect(checkConfig({ store: "bus.db", auth: AUTH }, "it")).toMatchObject({
      host: "127.0.0.1",
      port: 8_420,
      upkeep: { retention: true, compaction: true },
      log: { level: "info" },
    });
  });

  it.each([
    [{ auth: AUTH }, "store"],
    [{ store: "bus.db", auth: AUTH, exclusive: "yes" }, "exclusive"],
    [{ store: "mongodb://db/bus", auth: AUTH, exclusive: true }, "exclusive: only a store in a file"],
    [{ store: "bus.db" }, "auth"],
    [{ store: "bus.db", auth: {} }, "auth: takes exactly one of jwt, tokens, none"],
    [{ store: "bus.db", auth: { none: true, ...AUTH } }, "exactly one"],
    [{ store: "bus.db", auth: { none: true, requireGroups: true } }, "auth.requireGroups: is said of tokens"],
    [{ store: "bus.db", auth: { ...AUTH, requireGroups: "yes" } }, "auth.requireGroups"],
    [{ store: "bus.db", auth: { requireGroups: true } }, "auth: takes exactly one of jwt, tokens, none"],
    [{ store: "bus.db", auth: { jwt: { secret: "short" } } }, "auth.jwt.secret: has at least 32 characters"],
    [
      { store: "bus.db", auth: { jwt: { secret: ["short"] } } },
      "auth.jwt.secret: has at least 32 characters",
    ],
    [{ store: "bus.db", auth: { jwt: { keys: [] } } }, "auth.jwt.keys"],
    [{ store: "bus.db", auth: { jwt: { secret: "s".repeat(32), audience: "" } } }, "auth.jwt.audience"],
    [{ store: "bus.db", auth: { jwt: { keys: [{ kty: "RSA" }] } } }, "auth.jwt.keys.0: is no public key"],
    [{ store: "bus.db", host: "0.0.0.0", auth: { none: true } }, "auth.none: is for loopback only"],
    [{ store: "bus.db", auth: "yes" }, "auth: is needed: jwt, tokens or none"],
    [{ store: "bus.db", auth: { jwt: {} } }, "auth.jwt: takes exactly one of secret"],
    [{ store: "bus.db", auth: { tokens: [{ scopes: ["*:*"] }] } }, "auth.tokens.0.token: is needed"],
    [
      { store: "bus.db", auth: { tokens: [{ ...AUTH.tokens[0], scopes: ["fly:x"] }] } },
      'auth.tokens.0.scopes.0: "fly:x" is not a scope',
    ],
    [
      { store: "bus.db", auth: { tokens: [{ ...AUTH.tokens[0], scopes: ["read:a publish:a"] }] } },
      'auth.tokens.0.scopes.0: "read:a publish:a" is several scopes in one: give each by itself',
    ],
    [
      { store: "bus.db", auth: { tokens: [...AUTH.tokens, { ...AUTH.tokens[0], scopes: ["read:**"] }] } },
      "auth.tokens.1.token: is that of an entry before it",
    ],
    [{ store: "bus.db", auth: AUTH, topics: [{ name: "A b" }] }, 'topics.0.name: "A b" is not a topic name'],
    [{ store: "bus.db", auth: AUTH, port: 70_000 }, "port"],
    [{ store: "bus.db", auth: AUTH, origins: ["localhost:3000"] }, "origins.0: is no site: write it as"],
    [{ store: "bus.db", auth: AUTH, topics: [{ name: "t", partitions: 0 }] }, "topics.0.partitions"],
    [{ store: "bus.db", auth: AUTH, nonsense: 1 }, "nonsense"],
    [{ store: "bus.db", auth: AUTH, limits: { maxBodyByte: 5 } }, "maxBodyByte"],
    [{ store: "bus.db", auth: AUTH, limits: { maxBodyBytes: 0 } }, "limits.maxBodyBytes"],
  ])("are refused by the key that is wrong: %j", (draft, words) => {
    expect(() => checkConfig(draft, "hub.yaml")).toThrow(words);
    expect(() => checkConfig(draft, "hub.yaml")).toThrow("hub.yaml is not valid");
  });

  it("have tokens name their groups if the file or the flag says so; the admin of the environment names all", async () => {
    expect(checkConfig({ store: "bus.db", auth: AUTH }, "it").auth).not.toHaveProperty("requireGroups");
    expect(checkConfig({ store: "bus.db", auth: { ...AUTH, requireGroups: true } }, "it").auth).toMatchObject(
      {
        requireGroups: true,
      },
    );
    vi.stubEnv("PROMETHEAN_ADMIN_TOKEN", "0123456789abcdef");
    const { auth } = await loadConfig({ store: "bus.db", requireGroups: true });
    expect(redactedConfig({ ...checkConfig({ store: "bus.db", auth }, "it") })).toMatchObject({
      auth: { requireGroups: true },
    });
    const [{ scopes = [] } = {}] = auth.tokens ?? [];
    expect(new Acl(groupsByName({ scopes })).allows("group", "mailer")).toBe(true);
    vi.unstubAllEnvs();
  });

  it("are refused if the environment has tokens of both kinds, of which one would not count", async () => {
    vi.stubEnv("PROMETHEAN_ADMIN_TOKEN", "0123456789abcdef");
    vi.stubEnv("PROMETHEAN_JWT_SECRET", "0123456789abcdef".repeat(2));
    await expect(loadConfig({ store: "bus.db" })).rejects.toThrow("are both set");
    vi.unstubAllEnvs();
  });

  it("have several secrets, from files of their own, while one takes the place of another", async () => {
    const folder = await mkdtemp(join(tmpdir(), "promethean-secrets-"));
    const [newer, older] = ["new", "old"].map((name) => name.repeat(20));
    await Promise.all([newer, older].map((secret, i) => writeFile(join(folder, `${i}`), `${secret}\n`)));
    const secretFile = ["0", "1"].map((name) => join(folder, name));
    const file = join(folder, "hub.yaml");
    await writeFile(file, JSON.stringify({ store: "bus.db", auth: { jwt: { secretFile } } }));
    const config = await loadConfig({ config: file });
    expect(config.auth).toEqual({ jwt: { secret: [newer, older] } });
    expect(redactedConfig(config)).toMatchObject({ auth: { jwt: { secret: "***" } } });
    await rm(folder, { recursive: true });
  });

  it("are shown without their secrets", () => {
    const store = "mongodb://me:hunter2@db/bus";
    const shown = JSON.stringify(redactedConfig(checkConfig({ store, auth: AUTH }, "it")));
    expect(shown).not.toContain("hunter2");
    expect(shown).not.toContain("0123456789abcdef");
  });
});
