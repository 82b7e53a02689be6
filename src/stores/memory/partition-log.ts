/**
 * One partition's events, in segments, so that nothing costs more than a segment: trimming drops whole segments,
 * removal rewrites those it touches, `seqAt` looks at one newest time per segment and into one segment.
 *
 * Invariants: events ascend by seq over all segments; no segment is empty; `head` never falls.
 */
import type { Seq, StoredEvent } from "../../model/event.js";
import type { Page, ReadOptions } from "../../ports/log.js";

const SEGMENT_EVENTS = 1_024;

interface Segment {
  events: StoredEvent[];
  /** Counted once, since an event's size may change when its text is made. */
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

  /** Adds the event with seq `head + 1`. */
  push(event: StoredEvent): void {
    let segment = this.#segments.at(-1);
    if (segment === undefined || segment.events.length >= SEGMENT_EVENTS) {
      segment = { events: [], bytes: 0, maxTs: event.ts };
      this.#segments.push(segment);
    }
    const bytes = event.size;
    segment.events.push(event);
    segment.bytes += bytes;
    if (event.ts > segment.maxTs) segment.maxTs = event.ts;
    this.#head = event.seq;
    this.#events++;
    this.#bytes += bytes;
  }

  read({ after, limit, maxBytes = Number.POSITIVE_INFINITY }: ReadOptions): Page {
    const events: StoredEvent[] = [];
    let bytes = 0;
    for (let s = this.#segmentAbove(after); s < this.#segments.length; s++) {
      const segment = this.#segments[s]?.events ?? [];
      for (let i = positionAbove(segment, after); i < segment.length; i++) {
        const event = segment[i] as StoredEvent;
        if (events.length >= limit || bytes >= maxBytes) {
          return { events, through: events.at(-1)?.seq ?? after };
        }
        events.push(event);
        bytes += event.size;
      }
    }
    return { events, through: Math.max(after, this.#head) };
  }

  seqAt(ts: number): Seq {
    const segment = this.#segments.find((s) => s.maxTs >= ts);
    return segment?.events.find((e) => e.ts >= ts)?.seq ?? this.#head + 1;
  }

  /** Removes everything up to `through`; returns what went. */
  trim(through: Seq): StoredEvent[] {
    const whole = this.#segmentAbove(through);
    const gone = this.#segments.splice(0, whole).flatMap((segment) => this.#uncount(segment));
    const first = this.#segments[0];
    if (first === undefined) return gone;
    const part = positionAbove(first.events, through);
    if (part > 0) {
      gone.push(...first.events.slice(0, part));
      this.#rewrite(first, first.events.slice(part));
    }
    return gone;
  }

  /** Removes these seqs where they are present; returns what went. */
  remove(seqs: readonly Seq[]): StoredEvent[] {
    const unwanted = new Set(seqs);
    const touched = new Set<Segment>();
    for (const seq of unwanted) {
      const segment = this.#segments[this.#segmentAbove(seq - 1)];
      if (segment !== undefined) touched.add(segment);
    }
    const gone: StoredEvent[] = [];
    for (const segment of touched) {
      const kept: StoredEvent[] = [];
      for (const event of segment.events) (unwanted.has(event.seq) ? gone : kept).push(event);
      if (kept.length < segment.events.length) this.#rewrite(segment, kept);
    }
    this.#segments = this.#segments.filter((segment) => segment.events.length > 0);
    return gone;
  }

  *[Symbol.iterator](): Generator<StoredEvent> {
    for (const segment of this.#segments) yield* segment.events;
  }

  #rewrite(segment: Segment, events: StoredEvent[]): void {
    this.#uncount(segment);
    segment.events = events;
    segment.bytes = 0;
    segment.maxTs = Number.NEGATIVE_INFINITY;
    for (const event of events) {
      segment.bytes += event.size;
      segment.maxTs = Math.max(segment.maxTs, event.ts);
    }
    this.#events += events.length;
    this.#bytes += segment.bytes;
  }

  #uncount(segment: Segment): StoredEvent[] {
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

/** Index of the first event above `seq` among ascending ones; their number if there is none. */
export function positionAbove(events: readonly StoredEvent[], seq: Seq): number {
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
