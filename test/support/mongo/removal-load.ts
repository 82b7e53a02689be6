/**
 * Retention and compaction at work on topics that are written to, while servers fail. What was acknowledged is kept, and
 * judged at the end: of the trimmed topic only what its policy gave up is gone, from the beginning and without holes; of the
 * compacted one the newest event of each key is there (P11); no seq was ever given twice (P2).
 */
import type { Bus } from "../../../src/bus/bus.js";
import { createBus } from "../../../src/bus/create-bus.js";
import { BusError } from "../../../src/model/errors.js";
import type { Handle } from "../../../src/model/task.js";
import type { TopicLayout } from "../../../src/model/topic.js";
import type { Store } from "../../../src/ports/store.js";
import { compactNow, startCompactor } from "../../../src/project/history/compactor.js";
import { startRetention } from "../../../src/project/retention/retention.js";
import { storedLog } from "../kept-history.js";

const TRIMMED = "trimmed";
const COMPACTED = "compacted";
const PARTITIONS = 2;
const RETENTION_MS = 2_000;
const KEYS = 13;
const EVERY_MS = 50;

export interface RemovalReport {
  readonly published: number;
  readonly trimmed: number;
  readonly compacted: number;
  readonly errors: Readonly<Record<string, number>>;
}

interface Acked {
  readonly id: string;
  readonly key: string;
  readonly ts: number;
  readonly place: string;
  readonly seq: number;
}

export class RemovalLoad {
  readonly #bus: Bus;
  readonly #acked = { [TRIMMED]: [] as Acked[], [COMPACTED]: [] as Acked[] };
  readonly #errors: Record<string, number> = {};
  readonly #writing: Promise<void>[] = [];
  readonly #removing: Handle[] = [];
  #stopping = false;
  #failure: unknown;

  private constructor(bus: Bus) {
    this.#bus = bus;
  }

