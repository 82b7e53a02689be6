/**
 * Publish, consume and projection load on buses of one store while something goes wrong around them; then the judgement:
 * nothing acknowledged is lost (P1), seqs are dense (P2), ids unique (P3), each key in order (P4), no second delivery
 * unmarked (P5), the view is what its log says (P9), and once the faults are over everything is settled (P15).
 */
import type { Bus } from "../../src/bus/bus.js";
import { BusError, type ErrorCode } from "../../src/model/errors.js";
import type { EventRecord } from "../../src/model/event.js";
import type { DeliveryContext } from "../../src/model/event-bus.js";
import { deadLetterTopic } from "../../src/model/topic.js";
import type { Store } from "../../src/ports/store.js";
import { startTransactionalProjector } from "../../src/project/views/transactional.js";
import { checkHistory, type HistoryEvent } from "../../src/testing/history/index.js";
import { countByKey, wholeLog } from "../support/kept-history.js";
import type { FaultAnomaly } from "./report.js";

const TOPIC = "load";
const CONSUMERS = "consumers";
const PROJECTION = "projection";
const VIEW = "counts";
const WORK = { topic: TOPIC, groups: [CONSUMERS, PROJECTION] };
const KEYS = 11;
const DRAIN_MS = 90_000;
/** Codes that a fault of the store's surroundings explains; any other is a bug. */
const EXPECTED: readonly ErrorCode[] = [
  "STORE_UNAVAILABLE",
  "OUTCOME_UNKNOWN",
  "STORE_LOCKED",
  "STORE_FULL",
  "WRITE_CONFLICT",
  "LEASE_LOST",
];

/**
 * Asks until it is answered ok, through errors that a fault explains; these are counted by code. At any other it tells and
 * gives up.
 */
export async function untilAnswered<T>(
  ask: () => Promise<T>,
  errors: Record<string, number>,
  tell: (unexpected: string) => void,
): Promise<T | undefined> {
  for (;;) {
    try {
      return await ask();
    } catch (error) {
      const { code, message } = BusError.from(error);
      errors[code] = (errors[code] ?? 0) + 1;
      if (!EXPECTED.includes(code)) {
        tell(`${code} ${message}`);
        return undefined;
      }
      await pause(20);
    }
  }
}

export interface LoadVerdict {
  readonly acked: number;
  readonly logged: number;
  readonly delivered: number;
  readonly redelivered: number;
  readonly longestPauseMs: number;
  readonly errors: Readonly<Record<string, number>>;
  readonly anomalies: readonly FaultAnomaly[];
}

interface Delivered {
  readonly place: string;
  readonly key: string;
  readonly seq: number;
  readonly attempt: number;
}

export class BusLoad {
  readonly #buses: readonly Bus[];
  readonly #partitions: number;
  readonly #name: string;
  readonly #history: HistoryEvent[] = [];
  readonly #delivered: Delivered[] = [];
  readonly #errors: Record<string, number> = {};
  readonly #unexpected: FaultAnomaly[] = [];
  readonly #writing: Promise<void>[] = [];
  #ops = 0;
  #acked = 0;
  #stopping = false;
  #lastAckMs = performance.now();
  #longestPauseMs = 0;

  /** `name` keeps the ids of several loads on one store apart. */
  constructor(buses: readonly Bus[], o: { partitions?: number; name?: string } = {}) {
    this.#buses = buses;
    this.#partitions = o.partitions ?? 2;
    this.#name = o.name ?? "load";
  }

  get acked(): number {
    return this.#acked;
  }

