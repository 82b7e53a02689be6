/**
 * A steady number of events a second, published and consumed by one process for as long as is wanted, with projectors in
 * this process and in another that share a group. What is kept of an event to judge it by is one byte, so a heap that
 * grows is not the judge's own.
 */
import type { Bus } from "../../src/bus/bus.js";
import type { EventRecord } from "../../src/model/event.js";
import type { DeliveryContext } from "../../src/model/event-bus.js";
import { deadLetterTopic } from "../../src/model/topic.js";
import { openWork, pause, untilAnswered } from "./bus-load.js";
import type { Tally } from "./report.js";
import { countingProjector, STEADY } from "./steady-projector.js";

const CONSUMERS = "consumers";
const KEYS = 101;
const TICK_MS = 5;
/** While nothing is answered, this many wait; the pace is made up for afterwards. */
const MAX_UNANSWERED = 4_096;
const DRAIN_MS = 120_000;
const PAGE = 1_000;

/** What is known of an event, by its number. */
const ACKED = 1;
const TRIED = 2;
const DELIVERED = 4;
const LOGGED = 8;

export class SteadyLoad {
  readonly #bus: Bus;
  readonly #tally: Tally;
  readonly #perSecond: number;
  readonly #lastSeqOfKey = new Map<string, number>();
  readonly #unanswered = new Set<Promise<void>>();
  readonly #errors: Record<string, number> = {};
  #known = new Uint8Array(1 << 16);
  #asked = 0;
  #acked = 0;
  #delivered = 0;
  #redelivered = 0;
  #lastAckMs = performance.now();
  #longestPauseMs = 0;
  #pacing: Promise<void> | null = null;
  #isStopping = false;

  constructor(bus: Bus, tally: Tally, perSecond: number) {
    this.#bus = bus;
    this.#tally = tally;
    this.#perSecond = perSecond;
  }

  get acked(): number {
    return this.#acked;
  }

