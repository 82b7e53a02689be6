/** Appends that are written before the call returns, by a store that one process has for itself. */
import { copyFileSync, existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { systemClock } from "../../../model/clock.js";
import type { EventDraft } from "../../../model/event.js";
import { JsonBody } from "../../../model/json.js";
import { nextTurn } from "../../../model/next-turn.js";
import { type EmbeddedStore, embeddedStore } from "../index.js";

let isBroken = false;
/** The file system knows no writes past its cache. */
let isCached = false;
/** The device takes half of what is written, as one does that becomes full. */
let isHalf = false;
vi.mock("node:fs", async (original) => {
  const fs = await original<typeof import("node:fs")>();
  const check = (): void => {
    if (isBroken) throw new Error("EIO: the device is gone");
  };
  const fdatasyncSync = (fd: number): void => {
    check();
    fs.fdatasyncSync(fd);
  };
  const writeSync = (fd: number, bytes: Buffer, from: number, length: number, at: number): number => {
    if (!isCached) check();
    return fs.writeSync(fd, bytes, from, isHalf ? length >> 1 : length, at);
  };
  const openSync = (path: string, flags: string | number): number => {
    if (isCached && typeof flags === "number") throw new Error("EINVAL: invalid argument");
    return fs.openSync(path, flags);
  };
  const changed = { fdatasyncSync, writeSync, openSync };
  return { ...fs, ...changed, default: { ...fs, ...changed } };
});

const draft = (id = systemClock.newId(), text = "1"): EventDraft => ({
  id,
  ts: 1,
  key: undefined,
  meta: undefined,
  body: JsonBody.ofText(text),
  freshId: false,
});

describe.each([
  ["past the system's cache", false],
  ["through the cache and a sync", true],
])("an append that happens at once, %s", (_way, cached) => {
  let folder: string;
  let store: EmbeddedStore;
  let warnings: string[];

  beforeEach(async () => {
    isBroken = isHalf = false;
    isCached = cached;
    // No sync is slow: after one that is, others are left to the thread for a while.
    vi.spyOn(performance, "now").mockReturnValue(0);
    folder = await mkdtemp(join(tmpdir(), "promethean-now-"));
    warnings = [];
    store = embeddedStore({
      path: join(folder, "bus.db"),
      exclusive: true,
      onWarning: (message) => warnings.push(message),
    });
    await store.open();
    await store.registry.defineTopic({ name: "t", partitions: 2 });
    // The writing thread tells where the partition ends.
    await store.log.append("t", 0, [draft()]);
    await nextTurn();
  });
  afterEach(async () => {
    vi.restoreAllMocks();
    await store.close();
    await rm(folder, { recursive: true, force: true });
  });

  const now = (one: EventDraft, partition = 0): number | undefined =>
    store.log.appendNow?.("t", partition, [one])?.events[0]?.seq;
  const idsOf = async ({ log }: EmbeddedStore): Promise<string[]> =>
    (await log.read("t", 0, { after: 0, limit: 100 })).events.map(({ id }) => id);

  it("P1, P2: is on disk when it returns, behind all that came before", async () => {
    const [a, b] = [draft(), draft()];
    expect(now(a)).toBe(2);
    await nextTurn();
    expect(now(b)).toBe(3);
    // As a process that is killed now leaves it.
    const path = join(folder, "killed.db");
    for (const suffix of ["", "-wal", "-ahead"])
      if (existsSync(store.path + suffix)) copyFileSync(store.path + suffix, path + suffix);
    const next = embeddedStore({ path });
    await next.open();
    expect((await idsOf(next)).slice(1)).toEqual([a.id, b.id]);
    await next.close();
    expect((await idsOf(store)).slice(1)).toEqual([a.id, b.id]);
  });

  it("P2: does not overtake what is asked for, and what comes with it in a turn goes together", async () => {
    const asked = store.log.append("t", 0, [draft()]);
    expect(now(draft())).toBeUndefined();
    expect((await asked).events[0]?.seq).toBe(2);
    await nextTurn();
    expect(now(draft())).toBe(3);
    expect(now(draft())).toBeUndefined();
    await nextTurn();
    expect(now(draft())).toBe(4);
  });

  it("P1, P2: of several is one append, all of them or none", async () => {
    const [a, b, c] = [draft(), draft(), draft()];
    expect(store.log.appendNow?.("t", 0, [a, b])?.events.map(({ seq, id }) => [seq, id])).toEqual([
      [2, a.id],
      [3, b.id],
    ]);
    await nextTurn();
    // One of them may be there.
    expect(store.log.appendNow?.("t", 0, [c, a])).toBeUndefined();
    await nextTurn();
    // One of them is there twice, and was seen a moment ago.
    expect(store.log.appendNow?.("t", 0, [c, c])).toBeUndefined();
    expect((await store.log.append("t", 0, [c])).events[0]?.seq).toBe(4);
    expect((await idsOf(store)).slice(1)).toEqual([a.id, b.id, c.id]);
  });

  it("P2: goes past a cursor that is being written, and not past an append", async () => {
    const ref = { topic: "t", group: "g", partition: 0 };
    const cursor = { floor: 1, settled: [], attempts: [], mark: 1, unclean: 0 };
    await store.groups.start(ref, [0]);
    await store.groups.open(
      { member: "m", host: "here.example", pid: 1, processStart: "then" },
      { nowMs: 0, ttlMs: 60_000 },
    );
    const { epoch = 0 } = (await store.groups.claim(ref, "m", { nowMs: 0 })) ?? {};
    await nextTurn();
    const written = store.groups.commit(ref, epoch, cursor);
    await nextTurn();
    expect(now(draft())).toBe(2);
    await written;
    let isAsked = true;
    const drafts = Array.from({ length: 2_000 }, () => draft(undefined, `"${"x".repeat(1_000)}"`));
    const asked = store.log.append("t", 0, drafts).then(({ events }) => {
      isAsked = false;
      return events[0]?.seq;
    });
    await nextTurn();
    // Its turn is over, and the thread is busy with it, most likely.
    expect(isAsked && now(draft()) !== undefined).toBe(false);
    expect(await asked).toBe(3);
    expect((await store.groups.state(ref, { nowMs: 0 }))?.leases[0]?.cursor.floor).toBe(1);
  });

  it("P3: is refused for an id that may be there, and nothing was done then", async () => {
    const [first = ""] = await idsOf(store);
    expect(now(draft(first))).toBeUndefined();
    // One that went this way as new may come again, from somebody who does not know what became of it.
    const late = draft();
    expect(now({ ...late, freshId: true })).toBe(2);
    await nextTurn();
    expect(now(late)).toBeUndefined();
    for (const one of [draft(first), late])
      expect((await store.log.append("t", 0, [one])).duplicates).toEqual(new Set([0]));
    expect(await idsOf(store)).toEqual([first, late.id]);
  });

  it("is refused where the end is not known, for what is large, and by a store that others may have too", async () => {
    expect(now(draft(), 1)).toBeUndefined();
    expect(now(draft(undefined, `"${"x".repeat(10_000)}"`))).toBeUndefined();
    expect(await idsOf(store)).toHaveLength(1);
    const shared = embeddedStore({ path: join(folder, "shared.db") });
    await shared.open();
    await shared.registry.defineTopic({ name: "t", partitions: 1 });
    await shared.log.append("t", 0, [draft()]);
    await nextTurn();
    expect(shared.log.appendNow?.("t", 0, [draft()])).toBeUndefined();
    expect(await idsOf(shared)).toHaveLength(1);
    await shared.close();
  });

  it.each([
    ["that the device failed", () => (isBroken = true)],
    ["of which half was written", () => (isHalf = true)],
  ])(
    "P1, P3, P15: %s may have happened; the next thread looks, and repeating it does no harm",
    async (_, fails) => {
      const lost = draft();
      fails();
      expect(() => now(lost)).toThrow(expect.objectContaining({ code: "OUTCOME_UNKNOWN", retryable: true }));
      expect(now(draft())).toBeUndefined();
      isBroken = isHalf = false;
      vi.restoreAllMocks();
      const again = async (): Promise<number | undefined> =>
        (await store.log.append("t", 0, [lost]).catch(() => undefined))?.events[0]?.seq;
      await expect.poll(again, { timeout: 30_000 }).toBe(2);
      expect((await idsOf(store)).slice(1)).toEqual([lost.id]);
    },
  );

  it("P15: what cannot be written at all is refused, and the store goes on", async () => {
    expect(() => now({ ...draft(), key: 7 as never })).toThrow(expect.objectContaining({ code: "INTERNAL" }));
    expect(now(draft())).toBe(2);
    expect(await idsOf(store)).toHaveLength(2);
    expect(warnings).toEqual([]);
  });

  it("P14: what the device said is told, also of appends that are waited for", async () => {
    isBroken = true;
    await expect(store.log.append("t", 0, [draft()])).rejects.toMatchObject({
      code: "OUTCOME_UNKNOWN",
      cause: expect.objectContaining({ message: expect.stringContaining("the device is gone") }),
    });
    expect(warnings.join()).toMatch(/ended and is started again: .*the device is gone/);
    isBroken = false;
  });
});
