import { copyFileSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { systemClock } from "../../model/clock.js";
import { BusError } from "../../model/errors.js";
import type { EventDraft } from "../../model/event.js";
import { JsonBody } from "../../model/json.js";
import { Leaf } from "../batch-encoder.js";
import { Ahead } from "./ahead.js";
import { AheadDisk } from "./ahead-disk.js";
import { aheadPath } from "./ahead-file.js";
import { embeddedStore } from "./index.js";
import type { AheadStart, AppendAnswer, ArgumentOf, OperationName, Request } from "./protocol.js";
import { Connection } from "./sqlite.js";
import { WriteEngine } from "./write-engine.js";

const PARTITIONS = 3;

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "promethean-ahead-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function openEngine(path: string, exclusive: boolean): WriteEngine {
  const sizes = { busyTimeoutMs: 1_000, maxBytes: undefined, pollMs: 20 };
  return new WriteEngine({ path, exclusive, durability: "sync", ...sizes });
}

/** Ids by partition, in the order of their seqs. */
type Logs = string[][];

function noLogs(): Logs {
  return Array.from({ length: PARTITIONS }, () => []);
}

interface PlaceOptions {
  /** What the store held before. */
  readonly from?: Logs;
  /** Whether a disk is slow is not left to the machine. */
  readonly slowMs?: number;
  readonly useCache?: boolean;
}

/** A store that one process has for itself, its two threads played one after the other, and what it has promised so far. */
class Place {
  readonly path: string;
  readonly promised = noLogs();
  readonly #engine: WriteEngine;
  readonly #ahead: Ahead;
  readonly #leaf = new Leaf();
  #number = 0;
  wentAhead = 0;

  constructor(
    path: string,
    { from = [], slowMs = Number.POSITIVE_INFINITY, useCache = false }: PlaceOptions = {},
  ) {
    this.path = path;
    this.#engine = openEngine(path, true);
    const start = this.#engine.ahead as AheadStart;
    this.#ahead = new Ahead(new AheadDisk(aheadPath(path), start.image, useCache), start, slowMs);
    this.call("defineTopic", { config: { name: "t", partitions: PARTITIONS }, ifAbsent: true });
    for (const [partition, ids] of from.entries()) this.promised[partition]?.push(...ids);
  }

  draft(id: string, text = "some text"): EventDraft {
    const body = JsonBody.ofText(JSON.stringify(text));
    return { id, ts: 1, key: "k", meta: undefined, body, freshId: false };
  }

