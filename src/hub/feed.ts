/**
 * A subscription of one connection: what is leased to it, and its events as frames. Most events of a feed have the same
 * topic, attempt and epoch, so the text around them is made once.
 */
import type { Subscription } from "../bus/subscriptions.js";
import type { HandlingSpan } from "../bus/tracing.js";
import type { Delivered } from "../consume/context.js";
import type { StoredEvent } from "../model/event.js";
import { PassingMap } from "../model/passing-map.js";

export class Feed {
  readonly topic: string;
  readonly group: string;
  readonly ackTimeoutMs: number;
  readonly leases = new PassingMap<string, Delivered>();
  /** By event, while it is leased; only if somebody traces. */
  readonly spans = new Map<string, HandlingSpan>();
  subscription: Subscription | null = null;
  ended = false;
  paused = false;
  #headTopic: string | undefined;
  #head = "";
  #tailEpoch = -1;
  #tailMaxAttempts = -1;
  #firstTail = "";

  constructor(topic: string, group: string, ackTimeoutMs: number) {
    this.topic = topic;
    this.group = group;
    this.ackTimeoutMs = ackTimeoutMs;
  }

  /** The EVENT frame, with the event in the text that was stored. */
  frame(event: StoredEvent, delivery: Delivered): string {
    if (event.topic !== this.#headTopic) this.#makeHead(event.topic);
    return this.#head + event.json + this.#tail(delivery);
  }

  /** The delivery of an event, unless its lease is over or a frame names another attempt or epoch (P6). */
  lease(id: string, named: { readonly attempt?: number; readonly epoch?: number }): Delivered | null {
    const delivery = this.leases.get(id);
    if (delivery === undefined) return null;
    if (named.attempt !== undefined && named.attempt !== delivery.attempt) return null;
    return named.epoch !== undefined && named.epoch !== delivery.source.epoch ? null : delivery;
  }

  /** Leases whose deadline passed and whose event went elsewhere are forgotten. */
  dropOver(): void {
    for (const [id, delivery] of this.leases) {
      if (delivery.live) continue;
      this.leases.delete(id);
      this.endSpan(id, "not settled in time");
    }
  }

  endSpan(id: string, error?: string): void {
    if (this.spans.size === 0) return;
    this.spans.get(id)?.end(error);
    this.spans.delete(id);
  }

  endSpans(error: string): void {
    for (const span of this.spans.values()) span.end(error);
    this.spans.clear();
  }

  #makeHead(topic: string): void {
    const subscribed = this.topic === topic ? "" : `"subscription":${JSON.stringify(this.topic)},`;
    this.#headTopic = topic;
    this.#head = `{"type":"EVENT","topic":${JSON.stringify(topic)},"group":${JSON.stringify(this.group)},${subscribed}"event":`;
  }

  #tail({ attempt, maxAttempts, source }: Delivered): string {
    if (attempt !== 1) return this.#makeTail(attempt, maxAttempts, source.epoch);
    if (source.epoch !== this.#tailEpoch || maxAttempts !== this.#tailMaxAttempts) {
      this.#tailEpoch = source.epoch;
      this.#tailMaxAttempts = maxAttempts;
      this.#firstTail = this.#makeTail(1, maxAttempts, source.epoch);
    }
    return this.#firstTail;
  }

  #makeTail(attempt: number, maxAttempts: number, epoch: number): string {
    const ctx = { attempt, max_attempts: maxAttempts, epoch, ack_deadline_ms: this.ackTimeoutMs };
    return `,"ctx":${JSON.stringify(ctx)}}`;
  }
}
