/**
 * What the client of one connection subscribed to. Deliveries are leases that it settles by frames; a closed socket gives all
 * of them back at once, and nothing is lost. While there is no room to send, they are held here, in order (P13).
 */
import type { Bus } from "../../bus/bus.js";
import type { Tracing } from "../../bus/tracing.js";
import type { Delivered } from "../../consume/context.js";
import { BusError } from "../../model/errors.js";
import type { StoredEvent } from "../../model/event.js";
import type { SubscribeOptions } from "../../model/event-bus.js";
import type { Feeders } from "../feeders.js";
import type { HubLimits } from "../limits.js";
import type { Corr, ModackFrame, SubscribeFrame } from "../protocol.js";
import { Feed } from "./feed.js";
import type { Outgoing } from "./outgoing.js";
import type { Session, SessionEvent } from "./session.js";
import { err, ok, type SessionEffect, type SettleFrame } from "./session-effects.js";
import { extend, settle } from "./settling.js";

export interface FeedsOptions {
  readonly bus: Bus;
  readonly limits: HubLimits;
  /** Groups that clients cannot join. */
  readonly feeders: Feeders;
  /** Absent: nobody traces. */
  readonly tracing?: Tracing | undefined;
  readonly out: Outgoing;
  readonly session: Session;
  /** Something happened that the session decides on. */
  readonly send: (event: SessionEvent) => void;
  readonly answer: (effect: SessionEffect) => void;
  readonly complain: (error: unknown, corr: Corr | undefined) => void;
}

interface Held {
  readonly feed: Feed;
  readonly lease: number | null;
  readonly delivery: Delivered;
}

export class SessionFeeds {
  readonly #options: FeedsOptions;
  readonly #feeds = new Map<string, Feed>();
  /** Handed out while there was no room to send: sent, in order, as room comes (P13). Events are shared, texts are not. */
  #held: Held[] = [];
  /** The highest number that a lease of a subscription had that is over: none is used twice (P6). */
  #lastLease = 0;

  constructor(options: FeedsOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#feeds.size;
  }

  /** Takes on nothing new; resolves when what is held is settled or given back. */
  async stop(): Promise<void> {
    await Promise.all([...this.#feeds.values()].map((feed) => feed.subscription?.stop()));
  }

  async subscribe(key: string, frame: SubscribeFrame): Promise<void> {
    const { topic, group, opts, corr } = frame;
    const { session } = this.#options;
    const inRuns = session.takes.has("events");
    if (inRuns) this.#options.out.takeArrays();
    const feed = new Feed(frame, inRuns, this.#lastLease);
    this.#feeds.set(key, feed);
    const maxInFlight = Math.min(opts?.maxInFlight ?? 100, this.#options.limits.maxInFlightPerSubscription);
    const options = { ...opts, maxInFlight, manualAck: true } as SubscribeOptions;
    const handler = (_event: StoredEvent, delivery: Delivered): void => this.#deliver(feed, delivery);
    try {
      await this.#options.feeders.refuse(topic, group);
      feed.subscription = await this.#options.bus.attach(topic, {
        group,
        work: { kind: "raw", handler },
        options,
      });
      feed.subscription.onStopped(() => this.#stopped(feed));
      if (feed.ended) await feed.subscription.abandon("its subscriber left");
      else if (session.leaving) {
        await feed.subscription.abandon("the hub is going down");
        throw new BusError("CLOSED", "the hub is going down; connect again");
      }
      this.#options.answer(ok(corr, { topic, group }));
      this.#applyPause(feed);
    } catch (error) {
      // Not if it was left meanwhile: what stands under its key then is another one.
      if (!feed.ended) {
        this.#feeds.delete(key);
        this.#end(feed);
        this.#options.send({ type: "unsubscribed", key });
      }
      this.#options.complain(error, corr);
    }
  }

  #end(feed: Feed): void {
    feed.ended = true;
    this.#lastLease = Math.max(this.#lastLease, feed.leases.last);
  }

  /** Nobody here asked for it: the bus closes, or was stopped from outside. */
  #stopped(feed: Feed): void {
    if (!feed.ended && !this.#options.session.leaving) this.#options.send({ type: "fenced" });
  }

  #deliver(feed: Feed, delivery: Delivered): void {
    // It goes back with all others as the subscription ends. A number given to it now could be another's (P6).
    if (feed.ended) return;
    const lease = feed.lease(delivery);
    if (feed.leases.size > 2 * this.#options.limits.maxInFlightPerSubscription) feed.dropOver();
    const { tracing } = this.#options;
    if (tracing !== undefined) feed.trace(tracing, delivery.event);
    if (this.#options.out.full || this.#held.length > 0) this.#held.push({ feed, lease, delivery });
    else this.#options.out.sendEvent(feed.around(delivery), lease, delivery.event);
  }

  /** All that can be is settled; whoever asked for an answer gets one. */
  settle(key: string, frame: SettleFrame): void {
    const { corr } = frame;
    const lost = settle(this.#feeds.get(key), frame);
    if (lost !== null) this.#options.answer(err("LEASE_LOST", lost, corr));
    else if (corr !== undefined) this.#options.answer(ok(corr));
  }

  extend(key: string, frame: ModackFrame): void {
    const { corr } = frame;
    const lost = extend(this.#feeds.get(key), frame);
    if (lost !== null) this.#options.answer(err("LEASE_LOST", lost, corr));
    else if (corr !== undefined) this.#options.answer(ok(corr));
  }

  async unsubscribe(key: string, corr: Corr | undefined): Promise<void> {
    const feed = this.#feeds.get(key);
    this.#feeds.delete(key);
    if (feed !== undefined) {
      this.#end(feed);
      feed.endSpans("its subscriber left");
      await feed.subscription?.abandon("its subscriber left");
      this.#options.send({ type: "unsubscribed", key });
    }
    this.#options.answer(ok(corr));
  }

  pause({ keys, paused, corr, result }: Extract<SessionEffect, { type: "pause" }>): void {
    for (const key of keys) {
      const feed = this.#feeds.get(key);
      if (feed === undefined) continue;
      feed.paused = paused;
      this.#applyPause(feed);
    }
    this.#options.answer(ok(corr, result));
  }

  #applyPause(feed: Feed): void {
    feed.subscription?.setPaused(feed.paused || this.#options.out.full || this.#held.length > 0);
  }

  applyPauses(): void {
    for (const feed of this.#feeds.values()) this.#applyPause(feed);
  }

  /** There is room again. */
  sendHeld(): void {
    const { out } = this.#options;
    let sent = 0;
    for (; sent < this.#held.length && !out.full; sent++) {
      const { feed, lease, delivery } = this.#held[sent] as Held;
      if (delivery.live) out.sendEvent(feed.around(delivery), lease, delivery.event);
    }
    this.#held = this.#held.slice(sent);
    this.applyPauses();
  }

  giveBack(reason: string): void {
    this.#held = [];
    for (const feed of this.#feeds.values()) {
      this.#end(feed);
      feed.endSpans(reason);
      void feed.subscription?.abandon(reason);
    }
    this.#feeds.clear();
  }
}
