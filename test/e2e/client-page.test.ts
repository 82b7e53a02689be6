/** The client in pages of a real browser, bundled as an application would: what Node lets pass, a browser may not. */
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { SignJWT } from "jose";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { clientBundle } from "../../scripts/client-bundle.mjs";
import type { Bus } from "../../src/bus/bus.js";
import { createBus } from "../../src/bus/create-bus.js";
import type { PromClient } from "../../src/client/browser.js";
import { type Hub, startHub } from "../../src/hub/server.js";
import { memoryStore } from "../../src/stores/memory/index.js";
import { launch, SOON } from "../support/console/browser.js";

const SECRET = "a-secret-of-at-least-thirty-two-bytes";

const PAGE = `<!doctype html><title>a page</title><script type="module">
import { PromClient } from "/client.js";
globalThis.PromClient = PromClient;
</script>`;

/** What the pages keep in their window. */
interface Kept {
  PromClient: typeof PromClient;
  client: PromClient;
  seen: unknown[];
  told: string[];
  tokens: number;
}

let browser: Browser;
let site: Server;
let origin: string;
let bus: Bus;
let hub: Hub;
let context: BrowserContext;

beforeAll(async () => {
  const code = await clientBundle();
  site = createServer((request, response) => {
    if (request.url === "/token") void shortToken().then((token) => response.end(token));
    else if (request.url === "/client.js") response.setHeader("content-type", "text/javascript").end(code);
    else response.setHeader("content-type", "text/html").end(PAGE);
  });
  await once(site.listen(0, "127.0.0.1"), "listening");
  origin = `http://127.0.0.1:${(site.address() as AddressInfo).port}`;
  bus = await createBus({ store: memoryStore() });
  hub = await startHub({ bus, auth: { jwt: { secret: SECRET } }, origins: [origin] });
  browser = await launch();
}, 120_000);
afterEach(() => context.close());
afterAll(async () => {
  await browser?.close();
  await hub?.close();
  await bus?.close();
  site?.close();
});

/** Taken for 5 s beyond its end: for 2. */
function shortToken(): Promise<string> {
  return new SignJWT({ scopes: ["publish:t.*", "subscribe:t.*"] })
    .setProtectedHeader({ alg: "HS256" })
    .setExpirationTime("3s ago")
    .sign(new TextEncoder().encode(SECRET));
}

/** A page with a client that is connected to the hub, and asks its site for tokens. */
async function open(url = hub.url): Promise<Page> {
  const page = await context.newPage();
  await page.goto(origin);
  await page.waitForFunction(() => "PromClient" in globalThis);
  await page.evaluate((address) => {
    const own = globalThis as unknown as Kept;
    Object.assign(own, { seen: [], told: [], tokens: 0 });
    const getToken = async (): Promise<string> => {
      own.tokens++;
      return (await fetch("/token")).text();
    };
    const onTrouble = ({ error }: { error: Error }): unknown => own.told.push(error.message);
    own.client = new own.PromClient(address, { getToken, onTrouble, retry: { baseMs: 1, maxMs: 20 } });
    void own.client.connect();
  }, url);
  return page;
}

const seenIn = (page: Page) =>
  page.evaluate(() => (globalThis as unknown as Kept).seen as { readonly order: number }[]);
const toldIn = (page: Page) => page.evaluate(() => (globalThis as unknown as Kept).told);
const tokensOf = (page: Page) => page.evaluate(() => (globalThis as unknown as Kept).tokens);

describe("promethean/client in a browser", () => {
  it("publishes and subscribes, in two tabs that share a group, while its tokens run out", async () => {
    context = await browser.newContext();
    const [one, other] = [await open(), await open()];
    for (const page of [one, other])
      await page.evaluate(() => {
        const { client, seen } = globalThis as unknown as Kept;
        return client.subscribe("t.a", "g", ({ payload }) => void seen.push(payload), { from: "earliest" });
      });
    const publish = (page: Page, n: number): Promise<unknown> =>
      page.evaluate((order) => (globalThis as unknown as Kept).client.publish("t.a", { order }), n);
    for (let n = 0; n < 10; n++) await publish(n % 2 ? one : other, n);
    const all = async () => [...(await seenIn(one)), ...(await seenIn(other))];
    await expect.poll(async () => new Set((await all()).map(({ order }) => order)).size, SOON).toBe(10);
    await expect.poll(() => tokensOf(one), SOON).toBeGreaterThan(2);
    expect(await publish(one, 10)).toMatchObject({ seq: 11 });
    await expect.poll(async () => (await all()).some(({ order }) => order === 10), SOON).toBe(true);
    expect(await toldIn(one)).toEqual([]);
  });

  it("goes with what the hub answers over HTTP to pages of the sites that it was told of", async () => {
    context = await browser.newContext();
    const page = await open();
    const placed = await page.evaluate(async (url) => {
      const headers = { authorization: `Bearer ${await (await fetch("/token")).text()}` };
      const json = { ...headers, "content-type": "application/json" };
      const event = { topic: "t.page", payload: { order: 1 } };
      const sent = await fetch(`${url}/publish`, {
        method: "POST",
        headers: json,
        body: JSON.stringify(event),
      });
      const stream = await fetch(`${url}/events?topic=t.page&from=earliest`, { headers });
      const reader = (stream.body as ReadableStream<Uint8Array>).getReader();
      let text = "";
      while (!text.includes("data: ")) text += new TextDecoder().decode((await reader.read()).value);
      await reader.cancel();
      return [await sent.json(), text];
    }, hub.url);
    expect(placed).toEqual([
      expect.objectContaining({ topic: "t.page", seq: 1 }),
      expect.stringContaining('"payload":{"order":1}'),
    ]);
  });

  it("says where to look when a hub takes no pages of its site", async () => {
    context = await browser.newContext();
    const strict = await startHub({ bus, auth: { jwt: { secret: SECRET } } });
    const page = await open(strict.url);
    await expect
      .poll(() => toldIn(page), SOON)
      .toEqual([expect.stringContaining(`or it takes no pages of ${origin} (its option \`origins\`)`)]);
    await strict.close();
  });
});
