/** Whoever may not read a topic or a view does not learn of it by asking for something else. */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { WebSocket } from "ws";
import { as, type HubFixture, hubFixture } from "../../../test/support/hub-fixture.js";
import { startChangelogProjector } from "../../project/views/changelog.js";

const SECRET = "mergers";

describe("a token of one topic", () => {
  let f: HubFixture;
  beforeEach(async () => {
    f = await hubFixture({ tokens: { narrow: ["read:mine", "publish:mine", "ops:import"] } });
    await f.bus.publish(SECRET, 1, { id: "taken", key: "k" });
  });
  afterEach(() => f.close());

  const post = async (path: string, type: string, body: string, headers: object = {}): Promise<string> => {
    const { headers: token } = as("narrow");
    const init = { method: "POST", body, headers: { ...token, "content-type": type, ...headers } };
    return (await f.get(path, init as RequestInit)).text();
  };
  const event = { topic: "mine", payload: 2, id: "taken" };
  const line = JSON.stringify(event);

  it.each([
    ["an event", () => post("/publish", "application/json", line)],
    [
      "an event, by its key",
      () => post("/publish", "application/json", line, { "idempotency-key": "taken" }),
    ],
    ["events", () => post("/publish", "application/json", `[${line},${line}]`)],
    ["lines", () => post("/publish", "application/x-ndjson", `${line}\n${line}\n`)],
    ["an import", () => post("/import", "application/x-ndjson", `${line}\n${line}\n`)],
    ["a frame", () => publishFrame({ type: "PUBLISH", ...event })],
  ])("is not told where an id is taken: %s", async (_, publish) => {
    const said = await publish();
    expect(said).toContain("ID_CONFLICT");
    expect(said).toContain("taken");
    expect(said).not.toContain(SECRET);
    expect(said).not.toContain('"seq"');
  });

  it("is not told the name of the only view when it asks for a key", async () => {
    await startChangelogProjector(f.bus, { topic: SECRET, view: "targets" });
    await expect
      .poll(async () => (await (await f.get("/views")).json()) as object)
      .toMatchObject({
        items: [{ view: "targets" }],
      });
    const [asked, other] = [await f.get("/snap/k", as("narrow")), await f.get("/snap/none", as("narrow"))];
    expect([asked.status, other.status]).toEqual([403, 403]);
    expect(await asked.clone().text()).not.toContain("targets");
    expect((await asked.text()).replaceAll("read:k", "read:none")).toBe(await other.text());
  });

  function publishFrame(frame: object): Promise<string> {
    const { headers } = as("narrow");
    return new Promise((resolve, reject) => {
      const socket = new WebSocket(`${f.hub.url.replace("http", "ws")}/ws`, {
        headers: headers as Record<string, string>,
      });
      socket.on("error", reject).on("open", () => socket.send(JSON.stringify(frame)));
      socket.on("message", (data) => {
        resolve(data.toString());
        socket.terminate();
      });
    });
  }
});
