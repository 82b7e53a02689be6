/** The audit is kept for a time: what runs for years, or skips much, would fill the store with it (P13). */
import type { Host } from "../host.js";

const EVERY_MS = 3_600_000;

export class AuditRetention {
  readonly #host: Host;
  readonly #keepMs: number;
  /** On the steady clock. */
  #nextMs = 0;

  constructor(host: Host, keepMs: number) {
    this.#host = host;
    this.#keepMs = keepMs;
  }

  /** Forgets what is too old, once an hour. */
  async round(signal: AbortSignal): Promise<void> {
    const { clock, store } = this.#host;
    if (clock.steady() < this.#nextMs) return;
    const beforeMs = clock.now() - this.#keepMs;
    let forgotten = 1;
    while (forgotten > 0 && !signal.aborted) forgotten = await store.registry.trimAudits({ beforeMs });
    this.#nextMs = clock.steady() + Math.min(EVERY_MS, this.#keepMs);
  }
}
