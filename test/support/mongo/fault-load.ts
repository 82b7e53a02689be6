/**
 * Publish, read and projection load on one topic, through several store handles, while servers fail. Everything acknowledged
 * and everything seen is kept, and judged at the end against what the log and the view hold.
 */

import { BusError } from "../../../src/model/errors.js";
import type { EventDraft, Seq, StoredEvent } from "../../../src/model/event.js";
import { jsonBody } from "../../../src/model/json.js";
import { START_CURSOR } from "../../../src/ports/groups.js";
import type { Store } from "../../../src/ports/store.js";
import { storedLog } from "../kept-history.js";

const TOPIC = "load";
const VIEW = "totals";
const GROUP = { topic: TOPIC, group: "projector" };
const LIMITS = { maxPayloadBytes: 1_048_576, maxPayloadDepth: 8 };
const TTL_MS = 3_000;

export interface LoadReport {
  readonly acked: number;
  readonly events: number;
  readonly projected: number;
  /** Longest time between two acknowledgements. */
  readonly longestPauseMs: number;
  readonly errors: Readonly<Record<string, number>>;
}

export class FaultLoad {
  readonly #stores: readonly Store[];
  readonly #partitions: number;
  readonly #acked = new Map<string, { partition: number; seq: Seq }>();
  readonly #sent: string[][] = [];
  readonly #seen: StoredEvent[][];
  readonly #errors: Record<string, number> = {};
  readonly #writing: Promise<void>[] = [];
  readonly #reading: Promise<void>[] = [];
  readonly #underWay = new Set<string>();
  #failure: unknown;
  #stopWriting = false;
  #stopReading = false;
  #lastAckMs = performance.now();
  #longestPauseMs = 0;

  /** Each store is used by one writer; the first also reads and projects. */
  constructor(stores: readonly Store[], partitions: number) {
    this.#stores = stores;
    this.#partitions = partitions;
    this.#seen = Array.from({ length: partitions }, () => []);
  }

