/** The event: as people see it (EventRecord), as it goes into a store (EventDraft), as it comes out (StoredEvent). */
import { JsonBody } from "./json.js";
import { keepShape } from "./kept-shapes.js";

/** Position in a partition: 1, 2, 3 … in commit order (P2). 0 stands for "before the first". */
export type Seq = number;

/** An event. Immutable: groups share it. */
export interface EventRecord<T = unknown> {
  /** UUIDv7 unless the publisher chose another; the idempotency key (P3). */
  readonly id: string;
  readonly topic: string;
  readonly partition: number;
  readonly seq: Seq;
  /** The publisher's clock: for people, retention and "from ts", never for order. */
  readonly ts: number;
  readonly key?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly payload: T;
  readonly caused_by?: readonly string[];
  readonly tags?: readonly string[];
  readonly sid?: string;
}

/** The parts of an event that few events have. */
export interface EventMeta {
  readonly headers?: Readonly<Record<string, string>>;
  readonly caused_by?: readonly string[];
  readonly tags?: readonly string[];
  readonly sid?: string;
}

/** An event on its way into the log: all but its place. */
export interface EventDraft {
  readonly id: string;
  readonly ts: number;
  readonly key: string | undefined;
  readonly meta: EventMeta | undefined;
  readonly body: JsonBody;
  /**
   * True if this bus made the id just now and hands it to the store for the first time: it cannot be in the store
   * yet, so a driver may skip the look-up of P3. A retry after an unknown outcome is never fresh.
   */
  readonly freshId: boolean;
  /** Where a driver keeps what it has made ahead of drafts that end with this one (`Log.prepare`); says nothing of the event. */
  ahead?: object | undefined;
}

/**
 * An event in the log. The payload stays in the form it came in until somebody looks. One that is nothing but a value is kept in
 * the record alone: whoever published it is given that anyway.
 */
export class StoredEvent {
  readonly id: string;
  readonly topic: string;
  readonly partition: number;
  readonly seq: Seq;
  readonly ts: number;
  readonly key: string | undefined;
  readonly meta: EventMeta | undefined;
  /** Without one there is a record, and the size that the body had. */
  #body: JsonBody | undefined;
  #record: EventRecord | undefined;
  readonly #size: number;
  #json: string | undefined;
  /** Where whoever delivers it found a place for it last (consume/lane-set.ts); says nothing of the event. */
  lane: object | null = null;

  /** `record`: of the same event, if it is at hand. */
  constructor(
    topic: string,
    partition: number,
    seq: Seq,
    draft: Omit<EventDraft, "freshId">,
    record?: EventRecord,
  ) {
    this.id = draft.id;
    this.topic = topic;
    this.partition = partition;
    this.seq = seq;
    this.ts = draft.ts;
    this.key = draft.key;
    this.meta = draft.meta;
    const { body } = draft;
    const value = body.valueAlone;
    this.#size = body.size;
    if (value === undefined) this.#body = body;
    else this.#record = record ?? this.#makeRecord(value);
  }

  /** An event again, of its `recordAlone` and the `bodySize` it had then. */
  static ofRecord(record: EventRecord, bodySize: number): StoredEvent {
    const { id, topic, partition, seq, ts, key, payload } = record;
    const body = JsonBody.ofFrozen(payload, bodySize);
    return new StoredEvent(topic, partition, seq, { id, ts, key, meta: undefined, body }, record);
  }

  /** Its record, if that says everything: then it is enough to keep that. Else undefined. */
  get recordAlone(): EventRecord | undefined {
    return this.#body === undefined && this.meta === undefined ? this.#record : undefined;
  }

  get bodySize(): number {
    return this.#body?.size ?? this.#size;
  }

  get body(): JsonBody {
    this.#body ??= JsonBody.ofFrozen(this.#record?.payload, this.#size);
    return this.#body;
  }

  /** Bytes this event is counted as where bytes are bounded. */
  get size(): number {
    return countedSize(this.bodySize, this.key);
  }

  /** The event as JSON text, for those who pass it on; the payload's own text is not made anew. */
  get json(): string {
    this.#json ??= `${this.#jsonHead()}${this.body.text}}`;
    return this.#json;
  }

  /** What of that stands before the payload. */
  #jsonHead(): string {
    const { meta, key } = this;
    const place = `${placeHead(this.topic, this.partition)}${this.seq}${tsMember(this.ts)}`;
    const keyed = key === undefined ? "" : `,"key":${quoted(key)}`;
    const rest = meta === undefined ? "" : JSON.stringify(meta).slice(1, -1);
    return `{"id":${quoted(this.id)}${place}${keyed}${rest === "" ? "" : `,${rest}`},"payload":`;
  }

  /** The event as handlers see it: one frozen object for all of them. */
  get record(): EventRecord {
    this.#record ??= this.#makeRecord(this.body.value);
    return this.#record;
  }

  #makeRecord(payload: unknown): EventRecord {
    const { id, topic, partition, seq, ts, key, meta } = this;
    if (meta !== undefined) {
      const keyed = key === undefined ? undefined : { key };
      return Object.freeze({ id, topic, partition, seq, ts, ...keyed, ...meta, payload });
    }
    return Object.freeze(
      key === undefined
        ? { id, topic, partition, seq, ts, payload }
        : { id, topic, partition, seq, ts, key, payload },
    );
  }
}

// V8 makes a box of its own for the time in each object, unless the field has once held something else than a number: then all that
// got their time from one reading of the clock share its box, which is 16 bytes less for each event in the log, and as many on its way.
for (const key of [undefined, ""]) {
  const draft = { id: "", ts: undefined as never, key, meta: undefined, body: JsonBody.ofText("0") };
  const event = new StoredEvent("", 0, 0, draft);
  keepShape(event);
  keepShape(event.record);
}

/** What an event is counted as that has a body of this size. */
export function countedSize(bodySize: number, key: string | undefined): number {
  return bodySize + (key?.length ?? 0) + 120;
}

/** Nothing in it that JSON writes in another way than it is. */
const PLAIN = /^[\w.:/-]*$/;

/** As JSON.stringify, in less time for most ids and keys. */
function quoted(text: string): string {
  return PLAIN.test(text) ? `"${text}"` : JSON.stringify(text);
}

// Events that are passed on one after the other are mostly of one partition and of the same few milliseconds, and a text for a time
// takes longer to make than all the others.
let lastTopic: string | undefined;
let lastPartition = -1;
let lastPlaceHead = "";
let lastTs = Number.NaN;
let lastTsMember = "";

function placeHead(topic: string, partition: number): string {
  if (topic !== lastTopic || partition !== lastPartition) {
    lastTopic = topic;
    lastPartition = partition;
    lastPlaceHead = `,"topic":"${topic}","partition":${partition},"seq":`;
  }
  return lastPlaceHead;
}

function tsMember(ts: number): string {
  if (ts !== lastTs) {
    lastTs = ts;
    lastTsMember = `,"ts":${ts}`;
  }
  return lastTsMember;
}

/** Whether a second publish under the same id says the same thing (P3): topic, key and payload count. */
export function saysTheSame(event: StoredEvent, topic: string, draft: EventDraft): boolean {
  return event.topic === topic && event.key === draft.key && event.body.equals(draft.body);
}
