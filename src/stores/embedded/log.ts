/** The log: reads here, in bounded pages; appends and removals in the writing thread, as encoded bytes. */
import { type EventDraft, type Seq, StoredEvent } from "../../model/event.js";
import { nextTurn } from "../../model/next-turn.js";
import type { Fence } from "../../ports/groups.js";
import type { AppendResult, HistoryOptions, Log, Page, PartitionHead, ReadOptions } from "../../ports/log.js";
import { BatchCursor } from "../batch-codec.js";
import { type Encoded, Leaf } from "../batch-encoder.js";
import { headsOfOne } from "../heads-of-one.js";
import type { Access } from "./access.js";
import { Batches } from "./batches/batches.js";
import { IdIndex } from "./indexes/id-index.js";
import { locate } from "./indexes/id-lookup.js";
import { KeyIndex } from "./indexes/key-index.js";
import { HistoryWalk, NewestWalk } from "./log/key-walk.js";
import { readPage, seqAt } from "./log/log-reader.js";
import type { AppendAnswer, AppendRequest, Duplicate } from "./protocol.js";
import type { Connection } from "./sqlite.js";
import type { Call } from "./threads/writer.js";
import { ARE_FILLING, isFilling, KEYS_READY, type TopicRow, Topics } from "./topics.js";
import type { Wake } from "./wake.js";

/** Topics whose heads are read in one go. */
const HEADS_AT_ONCE = 1_000;
/** Keys whose newest events are looked for in one turn of the event loop. */
const KEYS_A_TURN = 32;

const NO_DUPLICATES: ReadonlySet<number> = new Set();
const NONE: readonly Duplicate[] = [];

/** What one reading connection needs to read the log. */
interface Reading {
  readonly connection: Connection;
  readonly topics: Topics;
  readonly batches: Batches;
  readonly index: IdIndex;
  readonly keys: KeyIndex;
}

export class EmbeddedLog implements Log {
  readonly #access: Access;
  readonly #leaf = new Leaf();
  #reading: Reading | undefined;
  /** Of indexes by key that are being completed: who asks for one meanwhile waits for it. */
  readonly #fillings = new Map<string, Promise<void>>();

  constructor(access: Access) {
    this.#access = access;
  }

