/**
 * A page of one's own over the hub: read models by fetch, changes by server-sent events. The page's server holds the
 * token and hands requests on, so that the browser never sees it.
 *
 *   node scripts/example.mjs browser-dashboard --stay   # and open the address it prints
 */
import { readFileSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { ReadableStream as WebStream } from "node:stream/web";
import {
  createBus,
  memoryStore,
  startHeartbeatSource,
  startProcessChangelog,
  startProcessProjector,
} from "promethean";
import { startHub } from "promethean/hub";

const page = readFileSync(process.env.EXAMPLE_PAGE ?? "examples/browser-dashboard.html");
const bus = await createBus({ store: memoryStore() });
await startProcessProjector(bus);
await startProcessChangelog(bus);
startHeartbeatSource(bus, { everyMs: 500 });
const token = crypto.randomUUID();
const hub = await startHub({ bus, auth: { tokens: { [token]: { scopes: ["read:process.**"] } } } });

const server = createServer((request, response) => {
  answer(request, response).catch(() => response.destroy());
});

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  if (!request.url?.startsWith("/hub/")) {
    response.setHeader("Content-Type", "text/html; charset=utf-8");
    response.end(page);
    return;
  }
  const gone = new AbortController();
  response.on("close", () => gone.abort());
  const headers = { authorization: `Bearer ${token}`, ...lastEvent(request.headers["last-event-id"]) };
  const {
    status,
    headers: given,
    body,
  } = await fetch(hub.url + request.url.slice(4), { headers, signal: gone.signal });
  response.writeHead(status, { "Content-Type": given.get("content-type") ?? "text/plain" });
  if (body === null) response.end();
  else await pipeline(Readable.fromWeb(body as WebStream), response);
}

function lastEvent(id: string | string[] | undefined): Record<string, string> {
  return typeof id === "string" ? { "last-event-id": id } : {};
}

await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

if (process.argv.includes("--stay")) {
  console.log(`open ${url}`);
} else {
  console.log(`the page: ${(await (await fetch(url)).text()).includes("<h1>Processes")}`);
  for (;;) {
    const { items } = (await (await fetch(`${url}/hub/snap/processes`)).json()) as { items?: object[] };
    if (items !== undefined && items.length > 0) break;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  console.log("its table has rows");
  console.log(`what the token may not do: ${(await fetch(`${url}/hub/overview`)).status}`);
  server.closeAllConnections();
  server.close();
  await hub.close();
  await bus.close();
}
