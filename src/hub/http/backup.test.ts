/** What the hub does around a copy of its store: who gets it, how many at a time, and what stays of it: nothing. */
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { as, type HubFixture, hubFixture } from "../../../test/support/hub-fixture.js";
import { BusError } from "../../model/errors.js";
import { memoryStore } from "../../stores/memory/index.js";

const LARGE = 64 * 1_048_576;
let folder: string;
let f: HubFixture;
let copying: (signal: AbortSignal) => Promise<void>;
let size: number;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "promethean-backup-"));
  size = 700_000;
  copying = async () => undefined;
  const backup = async (path: string, { signal }: { signal: AbortSignal }): Promise<void> => {
    writeFileSync(path, Buffer.alloc(size, "copy "));
    await copying(signal);
  };
  const store = Object.assign(memoryStore(), { path: join(folder, "bus.db"), backup });
  const tokens = { operator: ["ops:*"], reader: ["read:*"], some: ["ops:backup", "read:orders.**"] };
  f = await hubFixture({ bus: { store }, tokens });
});
afterEach(async () => {
  await f.close();
  rmSync(folder, { recursive: true });
});

/** Returns how to let it go on. */
function heldCopying(): () => void {
  const held = new AbortController();
  copying = () => new Promise((resolve) => held.signal.addEventListener("abort", () => resolve()));
  return () => held.abort();
}

const nothingLeft = (): void => expect(readdirSync(folder)).toEqual([]);
const ask = (init?: RequestInit): Promise<Response> => f.post("/backup", {}, init);
const codeOf = async (response: Response): Promise<string> =>
  ((await response.json()) as { code: string }).code;

describe("POST /backup", () => {
  it("sends the copy whole, says how long it is, notes who asked, and leaves nothing", async () => {
    const response = await ask();
    expect(response.headers.get("content-length")).toBe(String(size));
    expect(Buffer.alloc(size, "copy ").equals(Buffer.from(await response.arrayBuffer()))).toBe(true);
    nothingLeft();
    const [audited] = await f.bus.store.registry.audits({ limit: 1 });
    expect(audited).toMatchObject({ action: "backup", details: { bytes: size } });
  });

  it.each(["operator", "reader", "some"])("is not for %s: it holds every topic", async (token) => {
    const response = await ask(as(token));
    expect([response.status, await codeOf(response)]).toEqual([403, "FORBIDDEN"]);
  });

  it("is for stores that are a file", async () => {
    await f.close();
    f = await hubFixture();
    const response = await ask();
    expect([response.status, await codeOf(response)]).toEqual([501, "UNSUPPORTED"]);
  });

  it("is made one at a time, and again when that is over", async () => {
    const go = heldCopying();
    const first = ask();
    await expect.poll(() => readdirSync(folder)).toHaveLength(1);
    const second = await ask();
    expect([second.status, await codeOf(second)]).toEqual([429, "QUEUE_FULL"]);
    go();
    expect((await (await first).arrayBuffer()).byteLength).toBe(size);
    copying = async () => undefined;
    await expect.poll(async () => (await ask()).status).toBe(200);
  });

  it("leaves nothing if it cannot be made, and can be asked for again", async () => {
    copying = () => Promise.reject(new BusError("STORE_FULL", "no room"));
    const response = await ask();
    expect([response.status, await codeOf(response)]).toEqual([507, "STORE_FULL"]);
    nothingLeft();
    copying = async () => undefined;
    expect((await ask()).status).toBe(200);
  });

  it("leaves nothing if its reader goes, while it is made or while it is sent, and can be asked for again", async () => {
    size = LARGE;
    const gone = new AbortController();
    const go = heldCopying();
    const made = ask({ signal: gone.signal }).catch((error: unknown) => error);
    await expect.poll(() => readdirSync(folder)).toHaveLength(1);
    gone.abort();
    expect(await made).toMatchObject({ name: "AbortError" });
    go();
    copying = async () => undefined;
    const left = new AbortController();
    await expect.poll(async () => (await ask({ signal: left.signal })).status).toBe(200);
    left.abort();
    await expect.poll(async () => (await ask()).status).toBe(200);
    nothingLeft();
  });

  it("is given up while it is made when its reader goes, and when the hub closes", async () => {
    const given: AbortSignal[] = [];
    copying = (signal) => {
      given.push(signal);
      return new Promise((_, reject) =>
        signal.addEventListener("abort", () => reject(new BusError("ABORTED", "given up"))),
      );
    };
    const gone = new AbortController();
    const left = ask({ signal: gone.signal }).catch((error: unknown) => error);
    await expect.poll(() => given).toHaveLength(1);
    gone.abort();
    await left;
    await expect.poll(() => readdirSync(folder)).toEqual([]);
    const asked = ask().then(codeOf);
    await expect.poll(() => given).toHaveLength(2);
    await f.hub.close();
    expect(await asked).toBe("ABORTED");
    nothingLeft();
  });

  it("breaks off when the hub closes: it does not look whole", async () => {
    size = LARGE;
    const response = await ask();
    const closed = f.hub.close();
    await expect(response.arrayBuffer()).rejects.toThrow("terminated");
    await closed;
    nothingLeft();
  });
});
