/**
 * A subscription of one connection: what is leased to it, and what stands around its events in frames. Most events of a feed
 * have the same topic, attempt and epoch, so that text is made once.
 */
import type { Subscription } from "../../bus/subscriptions.js";
import type { HandlingSpan, Tracing } from "../../bus/tracing.js";
import type { Delivered } from "../../consume/context.js";
import { DEFAULT_ACK_TIMEOUT_MS } from "../../consume/options.js";
import type { StoredEvent } from "../../model/event.js";
import type { SubscribeFrame } from "../protocol.js";
import { Leases } from "./leases.js";
import type { Around } from "./outgoing.js";

/** What an event's surroundings depend on. */
interface Alike extends Around {
  readonly topic: string;
  readonly attempt: number;
  /** Those that count. */
  readonly failures: number;
  readonly maxAttempts: number;
  readonly epoch: number;
}

export class Feed {
  readonly topic: string;
  readonly group: string;
  readonly leases: Leases;
  /** By event, while it is leased; only if somebody traces. */
  readonly spans = new Map<string, HandlingSpan>();
  subscription: Subscription | null = null;
  ended = false;
  paused = false;
  readonly #ackTimeoutMs: number;
  readonly #inRuns: boolean;
  #around: Alike | null = null;

  /** `inRuns`: its client takes several events in a frame. `lastLease`: the highest number used on its connection. */
  constructor({ topic, group, opts }: SubscribeFrame, inRuns: boolean, lastLease: number) {
    this.topic = topic;
    this.group = group;
    this.leases = new Leases(lastLease);
    this.#ackTimeoutMs = opts?.ackTimeoutMs ?? DEFAULT_ACK_TIMEOUT_MS;
    this.#inRuns = inRuns;
  }

  get isTraced(): boolean {
    return this.spans.size > 0;
  }

  /** Leased from now on: the number of the lease, or null if it goes by the event's id. */
  lease(delivery: Delivered): number | null {
    if (this.#inRuns) return this.leases.addNumbered(delivery);
    this.leases.add(delivery);
    return null;
  }

  /** What stands before and after it: the same object as long as nothing of it changes. */
  around({ event, entry, attempt, maxAttempts, source }: Delivered): Around {
    const last = this.#around;
    const { topic } = event;
    const { epoch } = source;
    const { failures } = entry;
    if (
      last !== null &&
      last.topic === topic &&
      last.attempt === attempt &&
      last.failures === failures &&
      last.maxAttempts === maxAttempts &&
      last.epoch === epoch
    )
      return last;
    const head = this.#head(topic);
    const counted = failures + 1;
    const ctx = {
      attempt,
      ...(counted !== attempt && { try: counted }),
      max_attempts: maxAttempts,
      epoch,
      ack_deadline_ms: this.#ackTimeoutMs,
    };
    const tail = `,"ctx":${JSON.stringify(ctx)}}`;
    this.#around = { head, tail, topic, attempt, failures, maxAttempts, epoch };
    return this.#around;
  }

  /** Leases whose deadline passed and whose event went elsewhere are forgotten. */
  dropOver(): void {
    for (const { event } of this.leases.takeOver()) this.endSpan(event.id, "not settled in time");
  }

  /** What a span tells of an event; the payload stays unread. */
  trace(tracing: Tracing, { id, topic, partition, seq, meta }: StoredEvent): void {
    const traced = {
      id,
      topic,
      partition,
      seq,
      ...(meta?.headers !== undefined && { headers: meta.headers }),
    };
    this.spans.set(id, tracing.handling(traced, this.group));
  }

  endSpan(id: string, error?: string): void {
    if (!this.isTraced) return;
    this.spans.get(id)?.end(error);
    this.spans.delete(id);
  }

  endSpans(error: string): void {
    for (const span of this.spans.values()) span.end(error);
    this.spans.clear();
  }

  #head(topic: string): string {
    const type = this.#inRuns ? "EVENTS" : "EVENT";
    const subscribed = this.topic === topic ? "" : `"subscription":${JSON.stringify(this.topic)},`;
    const named = `"topic":${JSON.stringify(topic)},"group":${JSON.stringify(this.group)}`;
    return `{"type":"${type}",${named},${subscribed}${this.#inRuns ? '"lease":' : '"event":'}`;
  }
}