  /** For a person who asks why nothing moves. */
  get summary(): string {
    const idleMs = Math.round(performance.now() - this.#lastAckMs);
    return `${this.#acked} acked, the last ${idleMs} ms ago, ${this.#delivered.length} deliveries, errors ${JSON.stringify(this.#errors)}`;
  }

  async start(): Promise<void> {
    const [first] = this.#buses as readonly [Bus];
    await first.defineTopic({ name: TOPIC, partitions: this.#partitions });
    for (const [i, bus] of this.#buses.entries()) {
      await bus.subscribe(TOPIC, CONSUMERS, (event, ctx) => this.#handle(event, ctx), {
        from: "earliest",
        maxAttempts: 1_000,
        retry: { baseMs: 1, maxMs: 20 },
      });
      this.#writing.push(this.#write(bus, i));
    }
    await startTransactionalProjector(this.#buses.at(-1) as Bus, {
      topic: TOPIC,
      group: PROJECTION,
      from: "earliest",
      maxAttempts: 1_000,
      handler: async (events, tx) => {
        for (const { key } of events) await tx.view(VIEW).inc(key ?? "-", { count: 1 });
      },
    });
  }

  /** Waits until this many more publishes were acknowledged; how long that took. */
  async progress(events: number, withinMs = 60_000): Promise<number> {
    const goal = this.#acked + events;
    const startMs = performance.now();
    while (this.#acked < goal) {
      if (performance.now() - startMs > withinMs)
        throw new Error(`publishing did not go on within ${withinMs} ms: ${this.summary}`);
      await pause(10);
    }
    return Math.round(performance.now() - startMs);
  }

  /** Stops publishing, lets the groups come to the end, and judges. */
  async finish(): Promise<LoadVerdict> {
    this.#stopping = true;
    await Promise.all(this.#writing);
    const { store, clock } = this.#buses[0] as Bus;
    await this.#drain(store, () => clock.now());
    await this.#dump(store, clock.now());
    const firsts = new Map<string, Delivered>();
    const anomalies: FaultAnomaly[] = [
      ...this.#unexpected,
      ...checkHistory(this.#history, { views: { [VIEW]: countByKey } }),
      ...this.#judgeDeliveries(firsts),
    ];
    const logged = this.#history.reduce((sum, e) => sum + (e.type === "log" ? e.events.length : 0), 0);
    if (firsts.size !== logged)
      anomalies.push({ class: "lost", says: `${logged - firsts.size} events were never delivered` });
    return {
      acked: this.#acked,
      logged,
      delivered: firsts.size,
      redelivered: this.#delivered.length - firsts.size,
      longestPauseMs: Math.round(this.#longestPauseMs),
      errors: this.#errors,
      anomalies,
    };
  }

  /** Now and then a handler fails: redelivery is part of the load. */
  #handle(event: EventRecord, ctx: DeliveryContext): void {
    const { partition, seq, key = "-" } = event;
    this.#delivered.push({ place: `${partition}:${seq}`, key, seq, attempt: ctx.attempt });
    if (seq % 41 === 0 && ctx.attempt === 1) throw new Error("this one fails once");
  }

  async #write(bus: Bus, writer: number): Promise<void> {
    for (let n = 0; !this.#stopping; ) {
      const batch = Array.from({ length: 1 + (n % 9) }, () => this.#publish(bus, writer, n++));
      await Promise.all(batch);
    }
  }

  /** Until it is answered ok: the same id again is harmless (P3). */
  async #publish(bus: Bus, writer: number, n: number): Promise<void> {
    const op = ++this.#ops;
    const id = `${this.#name}-${writer}-${n}`;
    const key = `k${n % KEYS}`;
    this.#history.push({
      type: "publish-asked",
      ...{ op, producer: `${this.#name}-${writer}-${n}`, topic: TOPIC, id, key },
    });
    const published = await untilAnswered(
      () => bus.publish(TOPIC, { n, writer }, { id, key }),
      this.#errors,
      (error) => this.#unexpected.push({ class: "unexpected-error", says: `publish of ${id}: ${error}` }),
    );
    if (published === undefined) return;
    const { partition, seq, duplicate = false } = published;
    this.#history.push({ type: "publish-ok", op, partition, seq, duplicate });
    this.#ack();
  }

  #ack(): void {
    const nowMs = performance.now();
    this.#longestPauseMs = Math.max(this.#longestPauseMs, nowMs - this.#lastAckMs);
    this.#lastAckMs = nowMs;
    this.#acked++;
  }

  async #drain(store: Store, now: () => number): Promise<void> {
    const deadlineMs = performance.now() + DRAIN_MS;
    let waiting = "";
    while (performance.now() < deadlineMs) {
      const open = await openWork(store, WORK, now()).catch((error: unknown) => [String(error)]);
      if (open.length === 0) {
        this.#history.push({ type: "faults-ended" });
        return;
      }
      waiting = open.join("; ");
      await pause(50);
    }
    this.#history.push({ type: "stalled", waiting: `${DRAIN_MS} ms after the last fault: ${waiting}` });
  }

  async #dump(store: Store, nowMs: number): Promise<void> {
    for (let partition = 0; partition < this.#partitions; partition++) {
      const events = await wholeLog(store, TOPIC, partition);
      this.#history.push({ type: "log", topic: TOPIC, partition, events });
    }
    const letters = await store.registry.topic(deadLetterTopic(TOPIC));
    const dead = letters === null ? [] : await store.log.heads(letters.name);
    for (const { events } of dead)
      if (events > 0)
        this.#unexpected.push({ class: "dlq-early", says: `${events} events were dead-lettered` });
    for (const group of [CONSUMERS, PROJECTION]) {
      const state = await store.groups.state({ topic: TOPIC, group }, { nowMs });
      for (const { partition, epoch, cursor } of state?.leases ?? [])
        this.#history.push({ type: "cursor", group, topic: TOPIC, partition, epoch, cursor });
    }
    const { documents } = await store.documents.find(VIEW, { limit: 1_000 });
    this.#history.push({
      type: "view",
      view: VIEW,
      documents: Object.fromEntries(documents.map(({ key, fields }) => [key, fields])),
    });
  }

  #judgeDeliveries(firsts: Map<string, Delivered>): FaultAnomaly[] {
    const anomalies: FaultAnomaly[] = [];
    const lastOfKey = new Map<string, number>();
    const firstTries = new Set<string>();
    for (const delivery of this.#delivered) {
      const { place, key, seq, attempt } = delivery;
      if (attempt === 1 && firstTries.has(place))
        anomalies.push({ class: "duplicate-without-attempt", says: `${place} came twice as attempt 1` });
      if (attempt === 1) firstTries.add(place);
      if (firsts.has(place)) continue;
      firsts.set(place, delivery);
      const before = lastOfKey.get(key) ?? 0;
      if (seq < before)
        anomalies.push({
          class: "key-order",
          says: `${key}: ${place} was first delivered after seq ${before}`,
        });
      lastOfKey.set(key, Math.max(before, seq));
    }
    return anomalies;
  }
}

/** What groups have not settled yet, in words. */
export async function openWork(
  store: Store,
  { topic, groups }: { readonly topic: string; readonly groups: readonly string[] },
  nowMs: number,
): Promise<string[]> {
  const heads = await store.log.heads(topic);
  const open: string[] = [];
  for (const group of groups) {
    const state = await store.groups.state({ topic, group }, { nowMs });
    for (const { partition, head } of heads) {
      const floor = state?.leases.find((lease) => lease.partition === partition)?.cursor.floor ?? 0;
      if (floor < head) open.push(`${group} is at ${floor} of ${head} in partition ${partition}`);
    }
  }
  return open;
}

export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
