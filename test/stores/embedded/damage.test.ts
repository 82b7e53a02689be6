import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { BusError } from "../../../src/model/errors.js";
import { jsonBody } from "../../../src/model/json.js";
import { type EmbeddedStore, embeddedStore } from "../../../src/stores/embedded/index.js";
import { Connection } from "../../../src/stores/embedded/sqlite.js";
import { removeWhole } from "../../../src/testing/conformance/samples.js";
import { append, draft, drafts, failsWith, readAll, TOPIC, until, Workplace } from "./support.js";

const work = new Workplace();
const MARK = "the byte that goes bad is in here";

function spoil(sql: string): void {
  const connection = new Connection(work.path, { busyTimeoutMs: 1_000 });
  connection.exec(sql);
  connection.close();
}

/** Three commits, the second of which holds the mark; then one bit of it turns, while nobody has the file open. */
async function damaged(options: Parameters<Workplace["open"]>[0] = {}): Promise<EmbeddedStore> {
  const store = await work.open({}, { keyed: true });
  const marked = draft(11, { body: jsonBody(MARK, { maxPayloadBytes: 1_000, maxPayloadDepth: 1 }) });
  await append(store, drafts(10));
  await append(store, [marked, ...drafts(9)]);
  await append(store, drafts(10));
  await append(store, drafts(10), 1);
  await store.close();
  const bytes = await readFile(work.path);
  const at = bytes.indexOf(MARK);
  expect(at).toBeGreaterThan(0);
  bytes.writeUInt8(bytes.readUInt8(at + 4) ^ 1, at + 4);
  await writeFile(work.path, bytes);
  return work.open(options);
}