  append(
    topic: string,
    partition: number,
    drafts: readonly EventDraft[],
    fence?: Fence,
  ): Promise<AppendResult> {
    return new Promise((resolve, reject) => {
      const encoded = this.#leaf.encode(drafts);
      const appending = new Appending(topic, partition, drafts, encoded, fence, this.#access.wake);
      appending.settle = resolve;
      appending.reject = reject;
      this.#access.ask(appending, encoded.buffer);
    });
  }

  appendNow(topic: string, partition: number, drafts: readonly EventDraft[]): AppendResult | undefined {
    const firstSeq = this.#access.writeNow(topic, partition, drafts);
    if (firstSeq === undefined) return undefined;
    this.#access.wake.send({ type: "appended", topic, partition, head: firstSeq + drafts.length - 1 });
    return appended(topic, partition, drafts, firstSeq, NONE);
  }

  read(topic: string, partition: number, options: ReadOptions): Promise<Page> {
    return this.#read((reading) => {
      const part = reading.topics.partIfAny(topic, partition);
      if (part === undefined) return { events: [], through: options.after };
      return readPage(reading.connection, reading.batches, { topic, partition, part }, options);
    });
  }

  async heads(topic: string): Promise<readonly PartitionHead[]> {
    return headsOfOne(await this.headsOf([topic]), topic);
  }

  /** A slice of the topics at a time: the event loop has other things to do. */
  async headsOf(topics: readonly string[]): Promise<ReadonlyMap<string, readonly PartitionHead[]>> {
    const found = new Map<string, PartitionHead[]>();
    for (let from = 0; from < topics.length; from += HEADS_AT_ONCE) {
      if (from > 0) await nextTurn();
      const slice = topics.slice(from, from + HEADS_AT_ONCE);
      await this.#read((reading) => addHeads(reading, slice, found));
    }
    return found;
  }

  seqAt(topic: string, partition: number, ts: number): Promise<Seq> {
    return this.#read(({ connection, topics, batches }) => {
      const part = topics.partIfAny(topic, partition);
      return part === undefined ? 1 : seqAt(connection, batches, part, ts);
    });
  }

  find(id: string): Promise<StoredEvent | null> {
    return this.#read(({ connection, batches, index }) => {
      const place = locate({ connection, batches, index }, id);
      return (place && batches.event(place.part, place.seq)) ?? null;
    });
  }

  async latestByKey(topic: string, keys: readonly string[]): Promise<ReadonlyMap<string, StoredEvent>> {
    const row = await this.#read(({ topics }) => topics.reload(topic));
    if (row === undefined) return new Map();
    if (row.keys !== KEYS_READY) return (await this.#walk(new NewestWalk(row, keys))).events;
    const newest = new Map<string, StoredEvent>();
    for (const [n, key] of [...new Set(keys)].entries()) {
      if (n > 0 && n % KEYS_A_TURN === 0) await nextTurn();
      const { events } = await this.#walk(new HistoryWalk(row, key, { limit: 1, newestFirst: true }));
      if (events[0] !== undefined) newest.set(key, events[0]);
    }
    return newest;
  }

  async history(topic: string, key: string, options: HistoryOptions): Promise<readonly StoredEvent[]> {
    const row = await this.#read(({ topics }) => topics.reload(topic));
    return row === undefined ? [] : (await this.#walk(new HistoryWalk(row, key, options))).events;
  }

  /** In slices, so that appends are not kept waiting: a crash in between leaves less than asked for removed. */
  async trim(topic: string, partition: number, through: Seq): Promise<number> {
    if ((await this.#read(({ topics }) => topics.partIfAny(topic, partition))) === undefined) return 0;
    let removed = 0;
    for (;;) {
      const slice = await this.#access.call("trim", { topic, partition, through });
      removed += slice.removed;
      if (slice.done) return removed;
    }
  }

  async remove(topic: string, partition: number, seqs: readonly Seq[]): Promise<number> {
    if ((await this.#read(({ topics }) => topics.partIfAny(topic, partition))) === undefined) return 0;
    return this.#access.call("remove", { topic, partition, seqs: [...seqs] });
  }

  /** Completes the index by key of a topic whose older events are not in it yet. */
  async fillKeys(topic: string): Promise<void> {
    const row = await this.#read(({ topics }) => topics.reload(topic));
    if (row === undefined || !isFilling(row.keys)) return;
    const name = `${row.id} ${row.keys}`;
    let filling = this.#fillings.get(name);
    if (filling === undefined) {
      filling = this.#fill(row).finally(() => this.#fillings.delete(name));
      this.#fillings.set(name, filling);
    }
    await filling;
  }

  async #fill({ name: topic, keys: filling, ...row }: TopicRow): Promise<void> {
    for (let part = row.firstPart; part < row.firstPart + row.partitions; part++) {
      let after: Seq | null = 0;
      while (after !== null)
        after = (await this.#access.call("fillKeys", { topic, part, after, filling })).through;
    }
    await this.#access.call("keysFilled", { topic, filling });
  }

  /** Topics whose index by key was left unfinished. */
  unfinishedKeys(): Promise<string[]> {
    return this.#access.read((connection) =>
      connection
        .sql(`SELECT name FROM topic WHERE ${ARE_FILLING}`)
        .all<[string]>()
        .map(([name]) => name),
    );
  }

  /** Step by step, with the event loop in between. */
  async #walk<T extends HistoryWalk | NewestWalk>(walk: T): Promise<T> {
    while (!(await this.#read((reading) => walk.step(reading)))) await nextTurn();
    return walk;
  }

  async #read<T>(work: (reading: Reading) => T): Promise<T> {
    return this.#access.read((connection) => work(this.#on(connection)));
  }

  #on(connection: Connection): Reading {
    if (this.#reading?.connection !== connection) {
      const topics = new Topics(connection);
      const batches = new Batches(connection, topics, (part, firstSeq, lastSeq) => {
        // Appends to the partition stop as well. The reader hears of the damage by its own error.
        this.#access.call("markDamage", { part, firstSeq, lastSeq }).catch(() => {});
      });
      this.#reading = {
        connection,
        topics,
        batches,
        index: new IdIndex(connection),
        keys: new KeyIndex(connection),
      };
    }
    return this.#reading;
  }
}

/**
 * An append under way: what is asked, and who waits for the answer. Among a thousand partitions each event is an append, so
 * that this is one object.
 */
class Appending implements Call, AppendRequest {
  number = 0;
  bytes = 0;
  settle: (result: AppendResult) => void = () => undefined;
  reject: (error: unknown) => void = () => undefined;
  readonly topic: string;
  readonly partition: number;
  readonly buffer: ArrayBuffer;
  readonly layout: readonly number[];
  readonly check: AppendRequest["check"];
  readonly fence: Fence | undefined;
  readonly #drafts: readonly EventDraft[];
  readonly #wake: Wake;

  constructor(
    topic: string,
    partition: number,
    drafts: readonly EventDraft[],
    { buffer, layout }: Encoded,
    fence: Fence | undefined,
    wake: Wake,
  ) {
    this.topic = topic;
    this.partition = partition;
    this.buffer = buffer;
    this.layout = layout;
    this.check = idsToCheck(drafts);
    this.fence = fence && fenceOf(fence);
    this.#drafts = drafts;
    this.#wake = wake;
  }

  get name(): "append" {
    return "append";
  }

  get argument(): AppendRequest {
    return this;
  }

  resolve(answer: AppendAnswer | Seq): void {
    try {
      this.settle(this.#result(answer));
    } catch (error) {
      this.reject(error);
    }
  }

  /** What became of it, of which others are told. */
  #result(answer: AppendAnswer | Seq): AppendResult {
    const drafts = this.#drafts;
    const { topic, partition } = this;
    const { firstSeq, duplicates = NONE } = typeof answer === "number" ? { firstSeq: answer } : answer;
    const result = appended(topic, partition, drafts, firstSeq, duplicates);
    const added = drafts.length - result.duplicates.size;
    if (added > 0) this.#wake.send({ type: "appended", topic, partition, head: firstSeq + added - 1 });
    return result;
  }
}

type HeadRow = [part: number, head: Seq, low: Seq, events: number, bytes: number];

/** Adds the heads of these topics to those found. One row comes back, however many there are. */
function addHeads(
  { connection, topics }: Reading,
  names: readonly string[],
  found: Map<string, PartitionHead[]>,
): void {
  const rows = names.map((name) => topics.find(name)).filter((row) => row !== undefined);
  const parts = rows.flatMap(({ firstPart, partitions }) =>
    Array.from({ length: partitions }, (_, partition) => firstPart + partition),
  );
  const [text = "[]"] =
    connection
      .sql(
        `SELECT json_group_array(json_array(part.id, head, low, events, bytes))
         FROM json_each(?) wanted CROSS JOIN part ON part.id = wanted.value`,
      )
      .get<[string]>(JSON.stringify(parts)) ?? [];
  const heads = new Map((JSON.parse(text) as HeadRow[]).map((row) => [row[0], row]));
  for (const { name, firstPart, partitions } of rows) {
    const ofTopic: PartitionHead[] = [];
    for (let partition = 0; partition < partitions; partition++) {
      const [, head, low, events, bytes] = heads.get(firstPart + partition) ?? [0, 0, 1, 0, 0];
      ofTopic.push({ partition, head, low, events, bytes });
    }
    found.set(name, ofTopic);
  }
}

function idsToCheck(drafts: readonly EventDraft[]): "all" | "none" | number[] {
  if (drafts.every(({ freshId }) => freshId)) return "none";
  const stale: number[] = [];
  for (let i = 0; i < drafts.length; i++) if (!drafts[i]?.freshId) stale.push(i);
  return stale.length === drafts.length ? "all" : stale;
}

function fenceOf({ ref, epoch }: Fence): Fence {
  const { topic, group, partition } = ref;
  return { ref: { topic, group, partition }, epoch };
}

function appended(
  topic: string,
  partition: number,
  drafts: readonly EventDraft[],
  firstSeq: Seq,
  duplicates: readonly Duplicate[],
): AppendResult {
  // Neither `new Array` nor a literal: V8 would come to make all of these among the old objects.
  if (duplicates.length === 0) {
    const added = drafts.map((draft, i) => new StoredEvent(topic, partition, firstSeq + i, draft));
    return { events: added, duplicates: NO_DUPLICATES };
  }
  const known = new Map(duplicates.map((duplicate) => [duplicate.index, duplicate]));
  const events: StoredEvent[] = [];
  let seq = firstSeq;
  drafts.forEach((draft, i) => {
    const duplicate = known.get(i);
    events.push(
      duplicate === undefined ? new StoredEvent(topic, partition, seq++, draft) : firstOf(duplicate, events),
    );
  });
  return { events, duplicates: new Set(known.keys()) };
}

function firstOf({ sameAs, event }: Duplicate, events: readonly StoredEvent[]): StoredEvent {
  if (event === undefined) return events[sameAs ?? -1] as StoredEvent;
  const { topic, partition, seq, ids, data } = event;
  const cursor = new BatchCursor({ firstSeq: seq, ids: Buffer.from(ids), data: Buffer.from(data) });
  cursor.next();
  return cursor.event(topic, partition);
}
