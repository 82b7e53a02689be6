/**
 * Views keep tombstones so that a late event cannot bring a deleted document back. After a time nothing that late can
 * come any more, and whoever feeds the view removes them.
 */
import type { Clock } from "../../model/clock.js";
import type { Documents } from "../../ports/documents.js";
import { DEFAULT_TOMBSTONE_RETENTION_MS } from "../tombstone.js";

const EVERY_MS = 600_000;

export class TombstonePurge {
  readonly #documents: Documents;
  readonly #clock: Clock;
  readonly #keepMs: number;
  readonly #views = new Set<string>();
  #nextMs: number;

  constructor(documents: Documents, clock: Clock, keepMs: number = DEFAULT_TOMBSTONE_RETENTION_MS) {
    this.#documents = documents;
    this.#clock = clock;
    this.#keepMs = keepMs;
    this.#nextMs = clock.steady() + Math.min(EVERY_MS, keepMs);
  }

  /** A view that is written to. */
  watch(view: string): void {
    this.#views.add(view);
  }

  /** To be called now and then; returns how many tombstones went. Not worth a failure: the next time will do. */
  async round(): Promise<number> {
    if (this.#clock.steady() < this.#nextMs) return 0;
    this.#nextMs = this.#clock.steady() + Math.min(EVERY_MS, this.#keepMs);
    let purged = 0;
    for (const view of this.#views) {
      purged += await this.#documents.purge(view, this.#clock.now() - this.#keepMs).catch(() => 0);
    }
    return purged;
  }
}
