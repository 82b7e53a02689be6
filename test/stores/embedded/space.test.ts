import { readdir, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { jsonBody } from "../../../src/model/json.js";
import { START_CURSOR } from "../../../src/ports/groups.js";
import { type EmbeddedStore, embeddedStore } from "../../../src/stores/embedded/index.js";
import { Connection } from "../../../src/stores/embedded/sqlite.js";
import { append, draft, drafts, failsWith, readAll, TOPIC, until, Workplace } from "./support.js";

const work = new Workplace();
const BIG = jsonBody("x".repeat(4_000), { maxPayloadBytes: 1_048_576, maxPayloadDepth: 1 });

async function fileSize(): Promise<number> {
  return (await stat(work.path)).size;
}

describe("space", () => {
  it("is given back to the file system after a trim, while the store goes on", async () => {
    const store = await work.open();
    for (let round = 0; round < 20; round++) await append(store, drafts(200, { body: BIG }));
    await store.close();
    const full = await fileSize();
    expect(full).toBeGreaterThan(16_000_000);
    const again = await work.open();
    expect(await again.log.trim(TOPIC, 0, 3_900)).toBe(3_900);
    await append(again, drafts(10));
    await until("most of it is given back", async () => (await fileSize()) < full / 4);
    expect((await readAll(again)).map(({ seq }) => seq)).toEqual(
      Array.from({ length: 110 }, (_, i) => 3_901 + i),
    );
    expect((await again.log.heads(TOPIC))[0]).toMatchObject({ head: 4_010, low: 3_901, events: 110 });
  });

  it("P11: a removal of every second event keeps the others byte for byte, also after reopening", async () => {
    const store = await work.open({}, { compaction: true });
    const written = await append(store, drafts(2_500));
    const gone = written.filter(({ seq }) => seq % 2 === 0).map(({ seq }) => seq);
    expect(await store.log.remove(TOPIC, 0, gone)).toBe(1_250);
    await store.close();
    const reopened = await work.open();
    const kept = written.filter(({ seq }) => seq % 2 === 1);
    expect((await readAll(reopened)).map(({ record }) => record)).toEqual(kept.map(({ record }) => record));
    const page = await reopened.log.read(TOPIC, 0, { after: 2_497, limit: 10 });
    expect([page.events.map(({ seq }) => seq), page.through]).toEqual([[2_499], 2_500]);
  });

  it("seqAt is right whatever was removed, also when the clock ran wild", async () => {
    const store = await work.open();
    const times = [5, 3, 900, 4, 10, 11, 12, 2_000, 13, 14];
    for (const ts of times) await append(store, [draft(1, { ts })]);
    const present = new Map(times.map((ts, i) => [i + 1, ts]));
    const expected = (ts: number): number => {
      for (const [seq, at] of present) if (at >= ts) return seq;
      return times.length + 1;
    };
    const check = async (): Promise<void> => {
      for (const ts of [0, 3, 4, 5, 6, 10, 13, 14, 15, 900, 901, 2_000, 2_001]) {
        expect([ts, await store.log.seqAt(TOPIC, 0, ts)]).toEqual([ts, expected(ts)]);
      }
    };
    await check();
    await store.log.remove(TOPIC, 0, [3]);
    present.delete(3);
    await check();
    await store.log.remove(TOPIC, 0, [8, 1]);
    present.delete(8);
    present.delete(1);
    await check();
    await store.log.trim(TOPIC, 0, 5);
    for (const seq of [2, 4, 5]) present.delete(seq);
    await check();
    await append(store, [draft(1, { ts: 1 })]);
    times.push(1);
    present.set(11, 1);
    await check();
  });
});

describe("backup", () => {
  it("is a store of its own, as things stood, while writing goes on", async () => {
    const store = await work.open({}, { keyed: true });
    await append(store, drafts(500));
    await store.documents.write("v", [{ op: "upsert", key: "a", ts: 1, fields: { n: 1 } }]);
    await store.groups.start({ topic: TOPIC, group: "g" }, [7]);
    const target = join(work.folder, "backup.db");
    const [, during] = await Promise.all([store.backup(target), append(store, drafts(50))]);
    expect(during).toHaveLength(50);
    const copy = await work.open({ path: target });
    const events = await readAll(copy);
    expect(events.length).toBeGreaterThanOrEqual(500);
    expect(events.map(({ seq }) => seq)).toEqual(events.map((_, i) => i + 1));
    expect((await copy.documents.get("v", ["a"])).get("a")?.fields).toEqual({ n: 1 });
    const state = await copy.groups.state({ topic: TOPIC, group: "g" }, { nowMs: 0 });
    expect(state?.leases[0]?.cursor).toEqual({ ...START_CURSOR, floor: 7, mark: 7 });
    expect((await copy.log.history(TOPIC, "k1", { limit: 1_000 })).length).toBeGreaterThanOrEqual(100);
    const [next] = await append(copy, drafts(1));
    expect(next?.seq).toBe(events.length + 1);
  });

  it("takes the place of an older one whole, and leaves nothing behind when it fails", async () => {
    const store = await work.open();
    await append(store, drafts(5));
    const target = join(work.folder, "backup.db");
    await writeFile(target, "an older one");
    await store.backup(target);
    expect(await readAll(await work.open({ path: target }))).toHaveLength(5);
    await failsWith("STORE_UNAVAILABLE", store.backup(join(work.folder, "no", "such", "folder.db")));
    expect((await readdir(work.folder)).filter((name) => name.includes("partial"))).toEqual([]);
    await store.close();
    await failsWith("CLOSED", store.backup(target));
    await failsWith("CLOSED", embeddedStore({ path: work.path }).backup(target));
  });
});

describe("a backup under way", () => {
  const copies = async (): Promise<string[]> =>
    (await readdir(work.folder)).filter((name) => name.includes("backup"));

  async function begun(store: EmbeddedStore, signal?: AbortSignal): Promise<{ ended: Promise<unknown> }> {
    for (let round = 0; round < 60; round++) await append(store, drafts(200, { body: BIG }));
    const ended = store
      .backup(join(work.folder, "backup.db"), signal && { signal })
      .catch((error: unknown) => error);
    await until("it has begun", async () => (await copies()).length > 0);
    return { ended };
  }

  it("is given up when its signal says so, leaves nothing behind, and the store goes on", async () => {
    const store = await work.open();
    const over = new AbortController();
    const { ended } = await begun(store, over.signal);
    over.abort();
    expect(await ended).toMatchObject({ code: "ABORTED" });
    expect(await copies()).toEqual([]);
    await append(store, drafts(1));
    await store.backup(join(work.folder, "backup.db"));
    expect(await copies()).toEqual(["backup.db"]);
    await failsWith("ABORTED", store.backup(join(work.folder, "backup-2.db"), { signal: over.signal }));
    expect(await copies()).toEqual(["backup.db"]);
  });

  it("is given up when the store closes, which waits until nothing of it is left", async () => {
    const store = await work.open();
    const { ended } = await begun(store);
    await store.close();
    expect(await copies()).toEqual([]);
    expect(await ended).toMatchObject({ code: "ABORTED" });
  });
});

describe("the index by key", () => {
  it("is made for the events that were there before a topic asked for it", async () => {
    const store = await work.open();
    await append(store, drafts(3_000));
    await store.registry.defineTopic({ name: TOPIC, partitions: 2, keyed: true });
    await append(store, drafts(10));
    const walked = (await readAll(store)).filter(({ key }) => key === "k3").map(({ seq }) => seq);
    const history = await store.log.history(TOPIC, "k3", { limit: 10_000 });
    expect(history.map(({ seq }) => seq)).toEqual(walked);
    expect((await store.log.latestByKey(TOPIC, ["k3", "none"])).get("k3")?.seq).toBe(walked.at(-1));
  });

  it("goes when nobody asks for it any more, and comes again", async () => {
    const store = await work.open({}, { keyed: true });
    await append(store, drafts(100));
    await store.registry.defineTopic({ name: TOPIC, partitions: 2 });
    await append(store, drafts(100));
    expect(await store.log.history(TOPIC, "k3", { limit: 1_000 })).toHaveLength(40);
    await store.registry.defineTopic({ name: TOPIC, partitions: 2, compaction: true });
    expect(await store.log.history(TOPIC, "k3", { limit: 1_000 })).toHaveLength(40);
    await store.log.trim(TOPIC, 0, 100);
    expect(await store.log.history(TOPIC, "k3", { limit: 1_000 })).toHaveLength(20);
  });

  it("is completed once, however many ask for it", async () => {
    const store = await work.open();
    for (let n = 0; n < 300; n++) await append(store, [draft(n)]);
    const config = { name: TOPIC, partitions: 2, keyed: true };
    await Promise.all(Array.from({ length: 3 }, () => store.registry.defineTopic(config)));
    expect(await entriesByKey(work.path)).toBe(300);
    expect(await store.log.history(TOPIC, "k3", { limit: 1_000 })).toHaveLength(60);
  });

  it("is not taken for complete by who began before it was thrown away", async () => {
    const store = await work.open();
    const large = { body: jsonBody("x".repeat(3_000), { maxPayloadBytes: 10_000, maxPayloadDepth: 1 }) };
    // A row for each, so that it takes many slices.
    await Promise.all(Array.from({ length: 6_000 }, (_, n) => append(store, [draft(n, large)])));
    const define = (keyed: boolean): Promise<unknown> =>
      store.registry.defineTopic({ name: TOPIC, partitions: 2, keyed });
    const first = define(true);
    await until("most of it is made", async () => (await entriesByKey(work.path)) > 4_000);
    const others = [define(false), define(true)];
    await first;
    expect(await store.log.history(TOPIC, "k3", { limit: 10_000 })).toHaveLength(1_200);
    await Promise.all(others);
    expect((await store.check()).problems).toEqual([]);
  });
});

async function entriesByKey(path: string): Promise<number> {
  const connection = new Connection(path, { busyTimeoutMs: 1_000 });
  try {
    const rows = "SELECT length(entries) / 20 AS count FROM key_note UNION ALL SELECT count FROM key_run";
    return Number(connection.prepare(`SELECT sum(count) FROM (${rows})`).get()?.[0]);
  } finally {
    connection.close();
  }
}
