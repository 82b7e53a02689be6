/** A hub that has all tokens name their groups: one that names none acts for none, over WebSocket and HTTP. */
import { once } from "node:events";
import { SignJWT } from "jose";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { WebSocket } from "ws";
import { as, type HubFixture, hubFixture } from "../../test/support/hub-fixture.js";
import { PromClient } from "../client/index.js";
import { allows } from "../console/data/rights.js";
import type { AuthOptions } from "./auth/auth.js";

const SECRET = "0123456789abcdef0123456789abcdef";
const GROUP_RULE = { effect: "allow", verbs: ["group"], resources: ["mailer.**"] };

const signed = (claims: Record<string, unknown>): Promise<string> =>
  new SignJWT(claims)
    .setProtectedHeader({ alg: "HS256" })
    .setSubject("svc")
    .setExpirationTime("1h")
    .sign(new TextEncoder().encode(SECRET));

let f: HubFixture;
const clients: PromClient[] = [];
const start = async (auth: AuthOptions): Promise<void> => {
  f = await hubFixture({ auth });
  await f.bus.publish("orders", 1);
};
beforeEach(() => start({ jwt: { secret: SECRET }, requireGroups: true }));
afterEach(async () => {
  for (const client of clients.splice(0)) await client.close();
  await f.close();
});

/** The code of a refusal, or what was handed out. */
async function subscribed(token: string, group: string): Promise<unknown> {
  const client = new PromClient(f.hub.url, { token });
  clients.push(client);
  await client.connect();
  return new Promise((resolve) => {
    const handler = ({ payload }: { payload: unknown }): void => resolve(payload);
    client
      .subscribe("orders", group, handler, { from: "earliest" })
      .catch(({ code, message }) => resolve(`${code}: ${message}`));
  });
}

const asked = (token: string, path: string, body: object): Promise<Response> => {
  const headers = { ...as(token).headers, "content-type": "application/json" };
  return fetch(f.hub.url + path, { method: "POST", headers, body: JSON.stringify(body) });
};

describe("a token at a hub that has them name their groups", () => {
  it("that names none acts for none, whatever else it may", async () => {
    const token = await signed({ scopes: ["*:*"] });
    expect(await subscribed(token, "mailer")).toBe("FORBIDDEN: this token may not act for the group mailer");
    for (const [action, body] of [
      ["cursor", { topic: "orders", to: "latest" }],
      ["remove", { topic: "orders" }],
      ["pause", { topic: "orders" }],
      ["resume", { topic: "orders" }],
    ] as const) {
      const refused = await asked(token, `/groups/mailer/${action}`, body);
      expect([action, refused.status]).toEqual([action, 403]);
      expect(await refused.json()).toMatchObject({
        code: "FORBIDDEN",
        detail: "this token lacks group:mailer",
      });
    }
    const moved = await asked(token, "/replay", { topic: "orders", group: "mailer", to: "latest" });
    expect(moved.status).toBe(403);
    expect((await asked(token, "/publish", { topic: "orders", payload: 2 })).status).toBe(200);
  });

  it.each([
    ["by a scope", { scopes: ["*:*", "group:mailer"] }],
    ["by a rule", { scopes: ["*:*"], policy: { rules: [GROUP_RULE] } }],
  ])("that names some, %s, acts for those alone", async (_, claims) => {
    const token = await signed(claims);
    expect(await subscribed(token, "mailer")).toBe(1);
    expect(await subscribed(token, "billing")).toContain("FORBIDDEN");
    expect((await asked(token, "/groups/mailer/pause", { topic: "orders" })).status).toBe(200);
    expect((await asked(token, "/groups/billing/pause", { topic: "orders" })).status).toBe(403);
  });

  it("may name all of them", async () => {
    expect(await subscribed(await signed({ scopes: ["*:*", "group:*"] }), "mail:eu/1")).toBe(1);
  });

  it("that comes with a later AUTH must name those it is subscribed with", async () => {
    const socket = new WebSocket(`${f.hub.url.replace("http", "ws")}/ws`);
    await once(socket, "open");
    const closed = once(socket, "close");
    const say = (frame: object): void => socket.send(JSON.stringify(frame));
    const scopes = ["subscribe:orders"];
    say({ type: "AUTH", token: await signed({ scopes: [...scopes, "group:mailer"] }) });
    say({ type: "SUBSCRIBE", topic: "orders", group: "mailer" });
    say({ type: "AUTH", token: await signed({ scopes }) });
    expect((await closed)[0]).toBe(4403);
  });

  it("is told so by /whoami, from which the console takes what it offers", async () => {
    const { rules } = (await (
      await fetch(`${f.hub.url}/whoami`, as(await signed({ scopes: ["*:*"] })))
    ).json()) as { rules: Parameters<typeof allows>[0] };
    expect(allows(rules, "ops", "pause")).toBe(true);
    expect(allows(rules, "group", "mailer")).toBe(false);
  });

  it("may be a fixed one", async () => {
    await f.close();
    const tokens = { one: { scopes: ["*:*"] }, two: { scopes: ["*:*", "group:mailer"] } };
    await start({ tokens, requireGroups: true });
    expect(await subscribed("one", "mailer")).toContain("FORBIDDEN");
    expect(await subscribed("two", "mailer")).toBe(1);
  });
});

it("a hub that does not say so lets tokens that name no group act for all", async () => {
  await f.close();
  await start({ jwt: { secret: SECRET } });
  expect(await subscribed(await signed({ scopes: ["subscribe:orders"] }), "mailer")).toBe(1);
});