  async start(): Promise<void> {
    await this.#bus.defineTopic({ name: STEADY.topic, partitions: STEADY.partitions });
    await this.#bus.subscribe(STEADY.topic, CONSUMERS, (event, ctx) => this.#handle(event, ctx), {
      ...{ from: "earliest", maxAttempts: 1_000, retry: { baseMs: 1, maxMs: 20 } },
    });
    await countingProjector(this.#bus);
    this.#pacing = this.#pace();
  }

  /** Waits until this many more publishes were acknowledged. */
  async progress(events: number, withinMs = 60_000): Promise<void> {
    const goal = this.#acked + events;
    const startMs = performance.now();
    while (this.#acked < goal) {
      if (performance.now() - startMs > withinMs)
        throw new Error(`publishing did not go on within ${withinMs} ms: ${JSON.stringify(this.#errors)}`);
      await pause(10);
    }
  }

  /** Stops publishing, lets the groups come to the end, and judges. */
  async finish(): Promise<void> {
    this.#isStopping = true;
    await this.#pacing;
    await Promise.all(this.#unanswered);
    await this.#drain();
    const counts = await this.#judgeLog();
    await this.#judgeView(counts);
    await this.#judgeDeadLetters();
    this.#tally.checked("publishes acknowledged", this.#acked);
    this.#tally.checked("events delivered", this.#delivered);
    this.#tally.checked("events redelivered, marked", this.#redelivered);
    this.#tally.note(`longest pause of publishing ${Math.round(this.#longestPauseMs)} ms`);
    if (Object.keys(this.#errors).length > 0)
      this.#tally.note(`publishers were told: ${JSON.stringify(this.#errors)}`);
  }

  async #pace(): Promise<void> {
    const startMs = performance.now();
    while (!this.#isStopping) {
      const due = Math.floor(((performance.now() - startMs) * this.#perSecond) / 1_000);
      while (this.#asked < due && this.#unanswered.size < MAX_UNANSWERED) this.#ask(this.#asked++);
      await pause(TICK_MS);
    }
  }

  #ask(n: number): void {
    const answered: Promise<void> = this.#publish(n).finally(() => this.#unanswered.delete(answered));
    this.#unanswered.add(answered);
  }

  /** Until it is answered ok: the same id again is harmless (P3). */
  async #publish(n: number): Promise<void> {
    const payload = { n, at: Date.now() };
    const published = await untilAnswered(
      () => this.#bus.publish(STEADY.topic, payload, { id: `e${n}`, key: `k${n % KEYS}` }),
      this.#errors,
      (error) => this.#tally.anomaly("unexpected-error", `publish of e${n}: ${error}`),
    );
    if (published === undefined) return;
    this.#know(n, ACKED);
    this.#ack();
  }

  #ack(): void {
    const nowMs = performance.now();
    this.#longestPauseMs = Math.max(this.#longestPauseMs, nowMs - this.#lastAckMs);
    this.#lastAckMs = nowMs;
    this.#acked++;
  }

  /** Now and then a handler fails: redelivery is part of the load. */
  #handle(event: EventRecord, { attempt }: DeliveryContext): void {
    const { n } = event.payload as { n: number };
    const known = this.#know(n, attempt === 1 ? TRIED : 0);
    if (attempt === 1 && (known & TRIED) !== 0)
      this.#tally.anomaly("duplicate-without-attempt", `e${n} came twice as attempt 1`);
    if ((known & (TRIED | DELIVERED)) === 0) this.#judgeOrder(event);
    else this.#redelivered++;
    if (event.seq % 997 === 0 && attempt === 1) throw new Error("this one fails once");
    if ((this.#know(n, DELIVERED) & DELIVERED) === 0) this.#delivered++;
  }

  #judgeOrder({ key = "-", seq }: EventRecord): void {
    const before = this.#lastSeqOfKey.get(key) ?? 0;
    if (seq < before)
      this.#tally.anomaly("key-order", `${key}: seq ${seq} was first delivered after seq ${before}`);
    else this.#lastSeqOfKey.set(key, seq);
  }

  /** Adds to what is known of an event; what was known before. */
  #know(n: number, bit: number): number {
    if (n >= this.#known.length) {
      const larger = new Uint8Array(Math.max(this.#known.length * 2, n + 1));
      larger.set(this.#known);
      this.#known = larger;
    }
    const before = this.#known[n] ?? 0;
    this.#known[n] = before | bit;
    return before;
  }

  async #drain(): Promise<void> {
    const { store, clock } = this.#bus;
    const work = { topic: STEADY.topic, groups: [CONSUMERS, STEADY.group] };
    const deadlineMs = performance.now() + DRAIN_MS;
    for (;;) {
      const open = await openWork(store, work, clock.now()).catch((error: unknown) => [String(error)]);
      if (open.length === 0) return;
      if (performance.now() > deadlineMs) {
        this.#tally.anomaly("stalled", `${DRAIN_MS} ms after the last fault: ${open.join("; ")}`);
        return;
      }
      await pause(50);
    }
  }

  /** Dense, nothing twice, everything that was acknowledged, everything delivered; how many events each key has. */
  async #judgeLog(): Promise<Map<string, number>> {
    const counts = new Map<string, number>();
    for (let partition = 0; partition < STEADY.partitions; partition++) {
      for (let after = 0; ; ) {
        const page = await this.#bus.store.log.read(STEADY.topic, partition, { after, limit: PAGE });
        if (page.through === after) break;
        if (page.events.length !== page.through - after)
          this.#tally.anomaly("gap", `partition ${partition} after ${after}: ${page.events.length} events`);
        for (const { id, key = "-" } of page.events) {
          counts.set(key, (counts.get(key) ?? 0) + 1);
          if ((this.#know(Number(id.slice(1)), LOGGED) & LOGGED) !== 0)
            this.#tally.anomaly("duplicate", `${id} is in the log twice`);
        }
        after = page.through;
      }
    }
    for (let n = 0; n < this.#asked; n++) {
      const known = this.#known[n] ?? 0;
      if ((known & (ACKED | LOGGED)) === ACKED)
        this.#tally.anomaly("lost", `e${n} was acknowledged and is not in the log`);
      if ((known & (LOGGED | DELIVERED)) === LOGGED) this.#tally.anomaly("lost", `e${n} was never delivered`);
    }
    return counts;
  }

  async #judgeView(counts: ReadonlyMap<string, number>): Promise<void> {
    const { documents } = await this.#bus.store.documents.find(STEADY.view, { limit: 2 * KEYS });
    if (documents.length !== counts.size)
      this.#tally.anomaly("view", `${documents.length} documents for ${counts.size} keys`);
    for (const { key, fields } of documents)
      if (fields.count !== counts.get(key))
        this.#tally.anomaly("view", `${key} was counted ${fields.count} times of ${counts.get(key)}`);
    this.#tally.checked(
      "effects counted exactly once",
      [...counts.values()].reduce((sum, n) => sum + n, 0),
    );
  }

  async #judgeDeadLetters(): Promise<void> {
    const { store } = this.#bus;
    const letters = await store.registry.topic(deadLetterTopic(STEADY.topic));
    for (const { events } of letters === null ? [] : await store.log.heads(letters.name))
      if (events > 0) this.#tally.anomaly("dlq-early", `${events} events were dead-lettered`);
  }
}