  /** Events acknowledged so far; throws what no part of the load should ever meet. */
  get acked(): number {
    if (this.#failure !== undefined) throw this.#failure;
    return this.#acked.size;
  }

  /** For a person who asks why nothing moves. */
  get summary(): string {
    const seen = this.#seen.map((events) => events.length).join("+");
    const idleMs = Math.round(performance.now() - this.#lastAckMs);
    return `${this.#acked.size} acked, the last ${idleMs} ms ago, ${seen} read, under way: ${[...this.#underWay].join(", ")}, errors ${JSON.stringify(this.#errors)}`;
  }

  async start(): Promise<void> {
    const [store] = this.#stores as [Store];
    await store.registry.defineTopic({ name: TOPIC, partitions: this.#partitions });
    await store.groups.start(GROUP, new Array(this.#partitions).fill(0));
    this.#stores.forEach((writer, w) => {
      this.#sent.push([]);
      this.#writing.push(this.#watched(`writer ${w}`, this.#write(writer, w)));
    });
    for (let partition = 0; partition < this.#partitions; partition++) {
      this.#reading.push(this.#watched(`reader ${partition}`, this.#follow(store, partition)));
      const projecting = this.#project(this.#stores.at(-1) as Store, partition);
      this.#reading.push(this.#watched(`projector ${partition}`, projecting));
    }
  }

  async #watched(name: string, part: Promise<void>): Promise<void> {
    this.#underWay.add(name);
    try {
      await part;
    } catch (error) {
      this.#failure ??= error;
      this.#stopWriting = true;
      this.#stopReading = true;
    } finally {
      this.#underWay.delete(name);
    }
  }

  /** Stops writing, lets readers and projectors come to the end, and judges. Throws what is wrong. */
  async finish(): Promise<LoadReport> {
    this.#stopWriting = true;
    await Promise.all(this.#writing);
    this.#stopReading = true;
    await Promise.all(this.#reading);
    if (this.#failure !== undefined) throw this.#failure;
    const [store] = this.#stores as [Store];
    const logs = await Promise.all(this.#seen.map((_, partition) => storedLog(store, TOPIC, partition)));
    const faults = [...this.#judgeLogs(logs), ...(await this.#judgeView(store, logs))];
    if (faults.length > 0) throw new Error(`${faults.length} faults:\n${faults.slice(0, 20).join("\n")}`);
    return {
      acked: this.#acked.size,
      events: logs.flat().length,
      projected: logs.flat().length,
      longestPauseMs: Math.round(this.#longestPauseMs),
      errors: this.#errors,
    };
  }

  async #write(store: Store, writer: number): Promise<void> {
    const own = this.#sent[writer] as string[];
    for (let batch = 0; !this.#stopWriting; batch++) {
      const partition = (writer + batch) % this.#partitions;
      let waiting = Array.from({ length: 1 + (batch % 9) }, (_, i) => draftOf(`w${writer}-${batch}-${i}`));
      own.push(...waiting.map((draft) => draft.id));
      while (waiting.length > 0) {
        const result = await store.log.append(TOPIC, partition, waiting).catch((error: unknown) => {
          return { events: [], error: BusError.from(error) };
        });
        for (const event of result.events) this.#ack(event);
        waiting = waiting.slice(result.events.length).map((draft) => ({ ...draft, freshId: false }));
        if (result.error !== undefined) await this.#note(result.error);
      }
    }
  }

  #ack(event: StoredEvent): void {
    const nowMs = performance.now();
    this.#longestPauseMs = Math.max(this.#longestPauseMs, nowMs - this.#lastAckMs);
    this.#lastAckMs = nowMs;
    this.#acked.set(event.id, { partition: event.partition, seq: event.seq });
  }

  /** Reads one partition as a consumer near the head does, and keeps what it saw, in order (P2). */
  async #follow(store: Store, partition: number): Promise<void> {
    const seen = this.#seen[partition] as StoredEvent[];
    for (;;) {
      const stopping = this.#stopReading;
      try {
        const page = await store.log.read(TOPIC, partition, { after: seen.length, limit: 200 });
        seen.push(...page.events);
        if (page.events.length > 0) continue;
        if (stopping) return;
      } catch (error) {
        await this.#note(error);
      }
      await pause(5);
    }
  }

  /** Counts events per writer in a view, with the cursor in the same transaction: exactly once (P9). */
  async #project(store: Store, partition: number): Promise<void> {
    const ref = { ...GROUP, partition };
    const member = `projector-${partition}`;
    const session = { member, host: "test", pid: process.pid, processStart: "now" };
    for (;;) {
      try {
        await store.groups.open(session, { nowMs: Date.now(), ttlMs: TTL_MS });
        const claim = await store.groups.claim(ref, member, { nowMs: Date.now() });
        if (claim !== null && (await this.#projectUnder(store, partition, claim.epoch, claim.cursor.floor)))
          return;
      } catch (error) {
        await this.#note(error);
      }
      await pause(20);
    }
  }

  /** True at the end of the log, once nothing more comes. */
  async #projectUnder(store: Store, partition: number, epoch: number, from: Seq): Promise<boolean> {
    const ref = { ...GROUP, partition };
    for (let floor = from; ; ) {
      const stopping = this.#stopReading;
      const { events, through } = await store.log.read(TOPIC, partition, { after: floor, limit: 100 });
      if (events.length === 0) {
        if (stopping) return true;
        await pause(5);
        continue;
      }
      const counts: Record<string, number> = {};
      for (const { id } of events) counts[writerOf(id)] = (counts[writerOf(id)] ?? 0) + 1;
      await store.documents.transact({
        writes: [{ view: VIEW, writes: [{ op: "increment", key: `p${partition}`, ts: 0, by: counts }] }],
        cursor: {
          ref,
          epoch,
          expectedFloor: floor,
          cursor: { ...START_CURSOR, floor: through, mark: through },
        },
      });
      floor = through;
    }
  }

  async #note(error: unknown): Promise<void> {
    const { code, message } = BusError.from(error);
    if (code === "INTERNAL" || code === "INVALID_OPTION" || code === "CLOSED") throw error;
    this.#errors[code] = (this.#errors[code] ?? 0) + 1;
    if (process.env.PROMETHEAN_TEST_VERBOSE) console.error(code, message);
    await pause(20);
  }

  #judgeLogs(logs: readonly (readonly StoredEvent[])[]): string[] {
    const faults: string[] = [];
    const places = new Map<string, { partition: number; seq: Seq }>();
    logs.forEach((log, partition) => {
      log.forEach((event, i) => {
        if (event.seq !== i + 1)
          faults.push(`P2: partition ${partition} has seq ${event.seq} at place ${i + 1}`);
        if (places.has(event.id)) faults.push(`P3: ${event.id} is in the log twice`);
        places.set(event.id, { partition, seq: event.seq });
      });
      const seen = (this.#seen[partition] ?? []).map((event) => event.id);
      if (seen.join() !== log.map((event) => event.id).join()) {
        faults.push(
          `P2: the reader of partition ${partition} saw ${seen.length} events, other than the log's ${log.length}`,
        );
      }
    });
    for (const [id, { partition, seq }] of this.#acked) {
      const place = places.get(id);
      if (place === undefined) faults.push(`P1: ${id} was acknowledged at ${partition}:${seq} and is lost`);
      else if (place.partition !== partition || place.seq !== seq)
        faults.push(`P1: ${id} is not where it was acknowledged`);
    }
    for (const sent of this.#sent) {
      for (let partition = 0; partition < this.#partitions; partition++) {
        const order = sent.flatMap((id) =>
          places.get(id)?.partition === partition ? [places.get(id)?.seq ?? 0] : [],
        );
        if (order.some((seq, i) => i > 0 && seq < (order[i - 1] ?? 0)))
          faults.push("P2: a writer's events changed order");
      }
    }
    return faults;
  }

  async #judgeView(store: Store, logs: readonly (readonly StoredEvent[])[]): Promise<string[]> {
    const keys = logs.map((_, partition) => `p${partition}`);
    const totals = await store.documents.get(VIEW, keys);
    return logs.flatMap((log, partition) => {
      const counts: Record<string, number> = {};
      for (const { id } of log) counts[writerOf(id)] = (counts[writerOf(id)] ?? 0) + 1;
      const fields = totals.get(`p${partition}`)?.fields ?? {};
      const same = Object.entries(counts).every(([writer, n]) => fields[writer] === n);
      return same ? [] : [`P9: the view says ${JSON.stringify(fields)}, the log ${JSON.stringify(counts)}`];
    });
  }
}

function draftOf(id: string): EventDraft {
  return { id, ts: Date.now(), key: id, meta: undefined, body: jsonBody({ id }, LIMITS), freshId: true };
}

function writerOf(id: string): string {
  return id.slice(0, id.indexOf("-"));
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
