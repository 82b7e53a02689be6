import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeAll, beforeEach, expect, it } from "vitest";
import type { Bus } from "../../src/bus/bus.js";
import { createBus } from "../../src/bus/create-bus.js";
import { startHub } from "../../src/hub/server.js";
import { embeddedStore } from "../../src/stores/embedded/index.js";
import { type Ended, ensureBuilt, run, start } from "../support/cli.js";

let folder: string;
let path: string;
let copy: string;
let bus: Bus;
beforeAll(ensureBuilt);
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "promethean-backup-"));
  path = join(folder, "bus.db");
  copy = join(folder, "copy.db");
});
afterEach(async () => {
  await bus.close();
  rmSync(folder, { recursive: true, force: true });
});

async function open(o: { readonly exclusive: boolean }): Promise<void> {
  bus = await createBus({ store: embeddedStore({ path, ...o }) });
  for (const n of [1, 2, 3]) await bus.publish("orders", { n });
}

const backup = (...more: string[]): Promise<Ended> => run(["backup", copy, "--store", path, ...more]);

it("P1: copies a store that is in use, and says how much that is", async () => {
  await open({ exclusive: false });
  const { code, out } = await backup("--json");
  expect(code).toBe(0);
  expect(JSON.parse(out)).toEqual({ store: path, file: copy, bytes: statSync(copy).size });
  const { out: events } = await run(["export", "orders", "--store", copy]);
  expect(events.match(/"payload":\{"n":[123]\}/g)).toHaveLength(3);
});

it.each(["copy.db", "copy.db-wal", "copy.db-ahead"])("touches nothing if there is a %s", async (name) => {
  await open({ exclusive: false });
  writeFileSync(join(folder, name), "kept");
  const { code, out, err } = await backup();
  expect({ code, out }).toEqual({ code: 2, out: "" });
  expect(err).toContain(`${join(folder, name)} is there already`);
  expect(readFileSync(join(folder, name), "utf8")).toBe("kept");
  expect(readdirSync(folder).filter((each) => each.startsWith("copy"))).toEqual([name]);
});

it("names the path that it was given where nothing can be written, and no other", async () => {
  await open({ exclusive: false });
  const target = join(folder, "missing", "copy.db");
  const { code, out, err } = await run(["backup", target, "--store", path]);
  expect({ code, out }).toEqual({ code: 1, out: "" });
  expect(err).toContain(`cannot back up to ${target}: its folder is not there\n`);
});

it("says so if another process has the store for itself", async () => {
  await open({ exclusive: true });
  const { code, out, err } = await backup();
  expect({ code, out }).toEqual({ code: 1, out: "" });
  expect(err).toContain(`${path} is open elsewhere with \`exclusive\``);
  expect(err).toContain("--url <hub> instead of --store");
  expect(readdirSync(folder).filter((each) => each.startsWith("copy"))).toEqual([]);
});

it("P1: has the hub copy a store that the hub has for itself", async () => {
  await open({ exclusive: true });
  const hub = await startHub({ bus, auth: { tokens: { t: { scopes: ["*:*"] } } } });
  const { code, out } = await run(["backup", copy, "--url", hub.url, "--token", "t", "--json"]);
  expect(code).toBe(0);
  expect(JSON.parse(out)).toEqual({ store: hub.url, file: copy, bytes: statSync(copy).size });
  const { out: events } = await run(["export", "orders", "--store", copy]);
  expect(events.match(/"payload":\{"n":[123]\}/g)).toHaveLength(3);
  expect(readdirSync(folder).filter((name) => name.includes("backup") || name.includes("partial"))).toEqual(
    [],
  );
  await hub.close();
});

/** Long enough to copy for a signal to come in between. */
async function fill(): Promise<void> {
  const payload = "x".repeat(100_000);
  for (let i = 0; i < 30; i++) await bus.publishMany("large", Array(40).fill({ payload }));
}

const inFolder = (word: string): string[] => readdirSync(folder).filter((name) => name.includes(word));

it("gives a copy up at once when it is told to end, and leaves nothing of it", async () => {
  await open({ exclusive: false });
  await fill();
  const running = start(["backup", copy, "--store", path]);
  await expect.poll(() => inFolder("copy"), { interval: 5 }).toEqual(["copy.db.partial"]);
  running.child.kill("SIGTERM");
  const { code, out } = await running.ended;
  expect({ code, out }).toEqual({ code: 143, out: "" });
  expect(inFolder("copy")).toEqual([]);
});

it("gives up what a hub copies when the hub is told to end, and leaves nothing of it", async () => {
  await open({ exclusive: false });
  await fill();
  await bus.close();
  const token = "a-token-of-thirty-two-characters-or-more";
  const hub = start(["serve", "--store", path, "--port", "0"], { env: { PROMETHEAN_ADMIN_TOKEN: token } });
  try {
    await expect.poll(() => hub.err).toContain("listening");
    const url = /"url":"([^"]+)"/.exec(hub.err)?.[1] ?? "";
    const asking = run(["backup", copy, "--url", url, "--token", token]);
    await expect.poll(() => inFolder("-backup-"), { interval: 5 }).toHaveLength(1);
    hub.child.kill("SIGTERM");
    expect((await hub.ended).code).toBe(0);
    expect((await asking).code).toBe(1);
    expect([...inFolder("-backup-"), ...inFolder("copy")]).toEqual([]);
  } finally {
    hub.child.kill("SIGKILL");
  }
});

/** A server that sends as many of a letter, the second half when it is told to. */
async function letters(letter: string): Promise<{ server: Server; url: string; sendRest: () => void }> {
  let sendRest = (): void => undefined;
  const half = letter.repeat(100_000);
  const server = createServer((_, response) => {
    response.writeHead(200, { "Content-Length": 2 * half.length });
    response.write(half);
    sendRest = () => response.end(half);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return { server, url: `http://127.0.0.1:${port}`, sendRest: () => sendRest() };
}

it("P1: of two that hubs send to one file at once, the later one appears whole, and the earlier one fails", async () => {
  await open({ exclusive: false });
  const [a, b] = [await letters("a"), await letters("b")];
  const partial = `${copy}.partial`;
  const begins = (letter: string): (() => boolean) => {
    return () => existsSync(partial) && readFileSync(partial, "utf8") === letter.repeat(100_000);
  };
  const earlier = start(["backup", copy, "--url", a.url]);
  await expect.poll(begins("a")).toBe(true);
  const later = start(["backup", copy, "--url", b.url]);
  await expect.poll(begins("b")).toBe(true);
  b.sendRest();
  expect((await later.ended).code).toBe(0);
  a.sendRest();
  const { code, out, err } = await earlier.ended;
  expect(readFileSync(copy, "utf8").slice(90_000, 110_000)).toBe("b".repeat(20_000));
  expect(statSync(copy).size).toBe(200_000);
  expect({ code, out }).toEqual({ code: 1, out: "" });
  expect(err).toContain("somebody else has taken");
  expect(inFolder("copy")).toEqual(["copy.db"]);
  for (const { server } of [a, b]) server.close();
});

it("leaves nothing behind if the hub's answer breaks off", async () => {
  await open({ exclusive: false });
  const server = createServer((_, response) => {
    response.writeHead(200, { "Content-Length": 1_000 });
    response.write("x".repeat(500), () => response.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const { code, out, err } = await run(["backup", copy, "--url", `http://127.0.0.1:${port}`]);
  expect({ code, out }).toEqual({ code: 1, out: "" });
  expect(err).toContain("it is not whole");
  expect(readdirSync(folder).filter((name) => name.startsWith("copy"))).toEqual([]);
  server.close();
});
