/**
 * A page of one's own over the hub: read models by fetch, changes by server-sent events. The page's server holds the
 * token and hands requests on, so that the browser never sees it.
 *
 *   node scripts/example.mjs browser-dashboard --stay   # and open the address it prints
 */
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { Readable } from "node:stream";
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

const server = createServer(async (request, response) => {
  if (!request.url?.startsWith("/hub/")) {
    response.setHeader("Content-Type", "text/html; charset=utf-8");
    response.end(page);
    return;
  }
  const asked = new AbortController();
  response.on("close", () => asked.abort());
  const headers = { authorization: `Bearer ${token}`, ...lastEvent(request.headers["last-event-id"]) };
  const answer = await fetch(hub.url + request.url.slice(4), { headers, signal: asked.signal });
  response.writeHead(answer.status, { "Content-Type": answer.headers.get("content-type") ?? "text/plain" });
  if (answer.body === null) response.end();
  else
    Readable.fromWeb(answer.body as WebStream)
      .on("error", () => response.destroy())
      .pipe(response);
});

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
