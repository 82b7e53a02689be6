/** Commands whose hub goes away in the middle: they name that as the cause, and say what became of the work. */
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, beforeAll, expect, it } from "vitest";
import { Fatal } from "../../src/model/errors.js";
import { summarizeDeadLetters } from "../../src/project/letters/dead-letters.js";
import { ensureBuilt, run, start } from "../support/cli.js";
import { eventually } from "../support/eventually.js";
import { type HubFixture, hubFixture } from "../support/hub-fixture.js";

beforeAll(ensureBuilt);
const servers: Server[] = [];
const hubs: HubFixture[] = [];
afterEach(async () => {
  for (const server of servers.splice(0)) server.close().closeAllConnections();
  for (const hub of hubs.splice(0)) await hub.close();
});

type Answer = (request: IncomingMessage, response: ServerResponse) => void;

/** What answers as a hub would until it is gone. */
async function listening(answer: Answer, port = 0): Promise<{ url: string; port: number; server: Server }> {
  const server = createServer((request, response) => {
    request.resume();
    request.on("end", () => answer(request, response));
  });
  servers.push(server);
  await once(server.listen(port, "127.0.0.1"), "listening");
  const bound = (server.address() as AddressInfo).port;
  return { url: `http://127.0.0.1:${bound}`, port: bound, server };
}

const json = (response: ServerResponse, body: object): void => void response.end(JSON.stringify(body));
const JOB = { id: "j", kind: "rebuild", state: "running", progress: {} };

it("a hub that is lost before it answered is not taken for one that was never there", async () => {
  let asked = 0;
  const { url } = await listening((_, response) => {
    if (asked++ === 0) json(response, { redriven: 3, superseded: 0, passedOver: 0 });
    else response.destroy();
  });
  const { code, out, err } = await run(["dlq", "redrive", "orders", "--yes", "--json", "--url", url]);
  expect({ code, out }).toEqual({ code: 1, out: "" });
  expect(JSON.parse(err)).toEqual({
    error: {
      code: "OUTCOME_UNKNOWN",
      message: `the hub at ${url} was lost before it answered (ECONNRESET)`,
      hint: "what was redriven stays so, and the same command goes on with the rest",
    },
  });
});

it("one that is gone between two requests is told as gone, and that nothing was done", async () => {
  const { url } = await listening((_, response) => {
    response.setHeader("Connection", "close");
    json(response, { items: [], next: "more" });
    for (const server of servers) server.close();
  });
  const { code, err } = await run(["dlq", "discard", "orders", "--reason", "x", "--yes", "--url", url]);
  expect(code).toBe(1);
  expect(err).toBe(
    `promethean: the hub at ${url} is gone: it answered before (ECONNREFUSED)\n  nothing was discarded\n`,
  );
});

it("where nobody says what became of it, whoever asked is told to look", async () => {
  let answers = 1;
  const { url } = await listening((_, response) => {
    if (answers-- > 0) json(response, { view: "totals", others: [] });
    else response.destroy();
  });
  const rollback = ["view", "rollback", "totals", "--yes", "--url", url];
  const { code, err } = await run(rollback);
  expect(code).toBe(1);
  expect(err).toContain("was lost before it answered");
  expect(err).toContain("it may have been done or not; look before you do it again");
  expect((await run(rollback)).err).toContain(
    "was lost before it answered (ECONNRESET)\n  nothing was changed\n",
  );
  const published = await run(["publish", "orders", "1", "--id", "o-1", "--url", url]);
  expect(published.err).toContain("the same command again adds nothing twice");
});

it("a rebuild outlives the restart of a hub: the next one tells what became of it", async () => {
  let looks = 1;
  const first = await listening((_, response) => {
    if (looks-- > 0) return json(response, { view: "totals", others: [], topic: "orders", events: 1 });
    json(response, { job: JOB });
    for (const server of servers) server.close();
  });
  const running = start(["view", "rebuild", "totals", "--yes", "--url", first.url]);
  await eventually(() => running.err.includes("does not answer"), "the command waits for the hub");
  await listening((_, response) => json(response, { ...JOB, state: "stopped" }), first.port);
  const { code, err } = await running.ended;
  expect(code).toBe(1);
  expect(err).toContain("waiting for it to come back\n");
  expect(err).toContain("promethean: the rebuild was stopped\n  the same command begins it again\n");
});

it("tail says that its hub is gone, and that it is back", async () => {
  const stream: Answer = (_, response) => {
    response.writeHead(200, { "Content-Type": "text/event-stream" });
    response.write(
      `id: 1\ndata: ${JSON.stringify({ topic: "orders", payload: 1, partition: 0, seq: 1, ts: 0 })}\n\n`,
    );
  };
  const first = await listening(stream);
  const running = start(["tail", "orders", "--url", first.url]);
  await eventually(() => running.out !== "", "the first event");
  first.server.close().closeAllConnections();
  await eventually(() => running.err.includes(`${first.url} is gone`), "it says so");
  await listening(stream, first.port);
  await eventually(() => running.err.includes(`${first.url} is back`), "it says so, too");
  running.child.kill("SIGINT");
  expect((await running.ended).code).toBe(130);
});

it("lag --watch says so, too, and goes on; what a hub refuses ends it", async () => {
  const lag: Answer = (_, response) =>
    json(response, { lag: 2, lagSeconds: 1, drainSeconds: null, groups: [] });
  const first = await listening(lag);
  const watching = start(["lag", "--watch", "--every", "1s", "--url", first.url]);
  const looks = (): number => watching.err.split("There are no groups yet.").length;
  await eventually(() => looks() > 1, "the first look");
  first.server.close().closeAllConnections();
  await eventually(() => watching.err.includes(`${first.url} is gone`), "it says so");
  const before = looks();
  const again = await listening(lag, first.port);
  await eventually(() => looks() > before, "it goes on");
  expect(watching.err.match(/is gone/g)).toHaveLength(1);
  expect(watching.err).toContain(`${first.url} is back`);
  again.server.close().closeAllConnections();
  await listening((_, response) => {
    response.statusCode = 401;
    json(response, { code: "UNAUTHENTICATED", detail: "a valid token is needed" });
  }, first.port);
  const { code, err } = await watching.ended;
  expect(code).toBe(4);
  expect(err).toContain("a valid token is needed");
});

it("a redrive that ends early because its hub goes down is no success", async () => {
  const f = await hubFixture();
  hubs.push(f);
  const stop = await f.bus.subscribe("orders", "mailer", () => Promise.reject(new Fatal("no")), {
    from: "earliest",
  });
  for (const n of [1, 2, 3, 4]) await f.bus.publish("orders", n);
  const open = async (): Promise<number> => (await summarizeDeadLetters(f.bus, "orders")).open;
  await eventually(async () => (await open()) === 4, "all are dead letters");
  await stop();
  const args = ["dlq", "redrive", "orders", "--rate", "1", "--yes", "--url", f.hub.url, "--token", "all"];
  const running = start(args);
  await eventually(async () => (await open()) < 4, "the first goes");
  await f.hub.close();
  const { code, out, err } = await running.ended;
  expect({ code, out }).toEqual({ code: 1, out: "" });
  expect(err).toMatch(/the hub is going down; \d letters were redriven before that/);
  expect(err).toContain("the same command goes on with the rest");
});
