/** A file of the embedded store whose small batches go into sheets, without threads. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { systemClock } from "../../src/model/clock.js";
import type { EventDraft, StoredEvent } from "../../src/model/event.js";
import { JsonBody } from "../../src/model/json.js";
import { Leaf } from "../../src/stores/batch-encoder.js";
import { Batches } from "../../src/stores/embedded/batches/batches.js";
import { IdIndex } from "../../src/stores/embedded/indexes/id-index.js";
import { KeyIndex } from "../../src/stores/embedded/indexes/key-index.js";
import { Checker } from "../../src/stores/embedded/log/checker.js";
import { readPage } from "../../src/stores/embedded/log/log-reader.js";
import type { ArgumentOf, OperationName, Request } from "../../src/stores/embedded/protocol.js";
import { Connection } from "../../src/stores/embedded/sqlite.js";
import { WriteEngine } from "../../src/stores/embedded/threads/write-engine.js";
import { Topics } from "../../src/stores/embedded/topics.js";

export const PARTITIONS = 10;
/** So few that what takes many otherwise is seen. */
export const INDEX_SIZES = { notes: 6, chunk: 2, fanout: 3, slice: 16, mergedPerNew: 1 };
const OPTIONS = {
  durability: "os",
  busyTimeoutMs: 1_000,
  maxBytes: undefined,
  exclusive: false,
  pollMs: 20,
  indexSizes: INDEX_SIZES,
} as const;

export function draft(n: number, o: Partial<EventDraft> = {}): EventDraft {
  const body = JsonBody.ofText(JSON.stringify({ n, text: "some text" }));
  return {
    id: systemClock.newId(),
    ts: 1_000 + n,
    key: `k${n % 3}`,
    meta: undefined,
    body,
    freshId: false,
    ...o,
  };
}

/** A store's file with one topic, two processes that write it and one that reads it. */
export class SheetPlace {
  readonly #folder = mkdtempSync(join(tmpdir(), "promethean-sheets-"));
  readonly path = join(this.#folder, "bus.db");
  readonly engines = [this.#engine(), this.#engine()];
  readonly connection = new Connection(this.path, { busyTimeoutMs: 1_000 });
  readonly topics = new Topics(this.connection);
  readonly batches = new Batches(this.connection, this.topics, () => undefined);
  readonly index = new IdIndex(this.connection);
  readonly keys = new KeyIndex(this.connection);
  #number = 0;

  constructor() {
    this.call(0, "defineTopic", { config: { name: "t", partitions: PARTITIONS }, ifAbsent: true });
  }

  #engine(): WriteEngine {
    return new WriteEngine({ ...OPTIONS, path: this.path });
  }

  request<K extends OperationName>(name: K, argument: ArgumentOf<K>): Request {
    return { number: ++this.#number, name, argument };
  }

  append(partition: number, drafts: readonly EventDraft[], check: "all" | "none" = "all"): Request {
    const encoded = new Leaf().encode(drafts);
    return this.request("append", { topic: "t", partition, ...encoded, check, fence: undefined });
  }

  /** One commit by one of the processes. */
  group(by: number, requests: readonly Request[]): unknown[] {
    return this.engine(by)
      .run(requests)
      .replies.map((reply) => {
        if ("error" in reply) throw new Error(reply.error.message);
        return reply.answer;
      });
  }

  call<K extends OperationName>(by: number, name: K, argument: ArgumentOf<K>): unknown {
    return this.group(by, [this.request(name, argument)])[0];
  }

  engine(by: number): WriteEngine {
    return this.engines[by] as WriteEngine;
  }

  reopen(by: number): void {
    this.engine(by).close();
    this.engines[by] = this.#engine();
  }

  part(partition: number): number {
    return this.topics.part("t", partition).part;
  }

  read(partition: number, limit = 7): StoredEvent[] {
    const from = { topic: "t", partition, part: this.part(partition) };
    const all: StoredEvent[] = [];
    return this.connection.snapshot(() => {
      for (let after = 0; ; ) {
        const { events, through } = readPage(this.connection, this.batches, from, { after, limit });
        all.push(...events);
        if (events.length === 0) return all;
        after = through;
      }
    });
  }

  problems(): string[] {
    const checker = new Checker(this.connection);
    const problems = checker.structure();
    for (const stretch of checker.partitions().stretches) {
      for (let after: number | null = 0; after !== null; ) {
        const checked = this.connection.snapshot(() => checker.next({ ...stretch, after: after as number }));
        problems.push(...checked.problems);
        after = checked.through;
      }
    }
    return problems;
  }

  count(table: "sheet" | "batch" | "filed_id" | "id_index"): number {
    return Number(this.connection.prepare(`SELECT count(*) FROM ${table}`).get()?.[0]);
  }

  close(): void {
    for (const engine of this.engines) engine.close();
    this.connection.close();
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

/** One event for each partition, in one commit, with ids that the bus has just made. */
export function oneEach(place: SheetPlace, by: number, n: number): EventDraft[] {
  const drafts = Array.from({ length: PARTITIONS }, (_, p) => draft(n * PARTITIONS + p));
  place.group(
    by,
    drafts.map((one, p) => place.append(p, [one], "none")),
  );
  return drafts;
}
