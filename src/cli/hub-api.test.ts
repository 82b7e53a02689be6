import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, expect, it } from "vitest";
import { HubApi } from "./hub-api.js";

/** Where Node keeps what its `fetch` goes through. */
const FETCHING = Symbol.for("undici.globalDispatcher.1");
type Fetching = { constructor: new (o: object) => unknown };
const holder = globalThis as unknown as Record<symbol, Fetching>;

const waiting: ServerResponse[] = [];
const server = createServer((_request, response) => void waiting.push(response));
let url: string;

beforeEach(async () => {
  await once(server.listen(0, "127.0.0.1"), "listening");
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterEach(() => {
  server.closeAllConnections();
  server.close();
});

it.each(["/groups/", "/groups//why", "/groups/..", "/topics/t/keys/.?limit=1", "/topics/../remove"])(
  "asks nothing of %s: that would be another route",
  async (path) => {
    const api = new HubApi({ url: `${url}/below/a/path/`, token: undefined });
    for (const asked of [api.get(path), api.post(path, {}), api.stream(path)])
      await expect(asked).rejects.toMatchObject({
        code: "USAGE",
        message: expect.stringMatching(/^a hub cannot be asked for "\.{0,2}"$/),
      });
    expect(waiting).toEqual([]);
  },
);

it("waits for the end of what takes long, also when fetch would have given up", async () => {
  // Something must have been fetched for Node to have made it.
  await fetch("data:,x");
  const usual = holder[FETCHING];
  if (usual === undefined) throw new Error("this Node keeps its dispatcher elsewhere");
  holder[FETCHING] = new usual.constructor({ headersTimeout: 1 }) as Fetching;
  try {
    const done = new HubApi({ url, token: undefined }).post("/replay", { to: "there" });
    await expect(fetch(url)).rejects.toMatchObject({ cause: { code: "UND_ERR_HEADERS_TIMEOUT" } });
    await expect.poll(() => waiting.length).toBe(2);
    for (const response of waiting) response.end('{"events":7}');
    expect(await done).toEqual({ events: 7 });
  } finally {
    holder[FETCHING] = usual;
  }
});
