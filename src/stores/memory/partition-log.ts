/**
 * One partition's events, in segments, so that nothing costs more than a segment: trimming drops whole segments,
 * removal rewrites those it touches, `seqAt` looks at one newest time per segment and into one segment.
 *
 * Of an event whose record says everything only that is kept: whoever published it holds it anyway, and every object that stays
 * is moved twice by the collector. Who reads it later gets a new event around the same record.
 *
 * Invariants: events ascend by seq over all segments; no segment is empty; `head` never falls.
 */
import { countedSize, type EventRecord, type Seq, StoredEvent } from "../../model/event.js";
import type { Page, ReadOptions } from "../../ports/log.js";

const SEGMENT_EVENTS = 1_024;

/** What is kept of an event. */
export type Kept = EventRecord | StoredEvent;

interface Segment {
  events: Kept[];
  /** Sizes of their bodies, counted once, since an event's size may change when its text is made. */
  sizes: number[];
  bytes: number;
  maxTs: number;
}

export class PartitionLog {
  #segments: Segment[] = [];
  #head: Seq = 0;
  #events = 0;
  #bytes = 0;

  get head(): Seq {
    return this.#head;
  }

  /** The lowest seq that is present, or the next one to come. */
  get low(): Seq {
    return this.#segments[0]?.events[0]?.seq ?? this.#head + 1;
  }

