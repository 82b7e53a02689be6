/**
 * A topic that is written to, removed, written to again: some removals are stopped midway and taken up again, some run
 * beside a publish. Says of each call what it is about to do, and what was answered.
 */
import type { Bus } from "../../src/bus/bus.js";
import { BusError } from "../../src/model/errors.js";
import { type DiskLine, PASSING, PASSING_GROUP, PASSING_LETTERS, PASSING_PARTITIONS } from "./disk-names.js";

export const PASSING_TOPIC = { name: PASSING, partitions: PASSING_PARTITIONS };

export class PassingTopic {
  readonly #tell: (line: DiskLine) => void;
  readonly #newId: ((n: number) => string) | undefined;
  #n = 0;
  #removals = 0;

  /** `newId`: unless given, ids come again once what had them was removed. */
  constructor(tell: (line: DiskLine) => void, newId?: () => string) {
    this.#tell = tell;
    this.#newId = newId;
  }

  /** Some events, one to a partition or more; and what goes with them when the topic does. */
  async fill(bus: Bus): Promise<void> {
    await Promise.all(Array.from({ length: 2 * PASSING_PARTITIONS }, () => this.publish(bus)));
    await this.#attempt("letter", () => bus.publish(PASSING_LETTERS, { n: this.#n }));
    await this.#attempt("group", () => bus.setCursor(PASSING, PASSING_GROUP, "earliest"));
  }

  /** Whether it was acknowledged. */
  publish(bus: Bus): Promise<boolean> {
    const n = ++this.#n;
    const id = this.#newId?.(n) ?? `p${n}`;
    this.#tell({ passing: "asked" });
    return this.#attempt(id, async () => {
      const payload = { n, text: "y".repeat((n * 53) % 1_500) };
      const { partition, seq } = await bus.publish(PASSING, payload, { id, key: `k${n % 11}` });
      this.#tell({ passing: "acked", id, partition, seq });
    });
  }

  /** Every second one is stopped once something is gone, and taken up again; every third one has company. */
  async remove(bus: Bus): Promise<void> {
    const isLonely = this.#removals++ % 3 !== 2;
    const beside = isLonely ? undefined : this.publish(bus);
    if (this.#removals % 2 === 0) await this.#removeOnce(bus, { isStopped: true });
    await this.#removeOnce(bus);
    await beside;
  }

  /** Until it is gone. */
  async insist(bus: Bus, tries: number): Promise<boolean> {
    for (let i = 0; i < tries; i++) if (await this.#removeOnce(bus)) return true;
    return false;
  }

  /** Whether it is gone. */
  async #removeOnce(bus: Bus, { isStopped = false } = {}): Promise<boolean> {
    const over = new AbortController();
    const onProgress = ({ events }: { events: number }): void => {
      if (isStopped && events > 1) over.abort();
    };
    this.#tell({ passing: "removing" });
    try {
      await bus.admin.removeTopic(PASSING, { signal: over.signal, onProgress });
    } catch (error) {
      const { code } = BusError.from(error);
      // Of one whose answer was lost.
      if (code !== "NOT_FOUND") {
        this.#tell({ passing: "kept", code });
        return false;
      }
    }
    this.#tell({ passing: "removed" });
    this.#n = 0;
    return true;
  }

  async #attempt(id: string, call: () => Promise<unknown>): Promise<boolean> {
    try {
      await call();
      return true;
    } catch (error) {
      this.#tell({ failed: BusError.from(error).code, id });
      return false;
    }
  }
}