  request(partition: number, ids: readonly string[], text?: string): Request {
    const drafts = ids.map((id) => this.draft(id, text));
    const argument = { topic: "t", partition, ...this.#leaf.encode(drafts), check: "all", fence: undefined };
    return { number: ++this.#number, name: "append", argument };
  }

  /** By the way ahead where it is open, else by the thread, as the writer does it. */
  append(partition: number, ids: readonly string[], text?: string): void {
    const request = this.request(partition, ids, text);
    const seqs = this.#ahead.write([request]);
    if (seqs === undefined) this.#byThread(request);
    else {
      this.wentAhead++;
      expect(seqs).toEqual([(this.promised[partition]?.length ?? 0) + 1]);
    }
    this.promised[partition]?.push(...ids);
  }

  /** As `append`, encoded in its record. */
  appendOne(partition: number, ids: readonly string[], text?: string): void {
    const drafts = ids.map((id) => this.draft(id, text));
    const seq = this.#ahead.writeOne("t", partition, drafts);
    if (seq === undefined) {
      this.append(partition, ids, text);
      return;
    }
    this.wentAhead++;
    expect(seq).toBe((this.promised[partition]?.length ?? 0) + 1);
    this.promised[partition]?.push(...ids);
  }

  #byThread(request: Request): AppendAnswer {
    this.#ahead.note([request]);
    this.apply();
    const answer = this.call("append", request.argument as ArgumentOf<"append">) as AppendAnswer;
    this.#ahead.learn(request.argument as ArgumentOf<"append">, answer);
    return answer;
  }

  /** What the thread answers to an append that must not go ahead. */
  refusedAhead(request: Request, draft?: EventDraft): AppendAnswer {
    const { topic, partition } = request.argument as ArgumentOf<"append">;
    if (draft !== undefined) expect(this.#ahead.writeOne(topic, partition, [draft])).toBeUndefined();
    expect(this.#ahead.write([request])).toBeUndefined();
    return this.#byThread(request);
  }

  apply(): void {
    this.#ahead.caughtUp(this.#engine.apply());
  }

  /** Before the event loop hears of what was taken over, it appends. */
  appendDuring(append: () => boolean): boolean {
    const serial = this.#engine.apply();
    const wentAhead = append();
    this.#ahead.caughtUp(serial);
    return wentAhead;
  }

  call<K extends OperationName>(name: K, argument: ArgumentOf<K>): unknown {
    const [reply] = this.#engine.run([{ number: ++this.#number, name, argument }]).replies;
    if (reply === undefined || "error" in reply) throw new Error(JSON.stringify(reply));
    return reply.answer;
  }

  /** The files as they are now, as a process that is killed leaves them. */
  killed(): string {
    const path = `${this.path}-k${++this.#number}`;
    for (const suffix of ["", "-wal", "-ahead"])
      if (existsSync(this.path + suffix)) copyFileSync(this.path + suffix, path + suffix);
    return path;
  }

  close(): void {
    this.apply();
    this.#ahead.close();
    this.#engine.close();
  }
}

/** What a store holds that is opened now, by one who knows nothing of what was before. */
async function logsOf(path: string): Promise<Logs> {
  const store = embeddedStore({ path });
  await store.open();
  const logs = noLogs();
  for (const [partition, ids] of logs.entries()) {
    const { events } = await store.log.read("t", partition, { after: 0, limit: 100_000 });
    events.forEach(({ seq, id }, i) => {
      expect(seq).toBe(i + 1);
      ids.push(id);
    });
  }
  expect((await store.check()).problems).toEqual([]);
  await store.close();
  return logs;
}

/** For what opens a hundred stores, on a busy machine too. */
const LONG_MS = 300_000;
const newIds = (count: number): string[] => Array.from({ length: count }, () => systemClock.newId());

describe("appends ahead of the store", () => {
  it(
    "P1, P2, P3: a process that is killed at any moment leaves what it promised, under its seqs, once",
    async () => {
      const step = fc.oneof(
        {
          weight: 8,
          arbitrary: fc.record({ append: fc.nat(PARTITIONS - 1), count: fc.integer({ min: 1, max: 4 }) }),
        },
        {
          weight: 4,
          arbitrary: fc.record({ appendOne: fc.nat(PARTITIONS - 1), count: fc.integer({ min: 1, max: 4 }) }),
        },
        { weight: 2, arbitrary: fc.constant("apply" as const) },
        { weight: 1, arbitrary: fc.constant("kill" as const) },
        { weight: 1, arbitrary: fc.constant("takeOver" as const) },
      );
      let wentAhead = 0;
      await fc.assert(
        fc.asyncProperty(
          fc.array(step, { minLength: 15, maxLength: 40 }),
          fc.boolean(),
          async (steps, useCache) => {
            let place = new Place(join(folder, `${systemClock.newId()}.db`), { useCache });
            for (const one of steps) {
              if (one === "apply") place.apply();
              else if (one === "kill") expect(await logsOf(place.killed())).toEqual(place.promised);
              else if (one === "takeOver") {
                const next = new Place(place.killed(), { from: place.promised, useCache });
                wentAhead += place.wentAhead;
                place.close();
                place = next;
              } else if ("appendOne" in one) place.appendOne(one.appendOne, newIds(one.count));
              else place.append(one.append, newIds(one.count));
            }
            expect(await logsOf(place.killed())).toEqual(place.promised);
            place.close();
            expect(existsSync(aheadPath(place.path))).toBe(false);
            expect(await logsOf(place.path)).toEqual(place.promised);
            wentAhead += place.wentAhead;
          },
        ),
        { numRuns: 12 },
      );
      expect(wentAhead).toBeGreaterThan(20);
    },
    LONG_MS,
  );

  it.each([
    ["past the cache", false],
    ["through the cache", true],
  ])(
    "P1, P2: the file ahead is used again from its beginning, and what was there before is not taken for new: %s",
    async (_, useCache) => {
      const place = new Place(join(folder, "bus.db"), { useCache });
      const text = "x".repeat(4_000);
      // More than twice its size.
      for (let n = 0; n < 600; n++) {
        place.append(0, newIds(1), text);
        if (n % 10 === 9) place.apply();
        if (n % 233 === 232) expect(await logsOf(place.killed())).toEqual(place.promised);
      }
      expect(place.wentAhead).toBeGreaterThan(590);
      // Ten of 4,000 bytes fit into a row.
      const rows = new Connection(place.path, { busyTimeoutMs: 1_000 });
      expect(rows.sql("SELECT count(*) FROM batch").get()?.[0]).toBeLessThan(80);
      rows.close();
      expect(await logsOf(place.killed())).toEqual(place.promised);
      place.close();
    },
  );

  it("P1: a record that was cut off was never promised; all before it are there", async () => {
    const place = new Place(join(folder, "bus.db"));
    for (let n = 0; n < 5; n++) place.append(0, newIds(1));
    const before = place.promised.map((ids) => [...ids]);
    const whole = readFileSync(aheadPath(place.path));
    place.append(0, newIds(1));
    const killed = place.killed();
    const after = readFileSync(aheadPath(killed));
    const differs = after.findLastIndex((byte, i) => byte !== whole[i]);
    after[differs - 20] = (after[differs - 20] as number) ^ 1;
    writeFileSync(aheadPath(killed), after);
    expect(await logsOf(killed)).toEqual(before);
    place.close();
  });

  /** The file ahead of a store that was killed, with a bit turned in the first record of these. */
  function turnBit(path: string, ids: readonly string[]): void {
    const bytes = readFileSync(aheadPath(path));
    const at = bytes.indexOf(Buffer.from((ids[0] ?? "").replaceAll("-", ""), "hex"));
    expect(at).toBeGreaterThan(0);
    bytes[at] = (bytes[at] as number) ^ 1;
    writeFileSync(aheadPath(path), bytes);
  }

  it("P1: a damaged record that the store has already hides none of those that it has not", async () => {
    const place = new Place(join(folder, "bus.db"));
    place.append(0, newIds(1));
    const taken = newIds(1);
    place.append(0, taken);
    place.append(0, newIds(1));
    place.apply();
    for (let n = 0; n < 3; n++) place.append(0, newIds(1));
    const killed = place.killed();
    turnBit(killed, taken);
    expect(await logsOf(killed)).toEqual(place.promised);
    place.close();
  });

  it("P1, P14: a damaged record before others was answered: the store is not opened as if nothing had stood there", async () => {
    const place = new Place(join(folder, "bus.db"));
    place.append(0, newIds(1));
    const lost = newIds(1);
    place.append(0, lost);
    for (let n = 0; n < 3; n++) place.append(0, newIds(1));
    const killed = place.killed();
    turnBit(killed, lost);
    for (let n = 0; n < 2; n++)
      await expect(logsOf(killed)).rejects.toMatchObject({
        code: "STORE_DAMAGED",
        message: expect.stringMatching(/-ahead is damaged: record 1 cannot be read.*move that file away/),
      });
    rmSync(aheadPath(killed));
    expect(await logsOf(killed)).toEqual([place.promised[0]?.slice(0, 1), [], []]);
    place.close();
  });

  it("what is taken over makes room, also while more is written; without that the thread is asked", () => {
    const place = new Place(join(folder, "bus.db"));
    const text = "x".repeat(8_000);
    const append = (): boolean => {
      const before = place.wentAhead;
      place.append(0, newIds(1), text);
      return place.wentAhead > before;
    };
    append();
    // The store lags behind by one record for ever.
    for (let n = 0; n < 100; n++) expect(place.appendDuring(append)).toBe(true);
    let room = 0;
    while (append()) expect(++room).toBeLessThan(40);
    expect(room).toBeGreaterThan(20);
    place.close();
  });

  it("P3: an id that went ahead, or came in any other way, is looked up in the store when it comes again", async () => {
    const place = new Place(join(folder, "bus.db"));
    const [byThread = "", ahead = ""] = newIds(2);
    place.append(0, [byThread]);
    place.append(0, [ahead]);
    expect(place.wentAhead).toBe(1);
    for (const [id, seq] of [
      [ahead, 2],
      [byThread, 1],
    ] as const) {
      const { duplicates } = place.refusedAhead(place.request(0, [id]), place.draft(id));
      expect(duplicates).toMatchObject([{ index: 0, event: { seq } }]);
    }
    const other = "an id of another kind";
    expect(place.refusedAhead(place.request(0, [other]), place.draft(other)).firstSeq).toBe(3);
    place.close();
  });

  it("P3: ids that were in the store when it was opened are looked up, whatever their time", async () => {
    const path = join(folder, "bus.db");
    const first = new Place(path);
    // Ahead of the clock by more than batches note the times of.
    const later = "ffffffff-0000-7000-8000-000000000001";
    const [now = ""] = newIds(1);
    first.append(0, [now]);
    first.append(0, [later]);
    first.close();
    const second = new Place(path, { from: first.promised });
    second.append(0, ["opens the way"]);
    for (const id of [now, later])
      expect(second.refusedAhead(second.request(0, [id])).duplicates).toHaveLength(1);
    second.close();
  });

  it("P2: seqs that were promised are given to nobody else: what does not fit stops the store", () => {
    const place = new Place(join(folder, "bus.db"));
    place.append(0, newIds(1));
    place.append(0, newIds(1));
    expect(place.wentAhead).toBe(1);
    const other = new Connection(place.path, { busyTimeoutMs: 1_000 });
    other.exec("UPDATE part SET head = head + 5");
    other.close();
    expect(() => place.apply()).toThrow(BusError);
    expect(() => place.apply()).toThrow(/was promised seq 2, but the next one is 7/);
  });

  it.each([
    ["appends", (place: Place) => place.append(0, newIds(1))],
    ["lone events", (place: Place) => place.appendOne(0, newIds(1))],
  ])("a slow disk is left to the thread, which may wait, for longer and longer: %s", (_, append) => {
    const place = new Place(join(folder, "bus.db"), { slowMs: -1 });
    const wentAhead = Array.from({ length: 60 }, () => {
      const before = place.wentAhead;
      append(place);
      return place.wentAhead > before;
    });
    // The first is by the thread, which tells the head; then 8, 16 and 32 lie between two that went ahead.
    expect(wentAhead.flatMap((went, n) => (went ? [n] : []))).toEqual([1, 10, 27]);
    place.close();
  });

  it("an event that is too large for a record goes by the thread", () => {
    const place = new Place(join(folder, "bus.db"));
    place.append(0, newIds(1));
    for (const chars of [9_000, 40_000]) place.appendOne(0, newIds(1), "x".repeat(chars));
    expect(place.wentAhead).toBe(0);
    place.appendOne(0, newIds(1));
    expect(place.wentAhead).toBe(1);
    place.close();
  });

  it("a record of another opening of the store is left alone", async () => {
    const place = new Place(join(folder, "bus.db"));
    place.append(0, newIds(1));
    place.append(0, newIds(1));
    const old = readFileSync(aheadPath(place.path));
    place.close();
    writeFileSync(aheadPath(place.path), old);
    expect(await logsOf(place.path)).toEqual(place.promised);
  });
});
