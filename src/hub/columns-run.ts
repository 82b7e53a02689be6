/**
 * Events of one partition, handed out one after the other, as one frame with a list for each of their parts: that is less to
 * write, to send and to parse than an object for each, and one call makes the text of all of it but the payloads.
 */
import type { EventMeta, StoredEvent } from "../model/event.js";
import type { Message } from "./message-bytes.js";
import type { Around } from "./outgoing.js";

/** About what an event's seq, ts and marks take. */
const MARKS_CHARS = 20;

export class ColumnsRun {
  readonly #around: Around;
  readonly #lease: number;
  readonly #partition: number;
  readonly #ts: number;
  readonly #ids: string[] = [];
  readonly #seqs: number[] = [];
  readonly #later: number[] = [];
  readonly #keys: (string | null)[] = [];
  readonly #metas: (EventMeta | null)[] = [];
  readonly #payloads: (string | Uint8Array)[] = [];
  #hasKeys = false;
  #hasMetas = false;
  #chars = 0;

  constructor(around: Around, lease: number, event: StoredEvent) {
    this.#around = around;
    this.#lease = lease;
    this.#partition = event.partition;
    this.#ts = event.ts;
    this.#push(event);
  }

  /** About as many characters as it has. */
  get size(): number {
    return this.#chars;
  }

  /** False if it does not belong here: it begins a run of its own. */
  add(around: Around, lease: number, event: StoredEvent): boolean {
    const isNext = around === this.#around && lease === this.#lease + this.#ids.length;
    // Between times with fractions the difference may be a little off.
    const isExact = this.#ts + (event.ts - this.#ts) === event.ts;
    if (!isNext || !isExact || event.partition !== this.#partition) return false;
    this.#push(event);
    return true;
  }

  writeTo(message: Message): void {
    const { head, tail } = this.#around;
    const place = `${this.#lease},"partition":${this.#partition},"ts":${this.#ts}`;
    const lists = `,"later":[${this.#later.join()}],"seqs":[${this.#seqs.join()}],"ids":${JSON.stringify(this.#ids)}`;
    const keys = this.#hasKeys ? `,"keys":${JSON.stringify(this.#keys)}` : "";
    const metas = this.#hasMetas ? `,"metas":${JSON.stringify(this.#metas)}` : "";
    message.begin(`${head}${place}${lists}${keys}${metas},"payloads":[`);
    message.addList(this.#payloads);
    message.add(`]${tail}`);
  }

  #push({ id, seq, ts, key, meta, body }: StoredEvent): void {
    const { encoded } = body;
    this.#ids.push(id);
    this.#seqs.push(seq);
    this.#later.push(ts - this.#ts);
    this.#keys.push(key ?? null);
    this.#metas.push(meta ?? null);
    this.#payloads.push(encoded);
    if (key !== undefined) this.#hasKeys = true;
    if (meta !== undefined) this.#hasMetas = true;
    this.#chars += encoded.length + id.length + (key?.length ?? 0) + MARKS_CHARS;
  }
}
