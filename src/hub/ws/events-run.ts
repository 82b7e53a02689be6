/**
 * Events of one partition, handed out one after the other, as one frame with a list for each of their parts: that is less to
 * write, to send and to parse than an object for each, and few calls make the text of all of it but the payloads.
 */
import type { StoredEvent } from "../../model/event.js";
import { quoted } from "../../model/quoted.js";
import type { Message } from "../message-bytes.js";
import type { Around } from "./outgoing.js";
import { Payloads } from "./payloads.js";

/** About what an event's ts and the marks around its parts take. */
const MARKS_CHARS = 12;
/** Events of a run whose parts are put together one by one. */
const FEW = 4;

export class EventsRun {
  readonly #around: Around;
  readonly #lease: number;
  readonly #first: StoredEvent;
  readonly #events: StoredEvent[] = [];
  readonly #payloads = new Payloads();
  /** Every event has the seq behind that of the one before. */
  #isDense = true;
  #hasKeys = false;
  #hasMetas = false;
  #chars = 0;

  constructor(around: Around, lease: number, event: StoredEvent) {
    this.#around = around;
    this.#lease = lease;
    this.#first = event;
    this.#push(event);
  }

  /** About as many characters as it has. */
  get size(): number {
    return this.#chars;
  }

  /** False if it does not belong here: it begins a run of its own. */
  add(around: Around, lease: number, event: StoredEvent): boolean {
    const { partition, ts } = this.#first;
    const isNext = around === this.#around && lease === this.#lease + this.#events.length;
    // Between times with fractions the difference may be a little off.
    const isExact = ts + (event.ts - ts) === event.ts;
    if (!isNext || !isExact || event.partition !== partition) return false;
    this.#push(event);
    return true;
  }

  writeTo(message: Message): void {
    const { head, tail } = this.#around;
    const { partition, seq, ts } = this.#first;
    const events = this.#events;
    let text = `${head}${this.#lease},"partition":${partition},"seq":${seq},"ts":${ts}`;
    if (events.length <= FEW && this.#isDense) text += this.#partsOfFew();
    else {
      text += `,"later":${JSON.stringify(events.map((event) => event.ts - ts))}`;
      if (!this.#isDense) text += `,"seqs":${JSON.stringify(events.map((event) => event.seq))}`;
      text += `,"ids":${JSON.stringify(events.map((event) => event.id))}`;
      if (this.#hasKeys) text += `,"keys":${JSON.stringify(events.map((event) => event.key ?? null))}`;
    }
    if (this.#hasMetas) text += `,"metas":${JSON.stringify(events.map((event) => event.meta ?? null))}`;
    message.begin(`${text},"payloads":[`);
    message.add(this.#payloads);
    message.add(`]${tail}`);
  }

  /** As for many: what goes alone is waited for, and lists take long to begin with. */
  #partsOfFew(): string {
    let later = "";
    let ids = "";
    let keys = "";
    let comma = "";
    for (const { id, key, ts } of this.#events) {
      later += `${comma}${ts - this.#first.ts}`;
      ids += `${comma}${quoted(id)}`;
      if (this.#hasKeys) keys += `${comma}${key === undefined ? "null" : quoted(key)}`;
      comma = ",";
    }
    return `,"later":[${later}],"ids":[${ids}]${this.#hasKeys ? `,"keys":[${keys}]` : ""}`;
  }

  #push(event: StoredEvent): void {
    const { id, seq, key, meta, body } = event;
    if (seq !== this.#first.seq + this.#events.length) this.#isDense = false;
    if (key !== undefined) this.#hasKeys = true;
    if (meta !== undefined) this.#hasMetas = true;
    this.#events.push(event);
    this.#chars += this.#payloads.add(body) + id.length + (key?.length ?? 0) + MARKS_CHARS;
  }
}