  get events(): number {
    return this.#events;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Adds the event with seq `head + 1`; returns what is kept of it. */
  push(event: StoredEvent): Kept {
    let segment = this.#segments.at(-1);
    if (segment === undefined || segment.events.length >= SEGMENT_EVENTS) {
      segment = { events: [], sizes: [], bytes: 0, maxTs: event.ts };
      this.#segments.push(segment);
    }
    const kept = event.recordAlone ?? event;
    const bytes = event.size;
    segment.events.push(kept);
    segment.sizes.push(event.bodySize);
    segment.bytes += bytes;
    if (event.ts > segment.maxTs) segment.maxTs = event.ts;
    this.#head = event.seq;
    this.#events++;
    this.#bytes += bytes;
    return kept;
  }

  read({ after, limit, maxBytes = Number.POSITIVE_INFINITY }: ReadOptions): Page {
    const events: StoredEvent[] = [];
    let bytes = 0;
    for (let s = this.#segmentAbove(after); s < this.#segments.length; s++) {
      const segment = this.#segments[s] as Segment;
      for (let i = positionAbove(segment.events, after); i < segment.events.length; i++) {
        if (events.length >= limit || bytes >= maxBytes) {
          return { events, through: events.at(-1)?.seq ?? after };
        }
        const event = eventAt(segment, i);
        events.push(event);
        bytes += event.size;
      }
    }
    return { events, through: Math.max(after, this.#head) };
  }

  /** The event with this seq, if it is present. */
  at(seq: Seq): StoredEvent | undefined {
    const segment = this.#segments[this.#segmentAbove(seq - 1)];
    if (segment === undefined) return undefined;
    const i = positionAbove(segment.events, seq - 1);
    return segment.events[i]?.seq === seq ? eventAt(segment, i) : undefined;
  }

  /** What is kept of the events in (after, through]. */
  keptIn(after: Seq, through: Seq): Kept[] {
    const kept: Kept[] = [];
    for (let s = this.#segmentAbove(after); s < this.#segments.length; s++) {
      const { events } = this.#segments[s] as Segment;
      for (let i = positionAbove(events, after); i < events.length; i++) {
        const event = events[i] as Kept;
        if (event.seq > through) return kept;
        kept.push(event);
      }
    }
    return kept;
  }

  /** What is kept of the event with this id, if it is one of those in (after, through], whose ids ascend. */
  withId(id: string, after: Seq, through: Seq): Kept | undefined {
    let low = after + 1;
    let high = through;
    while (low <= high) {
      const middle = Math.floor((low + high) / 2);
      const event = this.#firstFrom(middle);
      if (event === undefined || event.seq > high || event.id > id) high = middle - 1;
      else if (event.id === id) return event;
      else low = event.seq + 1;
    }
    return undefined;
  }

  /** What is kept of the first event with this seq or a higher one. */
  #firstFrom(seq: Seq): Kept | undefined {
    const events = this.#segments[this.#segmentAbove(seq - 1)]?.events;
    return events?.[positionAbove(events, seq - 1)];
  }

  seqAt(ts: number): Seq {
    const segment = this.#segments.find((s) => s.maxTs >= ts);
    return segment?.events.find((e) => e.ts >= ts)?.seq ?? this.#head + 1;
  }

  /** Removes everything up to `through`; returns what went. */
  trim(through: Seq): Kept[] {
    const whole = this.#segmentAbove(through);
    const gone = this.#segments.splice(0, whole).flatMap((segment) => this.#uncount(segment));
    const first = this.#segments[0];
    if (first === undefined) return gone;
    const part = positionAbove(first.events, through);
    if (part > 0) {
      gone.push(...first.events.slice(0, part));
      this.#rewrite(first, (seq) => seq > through);
    }
    return gone;
  }

  /** Removes these seqs where they are present; returns what went. */
  remove(seqs: readonly Seq[]): Kept[] {
    const unwanted = new Set(seqs);
    const touched = new Set<Segment>();
    for (const seq of unwanted) {
      const segment = this.#segments[this.#segmentAbove(seq - 1)];
      if (segment !== undefined) touched.add(segment);
    }
    const gone: Kept[] = [];
    for (const segment of touched) {
      const before = gone.length;
      for (const event of segment.events) if (unwanted.has(event.seq)) gone.push(event);
      if (gone.length > before) this.#rewrite(segment, (seq) => !unwanted.has(seq));
    }
    this.#segments = this.#segments.filter((segment) => segment.events.length > 0);
    return gone;
  }

  *[Symbol.iterator](): Generator<Kept> {
    for (const segment of this.#segments) yield* segment.events;
  }

  #rewrite(segment: Segment, wanted: (seq: Seq) => boolean): void {
    const { events, sizes } = segment;
    this.#uncount(segment);
    segment.events = events.filter(({ seq }) => wanted(seq));
    segment.sizes = sizes.filter((_, i) => wanted((events[i] as Kept).seq));
    segment.bytes = 0;
    segment.maxTs = Number.NEGATIVE_INFINITY;
    for (const [i, event] of segment.events.entries()) {
      segment.bytes += countedSize(segment.sizes[i] as number, event.key);
      segment.maxTs = Math.max(segment.maxTs, event.ts);
    }
    this.#events += segment.events.length;
    this.#bytes += segment.bytes;
  }

  #uncount(segment: Segment): Kept[] {
    this.#events -= segment.events.length;
    this.#bytes -= segment.bytes;
    return segment.events;
  }

  /** Index of the first segment with an event above `seq`; their number if there is none. */
  #segmentAbove(seq: Seq): number {
    if (seq >= this.#head) return this.#segments.length;
    let low = 0;
    let high = this.#segments.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      const last = this.#segments[middle]?.events.at(-1)?.seq ?? 0;
      if (last > seq) high = middle;
      else low = middle + 1;
    }
    return low;
  }
}

function eventAt({ events, sizes }: Segment, i: number): StoredEvent {
  const kept = events[i] as Kept;
  return kept instanceof StoredEvent ? kept : StoredEvent.ofRecord(kept, sizes[i] as number);
}

/** Index of the first event above `seq` among ascending ones; their number if there is none. */
export function positionAbove(events: readonly Kept[], seq: Seq): number {
  const first = events[0]?.seq ?? 0;
  const last = events.at(-1)?.seq ?? 0;
  if (last - first === events.length - 1) return Math.min(events.length, Math.max(0, seq - first + 1));
  let low = 0;
  let high = events.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((events[middle]?.seq ?? 0) > seq) high = middle;
    else low = middle + 1;
  }
  return low;
}