  static async start(store: Store, layout: TopicLayout): Promise<RemovalLoad> {
    const bus = await createBus({ store, onTrouble: () => undefined });
    const load = new RemovalLoad(bus);
    await bus.defineTopic({ name: TRIMMED, partitions: PARTITIONS, retentionMs: RETENTION_MS, layout });
    await bus.defineTopic({ name: COMPACTED, partitions: PARTITIONS, compaction: true, layout });
    load.#removing.push(
      startRetention(bus, { topics: [TRIMMED], everyMs: EVERY_MS }),
      // Two at once, as two processes would have them: they meet over the same partitions.
      startCompactor(bus, { topic: COMPACTED, everyMs: EVERY_MS, batchSize: 50 }),
      startCompactor(bus, { topic: COMPACTED, everyMs: EVERY_MS, snapshot: false }),
    );
    for (const topic of [TRIMMED, COMPACTED] as const) {
      const written = load.#write(topic).catch((error: unknown) => {
        load.#failure ??= error;
      });
      load.#writing.push(written);
    }
    return load;
  }

  /** For a person who asks why nothing moves. */
  get summary(): string {
    const reports = this.#bus.tasks
      .reports()
      .map(({ name, state, lastError }) => ({ name, state, lastError }));
    return `${this.#published} published, ${JSON.stringify(reports)}, errors ${JSON.stringify(this.#errors)}`;
  }

  get #published(): number {
    return this.#acked[TRIMMED].length + this.#acked[COMPACTED].length;
  }

  /** Stops, and judges; throws what is wrong. */
  async finish(): Promise<RemovalReport> {
    this.#stopping = true;
    await Promise.all(this.#writing);
    if (this.#failure !== undefined) throw this.#failure;
    const [retention, ...compactors] = this.#removing as [Handle, ...Handle[]];
    await retention.stop();
    const lastTrimMs = Date.now();
    await Promise.all(compactors.map((compactor) => compactor.stop()));
    await compactNow(this.#bus, { topic: COMPACTED });
    const trimmed = await this.#judgeTrimmed(lastTrimMs);
    const compacted = await this.#judgeCompacted();
    const faults = [...trimmed.faults, ...compacted.faults];
    if (faults.length > 0) throw new Error(`${faults.length} faults:\n${faults.slice(0, 20).join("\n")}`);
    return {
      published: this.#published,
      trimmed: trimmed.gone,
      compacted: compacted.gone,
      errors: this.#errors,
    };
  }

  close(): Promise<void> {
    return this.#bus.close();
  }

  async #write(topic: typeof TRIMMED | typeof COMPACTED): Promise<void> {
    for (let n = 0; !this.#stopping; ) {
      await Promise.all(Array.from({ length: 1 + (n % 7) }, () => this.#publish(topic, n++)));
    }
  }

  /** Until it is answered ok: the same id again is harmless (P3). */
  async #publish(topic: typeof TRIMMED | typeof COMPACTED, n: number): Promise<void> {
    const [id, key, ts] = [`${topic}-${n}`, `k${n % KEYS}`, Date.now()];
    for (;;) {
      try {
        const { partition, seq } = await this.#bus.publish(topic, { n }, { id, key, ts });
        this.#acked[topic].push({ id, key, ts, place: `${partition}:${seq}`, seq });
        return;
      } catch (error) {
        const { code, retryable } = BusError.from(error);
        if (!retryable) throw error;
        this.#errors[code] = (this.#errors[code] ?? 0) + 1;
      }
    }
  }

  /** What is gone stands at the beginning and was old enough; what is left has no holes. */
  async #judgeTrimmed(lastTrimMs: number): Promise<{ faults: string[]; gone: number }> {
    const acked = this.#acked[TRIMMED];
    const faults = twiceGiven(acked);
    const left = new Set<string>();
    for (const { partition, low, head } of await this.#bus.store.log.heads(TRIMMED)) {
      const events = await storedLog(this.#bus.store, TRIMMED, partition);
      events.forEach(({ seq, id }, i) => {
        if (seq !== low + i)
          faults.push(`P2: ${TRIMMED} ${partition} has seq ${seq} where ${low + i} should be`);
        left.add(`${id} ${partition}:${seq}`);
      });
      if (low + events.length - 1 !== head)
        faults.push(`P2: ${TRIMMED} ${partition} ends at ${low + events.length - 1}, and says ${head}`);
    }
    const gone = acked.filter(({ id, place }) => !left.has(`${id} ${place}`));
    for (const { id, ts, place } of gone) {
      if (ts >= lastTrimMs - RETENTION_MS)
        faults.push(`P1: ${id} at ${place} was too young to be trimmed, and is gone`);
    }
    return { faults, gone: gone.length };
  }

  /** Of each key the event that was acknowledged last in the log is there, and nothing else of it. */
  async #judgeCompacted(): Promise<{ faults: string[]; gone: number }> {
    const acked = this.#acked[COMPACTED];
    const faults = twiceGiven(acked);
    const newest = new Map<string, Acked>();
    for (const event of acked)
      if (event.seq > (newest.get(event.key)?.seq ?? 0)) newest.set(event.key, event);
    let left = 0;
    for (let partition = 0; partition < PARTITIONS; partition++) {
      for (const { id, key = "", seq } of await storedLog(this.#bus.store, COMPACTED, partition)) {
        left++;
        const expected = newest.get(key);
        if (expected?.id !== id || expected.place !== `${partition}:${seq}`)
          faults.push(
            `P11: of ${key} there is ${id} at ${partition}:${seq}, not ${expected?.id} at ${expected?.place}`,
          );
      }
    }
    if (left !== newest.size) faults.push(`P11: ${newest.size} keys, but ${left} events after compaction`);
    return { faults, gone: acked.length - left };
  }
}

function twiceGiven(acked: readonly Acked[]): string[] {
  const places = new Map<string, string>();
  const faults: string[] = [];
  for (const { id, place } of acked) {
    const other = places.get(place);
    if (other !== undefined) faults.push(`P2: ${place} was given to ${other} and to ${id}`);
    places.set(place, id);
  }
  return faults;
}