describe("a damaged batch", () => {
  it("P14: what lies before it is read, it is not, and the error says where and what to do", async () => {
    const store = await damaged();
    const { events, through } = await store.log.read(TOPIC, 0, { after: 0, limit: 100 });
    expect(events.map(({ seq }) => seq)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
    expect(through).toBe(10);
    const error = await failsWith("STORE_DAMAGED", store.log.read(TOPIC, 0, { after: 10, limit: 100 }));
    expect(error.retryable).toBe(false);
    expect(error.details).toMatchObject({ topic: TOPIC, partition: 0, firstSeq: 11, lastSeq: 20 });
    expect(error.message).toContain("backup");
    expect(error.message).toContain("through 20");
  });

  it("P14: appends to its partition stop, also after a restart; other partitions go on", async () => {
    const store = await damaged();
    await failsWith("STORE_DAMAGED", store.log.read(TOPIC, 0, { after: 10, limit: 100 }));
    await until("appends are refused", async () => {
      const outcome = await append(store, drafts(1)).catch((error: unknown) => error);
      return outcome instanceof Error;
    });
    await failsWith("STORE_DAMAGED", append(store, drafts(1)));
    await append(store, drafts(1), 1);
    expect(await readAll(store, 1)).toHaveLength(11);
    await store.close();
    await failsWith("STORE_DAMAGED", append(await work.open(), drafts(1)));
  });

  it("P1, P14: appends stop also where they would go ahead of the store, whatever was under way when the damage was found", async () => {
    const store = await damaged({ exclusive: true });
    const underWay = append(store, drafts(1));
    await failsWith("STORE_DAMAGED", store.log.read(TOPIC, 0, { after: 10, limit: 100 }));
    expect((await underWay)[0]?.seq).toBe(31);
    // Asked behind the mark, and answered behind it.
    await append(store, drafts(1), 1);
    await failsWith("STORE_DAMAGED", append(store, drafts(1)));
    expect(await readAll(store, 1)).toHaveLength(11);
  });

  it("P14: nothing damaged is served by key, by id or by time either", async () => {
    const store = await damaged();
    const key = "k1";
    await failsWith("STORE_DAMAGED", store.log.history(TOPIC, key, { limit: 100 }));
    await failsWith("STORE_DAMAGED", store.log.remove(TOPIC, 0, [12]));
  });

  it("P14: trimming through it gives it up, and the partition goes on", async () => {
    const store = await damaged();
    await failsWith("STORE_DAMAGED", store.log.read(TOPIC, 0, { after: 10, limit: 100 }));
    expect(await store.log.trim(TOPIC, 0, 20)).toBe(20);
    const [event] = await append(store, drafts(1));
    expect(event?.seq).toBeGreaterThanOrEqual(31);
    expect((await readAll(store)).map(({ seq }) => seq)[0]).toBe(21);
  });
});

describe("a batch that cannot be found any more", () => {
  /** What a bit that turns in a row's key or in its length comes to. */
  async function without(sql: string): Promise<EmbeddedStore> {
    const store = await work.open();
    for (let batch = 0; batch < 3; batch++) await append(store, drafts(10));
    await store.close();
    const connection = new Connection(work.path, { busyTimeoutMs: 1_000 });
    connection.exec(sql);
    connection.close();
    return work.open();
  }

  it.each([
    [
      "its row is gone",
      "DELETE FROM batch WHERE pos = (SELECT pos FROM batch ORDER BY pos LIMIT 1 OFFSET 1)",
    ],
    ["its row says it ends earlier", "UPDATE batch SET last_seq = 2 WHERE last_seq = 20"],
  ])("P2, P14: %s: what lies before it is read, then the error says what is missing", async (_, sql) => {
    const store = await without(sql);
    const { events, through } = await store.log.read(TOPIC, 0, { after: 0, limit: 100 });
    expect([events.length, through]).toEqual([10, 10]);
    const error = await failsWith("STORE_DAMAGED", store.log.read(TOPIC, 0, { after: 10, limit: 100 }));
    expect(error.details).toMatchObject({ firstSeq: 11, lastSeq: 20 });
  });

  it("P2, P14: also at the end of the log", async () => {
    const store = await without("DELETE FROM batch WHERE last_seq = 30");
    expect((await store.log.read(TOPIC, 0, { after: 0, limit: 100 })).through).toBe(20);
    const error = await failsWith("STORE_DAMAGED", store.log.read(TOPIC, 0, { after: 20, limit: 100 }));
    expect(error.details).toMatchObject({ firstSeq: 21, lastSeq: 30 });
  });

  it("P14: given up by a trim it counts no longer, and the next one that is lost is noticed", async () => {
    const store = await without("DELETE FROM batch WHERE last_seq = 20");
    expect(await store.log.trim(TOPIC, 0, 20)).toBe(20);
    await append(store, drafts(10));
    const [whole] = await store.log.heads(TOPIC);
    expect((await readAll(store)).map(({ seq }) => seq)).toEqual(
      Array.from({ length: 20 }, (_, n) => n + 21),
    );
    expect(whole).toMatchObject({ head: 40, low: 21, events: 20 });
    expect((await store.check()).problems).toEqual([]);
    await store.close();
    spoil("DELETE FROM batch WHERE last_seq = 40");
    const again = await work.open();
    const error = await failsWith("STORE_DAMAGED", again.log.read(TOPIC, 0, { after: 30, limit: 100 }));
    expect(error.details).toMatchObject({ firstSeq: 31, lastSeq: 40 });
  });

  it("P14: given up with one of two, the other is still missed; with both, nothing is left to count", async () => {
    const store = await without("DELETE FROM batch WHERE last_seq IN (10, 30)");
    expect(await store.log.trim(TOPIC, 0, 12)).toBe(12);
    const { events } = await store.log.read(TOPIC, 0, { after: 0, limit: 100 });
    expect(events.map(({ seq }) => seq)).toEqual([13, 14, 15, 16, 17, 18, 19, 20]);
    await failsWith("STORE_DAMAGED", store.log.read(TOPIC, 0, { after: 20, limit: 100 }));
    expect(await store.log.trim(TOPIC, 0, 30)).toBe(18);
    expect(await store.log.heads(TOPIC)).toMatchObject([{ head: 30, low: 31, events: 0, bytes: 0 }, {}]);
    expect((await store.check()).problems).toEqual([]);
  });

  it("P14: where others were removed since it is still missed, until it is given up and counts no longer", async () => {
    const store = await without("DELETE FROM batch WHERE last_seq = 10");
    await failsWith("STORE_DAMAGED", store.log.read(TOPIC, 0, { after: 0, limit: 100 }));
    // More than were lost: it does not show by their number.
    const removed = Array.from({ length: 12 }, (_, n) => n + 13);
    expect(await store.log.remove(TOPIC, 0, removed)).toBe(12);
    const error = await failsWith("STORE_DAMAGED", store.log.read(TOPIC, 0, { after: 0, limit: 100 }));
    expect(error.details).toMatchObject({ firstSeq: 1, lastSeq: 10 });
    expect(await store.log.trim(TOPIC, 0, 10)).toBe(10);
    expect(await store.log.heads(TOPIC)).toMatchObject([{ head: 30, low: 11, events: 8 }, {}]);
    expect((await store.check()).problems).toEqual([]);
    expect(await readAll(store)).toHaveLength(8);
  });

  it("P14: it is not passed over because what stood before it was removed", async () => {
    const store = await without("DELETE FROM batch WHERE last_seq = 20");
    const first = Array.from({ length: 10 }, (_, n) => n + 1);
    await failsWith("STORE_DAMAGED", store.log.remove(TOPIC, 0, [...first, 11]));
    expect(await store.log.remove(TOPIC, 0, first)).toBe(10);
    const error = await failsWith("STORE_DAMAGED", store.log.read(TOPIC, 0, { after: 0, limit: 100 }));
    expect(error.details).toMatchObject({ firstSeq: 11, lastSeq: 20 });
  });

  it("P14: a partition whose state is gone is not taken for an empty one", async () => {
    const store = await without("DELETE FROM part WHERE id = 1");
    await failsWith("STORE_DAMAGED", store.log.read(TOPIC, 0, { after: 0, limit: 100 }));
    await failsWith("STORE_DAMAGED", store.log.seqAt(TOPIC, 0, 0));
    expect((await store.log.read(TOPIC, 1, { after: 0, limit: 100 })).events).toEqual([]);
  });

  it("P14: a row that holds something else is damage, and so is a table that lost a column", async () => {
    const odd = await without("UPDATE batch SET data = 7 WHERE last_seq = 20");
    await failsWith("STORE_DAMAGED", odd.log.read(TOPIC, 0, { after: 10, limit: 100 }));
    await odd.close();
    const connection = new Connection(work.path, { busyTimeoutMs: 1_000 });
    connection.exec("ALTER TABLE batch RENAME COLUMN run_ts TO ru_ts");
    connection.close();
    const torn = await work.open();
    await failsWith("STORE_DAMAGED", torn.log.read(TOPIC, 0, { after: 0, limit: 100 }));
  });
});

describe("a topic whose name is damaged", () => {
  /** A copy of the file for each place where the name stands, with a bit of it turned there. */
  async function copies(): Promise<string[]> {
    const store = await work.open();
    await append(store, drafts(3));
    await store.close();
    const sound = await readFile(work.path);
    const paths: string[] = [];
    for (let at = sound.indexOf(TOPIC); at >= 0; at = sound.indexOf(TOPIC, at + 1)) {
      const bytes = Buffer.from(sound);
      bytes.writeUInt8(bytes.readUInt8(at + 2) ^ 1, at + 2);
      const path = join(work.folder, `turned-${at}.db`);
      await writeFile(path, bytes);
      paths.push(path);
    }
    return paths;
  }

  it("P14: is not taken for one that is not there, and none is made in its place", async () => {
    const answers: unknown[] = [];
    for (const path of await copies()) {
      const store = embeddedStore({ path });
      await store.open();
      const read = (): Promise<unknown> =>
        store.log.read(TOPIC, 0, { after: 0, limit: 10 }).then(
          ({ events }) => events.length,
          (error: unknown) => BusError.from(error).code,
        );
      const before = await read();
      const known = await store.registry.topic(TOPIC).catch((error: unknown) => BusError.from(error).code);
      expect([null, undefined]).not.toContain(known);
      await store.registry
        .defineTopic({ name: TOPIC, partitions: 2 }, { ifAbsent: true })
        .catch(() => undefined);
      answers.push([before, await read()]);
      await store.close();
    }
    expect(answers).toEqual(
      expect.arrayContaining([
        ["STORE_DAMAGED", "STORE_DAMAGED"],
        [3, 3],
      ]),
    );
    expect(answers.flat().filter((answer) => answer !== 3 && answer !== "STORE_DAMAGED")).toEqual([]);
  });
});

describe("a topic whose settings are damaged", () => {
  it.each([
    ["are no JSON", "replace(config, '{', ';')"],
    ["are another topic's", "replace(config, 'things', 'thIngs')"],
    ["tell of other partitions", "json_set(config, '$.partitions', 3)"],
  ])("P14: is told of if they %s, also to whoever defines it again", async (_, damage) => {
    const store = await work.open();
    await append(store, drafts(3));
    await store.close();
    spoil(`UPDATE topic SET config = ${damage}`);
    const again = embeddedStore({ path: work.path });
    await again.open();
    const { registry } = again;
    await failsWith("STORE_DAMAGED", registry.topics());
    await failsWith("STORE_DAMAGED", registry.topic(TOPIC));
    await failsWith("STORE_DAMAGED", registry.defineTopic({ name: TOPIC, partitions: 2 }));
    await failsWith("STORE_DAMAGED", registry.removeTopic(TOPIC, [3, 0]));
    expect(await readAll(again)).toHaveLength(3);
    await again.close();
  });
});

describe("a check of the whole file", () => {
  it("P14: finds nothing wrong with a sound file, and says how far it is", async () => {
    const store = await work.open({}, { keyed: true });
    await append(store, drafts(30));
    await append(store, drafts(5), 1);
    const seen: [number, number][] = [];
    const report = await store.check({ onProgress: (...now) => void seen.push(now) });
    expect(report).toEqual({ events: 35, problems: [] });
    expect(seen.at(-1)).toEqual([35, 35]);
  });

  it("P14: names a damaged batch, although nobody has read it yet", async () => {
    const store = await damaged();
    const { problems } = await store.check();
    expect(problems).toHaveLength(1);
    expect(problems[0]).toContain("events 11 to 20 of partition 0");
  });

  it("P14: finds a batch that says it ends before it begins, however many there are", async () => {
    const store = await work.open();
    for (let n = 1; n <= 70; n++) await append(store, [draft(n)]);
    await store.close();
    spoil("UPDATE batch SET last_seq = 3 WHERE last_seq = 66");
    const { problems } = await (await work.open()).check();
    expect(problems).toContain(`partition 0 of "${TOPIC}" has 1 batches that end before they begin`);
  });

  it("P2, P14: finds a removed topic whose partitions end before what was written to it", async () => {
    const store = await work.open();
    await append(store, drafts(10));
    expect(await removeWhole(store, TOPIC)).toBe(true);
    expect((await store.check()).problems).toEqual([]);
    await store.close();
    spoil("UPDATE part SET head = head - 2 WHERE head > 0");
    const { problems } = await (await work.open()).check();
    expect(problems).toEqual([`partition 0 of "${TOPIC}" says 0 events, which do not fit between 11 and 8`]);
  });

  it("P14: finds a partition that says it begins behind some of its events", async () => {
    const store = await work.open();
    await append(store, drafts(10));
    await store.close();
    spoil("UPDATE part SET low = 3 WHERE head > 0");
    const { problems } = await (await work.open()).check();
    expect(problems).toEqual([`partition 0 of "${TOPIC}" says 10 events, which do not fit between 3 and 10`]);
  });

  it("P14: names events that are in the log but not in the indexes by id and by key", async () => {
    const store = await work.open({}, { keyed: true });
    await append(store, [draft(1, { id: "mine", key: "k" })]);
    await append(store, drafts(2));
    await store.close();
    spoil("DELETE FROM id_note; DELETE FROM key_note WHERE id = 1");
    const { problems } = await (await work.open()).check();
    expect(problems[0]).toBe(`event 1 of partition 0 of "${TOPIC}" is not found by its id or its key`);
  });
});
