import { afterAll, describe, expect, it } from "vitest";
import { createBus } from "../bus/create-bus.js";
import { memoryStore } from "../stores/memory/index.js";
import { startHub } from "./server.js";

const bus = await createBus({ store: memoryStore() });
afterAll(() => bus.close());

describe("the options of a hub", () => {
  it.each([
    [undefined, "a hub needs a bus"],
    [{ auth: "none" }, "a hub needs a bus"],
    [{ bus }, "a hub needs auth"],
    [{ bus, auth: null }, "a hub needs auth"],
    [{ bus, auth: "jwt" }, "a hub needs auth"],
    [{ bus, auth: { secret: "s" } }, "a hub needs auth"],
    [{ bus, auth: { jwt: { secret: "s" }, tokens: {} } }, "auth takes one of jwt and tokens"],
    [{ bus, auth: { tokens: {}, requiresGroups: true } }, 'auth knows no option "requiresGroups"'],
    [{ bus, auth: { tokens: {}, requireGroups: "yes" } }, "auth.requireGroups is true or false"],
    [{ bus, auth: { jwt: { secret: "s", audiense: "hub" } } }, 'auth.jwt knows no option "audiense"'],
    [{ bus, auth: { jwt: null } }, "auth.jwt is an object"],
    [
      { bus, auth: { jwt: { secret: "s".repeat(32), audience: "" } } },
      "auth.jwt.audience is a text that is not",
    ],
    [{ bus, auth: { jwt: { secret: "s".repeat(32), issuer: "" } } }, "auth.jwt.issuer is a text that is not"],
    [{ bus, auth: { jwt: { jwksUrl: "keys" } } }, "auth.jwt.jwksUrl is the address of a JWKS"],
    [{ bus, auth: { tokens: { "": { scopes: ["*:*"] } } } }, 'auth.tokens has a token ""'],
    [{ bus, auth: { tokens: { [String(undefined)]: { scopes: [] } } } }, "is a variable not set?"],
    [{ bus, auth: { tokens: { t: {} } } }, "the scopes of a token of auth are a list"],
    [{ bus, auth: { tokens: null } }, "auth.tokens is an object"],
    [{ bus, auth: { tokens: { t: null } } }, "a token of auth is an object"],
    [{ bus, auth: { tokens: { t: { scope: ["*:*"] } } } }, 'a token of auth knows no option "scope"'],
    [{ bus, auth: "none", port: "8420" }, "port must be a whole number"],
    [{ bus, auth: "none", port: 70_000 }, "port must be a whole number"],
    [{ bus, auth: "none", prt: 1 }, 'a hub knows no option "prt"'],
    [{ bus, auth: "none", limits: { maxBody: 1 } }, 'limits knows no option "maxBody"'],
    [{ bus, auth: "none", limits: { maxConnections: Number.NaN } }, "limits.maxConnections must be a number"],
    [{ bus, auth: "none", limits: { framesPerSecond: 0 } }, "limits.framesPerSecond must be a number"],
    [{ bus, auth: "none", limits: { slowConsumerMs: "30" } }, "limits.slowConsumerMs must be a number"],
    [{ bus, auth: "none", drainMs: Number.NaN }, "drainMs must be a number"],
    [{ bus, auth: "none", origins: "https://shop.example" }, "origins is a list of sites"],
    [{ bus, auth: "none", origins: ["*"] }, '"*" in origins is no site: write it as https://shop.example'],
    [{ bus, auth: "none", origins: ["localhost:3000"] }, '"localhost:3000" in origins is no site'],
    [{ bus, auth: "none", origins: ["null"] }, '"null" in origins is no site'],
  ])("are refused with what to write instead: %#", async (options, words) => {
    const starting = startHub(options as unknown as Parameters<typeof startHub>[0]);
    await expect(starting).rejects.toMatchObject({
      code: "INVALID_OPTION",
      message: expect.stringContaining(words) as string,
    });
  });

  it("a port that is taken is named, and the code is that of a wrong option", async () => {
    const hub = await startHub({ bus, auth: "none", port: 0 });
    const port = Number(new URL(hub.url).port);
    await expect(startHub({ bus, auth: "none", port })).rejects.toMatchObject({
      code: "INVALID_OPTION",
      message: `port ${port} on 127.0.0.1 is taken; choose another one, or 0 for any`,
    });
    await hub.close();
  });
});
