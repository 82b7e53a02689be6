/** Gathers a page of the log: skips removed ranges and what they cover, stops when it has enough bytes. */
import type { Seq, StoredEvent } from "../../model/event.js";
import type { Page } from "../../ports/log.js";
import type { EventDocument } from "./collections.js";
import { storedEvent } from "./event-document.js";

export class PageBuilder {
  full = false;
  readonly #events: StoredEvent[] = [];
  readonly #maxBytes: number;
  #through: Seq;
  #bytes = 0;
  /** End of the newest range met. */
  #removed = 0;
  readonly #after: Seq;

  constructor(after: Seq, maxBytes: number) {
    this.#after = after;
    this.#through = after;
    this.#maxBytes = maxBytes;
  }

  get untouched(): boolean {
    return this.#through === this.#after && this.#events.length === 0;
  }

  cover(to: Seq): void {
    this.#removed = Math.max(this.#removed, to);
    this.#through = Math.max(this.#through, to);
  }

  add(document: EventDocument): void {
    if (this.full) return;
    if (document.to !== undefined) this.cover(document.to);
    if (document.seq <= this.#removed) return;
    if (this.#bytes >= this.#maxBytes) {
      this.full = true;
      return;
    }
    const event = storedEvent(document);
    this.#events.push(event);
    this.#through = event.seq;
    this.#bytes += event.size;
  }

  finish(): Page {
    return { events: this.#events, through: this.#through };
  }
}
