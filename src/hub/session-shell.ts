/**
 * The shell around a session: one WebSocket, its subscriptions on the bus, its timers. Deliveries are leases that the
 * client settles by frames; a closed socket gives all of them back at once, and nothing is lost.
 */
import type { WebSocket } from "ws";
import type { Bus } from "../bus/bus.js";
import type { Tracing } from "../bus/tracing.js";
import type { Delivered } from "../consume/context.js";
import type { CancelTimer } from "../model/clock.js";
import type { StoredEvent } from "../model/event.js";
import type { SubscribeOptions } from "../model/event-bus.js";
import type { Authenticator, Caller } from "./auth.js";
import { Feed } from "./feed.js";
import type { Feeders } from "./feeders.js";
import { checkFrame, isCorr, parseMessage } from "./frames.js";
import type { HubLimits } from "./limits.js";
import { onMessage } from "./message-bytes.js";
import { Outgoing } from "./outgoing.js";
import { PayloadTexts } from "./payload-text.js";
import { problemOf, retryAfterSeconds } from "./problem.js";
import {
  CloseCode,
  type Corr,
  type ModackFrame,
  type PublishFrame,
  type SubscribeFrame,
} from "./protocol.js";
import { publishOptions } from "./publish-frame.js";
import { type PublishMessage, type ReadPublish, readPublishes } from "./publish-message.js";
import { Publishes } from "./publishes.js";
import {
  createSession,
  err,
  ok,
  type Session,
  type SessionEffect,
  type SessionEvent,
  type SettleFrame,
  stepSession,
  stopPublish,
} from "./session.js";
import { extend, settle } from "./settling.js";

export interface SessionOptions {
  readonly bus: Bus;
  readonly auth: Authenticator;
  readonly limits: HubLimits;
  /** Groups that clients cannot join. */
  readonly feeders: Feeders;
  /** Known already by the HTTP request, or null: AUTH decides. */
  readonly caller: Caller | null;
  /** False if this subject has as many connections as it may. */
  readonly onIdentified: (caller: Caller) => boolean;
  /** Its client did not read, and is cut off. */
  readonly onCutOff: () => void;
  readonly onEnded: () => void;
  /** Absent: nobody traces. */
  readonly tracing?: Tracing | undefined;
}

interface Held {
  readonly feed: Feed;
  readonly lease: number | null;
  readonly delivery: Delivered;
}

export class SessionShell {
  readonly #socket: WebSocket;
  readonly #options: SessionOptions;
  readonly #session: Session;
  readonly #out: Outgoing;
  readonly #publishes: Publishes;
  readonly #feeds = new Map<string, Feed>();
  /** Handed out while there was no room to send: sent, in order, as room comes (P13). Events are shared, texts are not. */
  #held: Held[] = [];
  /** The highest number that a lease of a subscription had that is over: none is used twice (P6). */
  #lastLease = 0;
  #isTokenLookedAt = false;
  #cancelLate: CancelTimer | null = null;
  #cancelExpiry: CancelTimer | null = null;
  #cancelSlow: CancelTimer | null = null;

  constructor(socket: WebSocket, options: SessionOptions) {
    const { limits, bus, caller } = options;
    this.#socket = socket;
    this.#options = options;
    this.#session = createSession(caller, limits, bus.clock.steady());
    this.#out = new Outgoing(socket, {
      maxBufferBytes: limits.maxSendBufferBytes,
      onFull: () => this.#holdBack(),
      onFlooded: () => this.#listen(),
      onRoom: () => this.#goOn(),
    });
    this.#publishes = new Publishes({
      bus,
      out: this.#out,
      takesPlaced: () => this.#session.takes.has("placed"),
      complain: (error, corr) => this.#complain(error, corr),
    });
    onMessage(socket, (data, isBinary) => this.#receive(data, isBinary));
    socket.on("ping", (data) => this.#out.pong(data));
    socket.on("close", () => this.#ended());
    socket.on("error", () => socket.terminate());
    if (caller === null) {
      this.#cancelLate = bus.clock.setTimer(limits.authTimeoutMs, () => this.#send({ type: "late" }));
    } else {
      this.#welcomeKnown(caller);
    }
  }

  /** Recognised by the upgrade request: counts like anybody else. */
  #welcomeKnown(caller: Caller): void {
    if (!this.#options.onIdentified(caller)) this.#send({ type: "crowded" });
    else this.#expireAt(caller.expiresMs);
  }

  /** Takes on nothing new; resolves when what it holds is settled or given back, and every publish is answered. */
  async drain(): Promise<void> {
    this.#session.leaving = true;
    await Promise.all([...this.#feeds.values()].map((feed) => feed.subscription?.stop()));
    await this.#publishes.answered();
  }

  /** The hub goes down: the client is told to come back. */
  bye(): void {
    this.#out.flush();
    this.#socket.close(CloseCode.restart, "the hub restarts");
  }

  #receive(data: Buffer, isBinary: boolean): void {
    const publishes = isBinary ? null : readPublishes(data);
    if (publishes === null) this.#receiveAny(data, isBinary);
    else this.#receivePublishes(publishes);
  }

  #receivePublishes({ all, isArray }: PublishMessage): void {
    if (isArray) this.#out.takeArrays();
    const nowMs = this.#options.bus.clock.steady();
    const isAlone = all.length === 1;
    for (const one of all) this.#receivePublish(one, nowMs, isAlone);
    // Its client waits for this answer alone. The event may be on its way to this very client: then both go together.
    if (isAlone && this.#feeds.size === 0) this.#out.flush();
  }

  #receivePublish({ frame, options, text }: ReadPublish, nowMs: number, isAlone: boolean): void {
    if (typeof frame.topic !== "string" || frame.topic === "" || !isCorr(frame.corr)) {
      this.#receiveFrame(frame, text, nowMs);
      return;
    }
    const instead = stopPublish(this.#session, frame, nowMs, text);
    if (instead !== null) for (const effect of instead) this.#perform(effect);
    else if (isAlone && this.#feeds.size === 0) this.#publishes.handAwaited(frame, options, text);
    else this.#publishes.hand(frame, options, text, isAlone);
  }

  #receiveAny(data: Buffer, isBinary: boolean): void {
    const text = isBinary ? "" : data.toString();
    const frames = parseMessage(text);
    if (frames === null) {
      this.#send({ type: "unreadable" });
      return;
    }
    if (text.charCodeAt(0) === 0x5b) this.#out.takeArrays();
    const nowMs = this.#options.bus.clock.steady();
    let texts: PayloadTexts | null = new PayloadTexts(data);
    for (const value of frames) {
      const { type, payload } = (value ?? {}) as Partial<PublishFrame>;
      // Publishers send publishes; in a message of several kinds the texts are not looked for.
      if (type !== "PUBLISH") texts = null;
      this.#receiveFrame(value, texts?.next(payload), nowMs);
    }
  }

  #receiveFrame(value: unknown, text: string | undefined, nowMs: number): void {
    const checked = checkFrame(value);
    if ("complaint" in checked) this.#send({ type: "complaint", ...checked, nowMs });
    else this.#send({ type: "frame", frame: checked.frame, nowMs, text });
  }

  #send(event: SessionEvent): void {
    for (const effect of stepSession(this.#session, event)) this.#perform(effect);
  }

  #perform(effect: SessionEffect): void {
    switch (effect.type) {
      case "send":
        this.#out.send(JSON.stringify(effect.frame));
        return;
      case "authenticate":
        void this.#authenticate(effect.token, effect.corr);
        return;
      case "expireAt":
        this.#expireAt(effect.atMs);
        return;
      case "publish":
        this.#publishes.hand(effect.frame, publishOptions(effect.frame), effect.text);
        return;
      case "subscribe":
        void this.#subscribe(effect.key, effect.frame);
        return;
      case "unsubscribe":
        void this.#unsubscribe(effect.key, effect.corr);
        return;
      case "settle":
        this.#settle(effect.key, effect.frame);
        return;
      case "extend":
        this.#extend(effect.key, effect.frame);
        return;
      case "pause":
        this.#pause(effect.keys, effect.paused, effect.corr);
        return;
      case "close":
        this.#out.flush();
        this.#socket.close(effect.code, effect.reason);
    }
  }

  async #authenticate(token: string, corr: Corr | undefined): Promise<void> {
    const given = corr === undefined ? {} : { corr };
    this.#isTokenLookedAt = true;
    this.#listen();
    const caller = await this.#options.auth.authenticate(token).catch(() => null);
    this.#isTokenLookedAt = false;
    this.#listen();
    // It may have gone while the token was looked at.
    if (this.#session.phase === "ended") return;
    if (caller === null) this.#send({ type: "refused", ...given });
    else if (!this.#options.onIdentified(caller)) this.#send({ type: "crowded", ...given });
    else {
      this.#cancelLate?.();
      this.#send({ type: "authenticated", caller, nowMs: this.#options.bus.clock.steady(), ...given });
    }
  }

  /**
   * Nothing more is read while a token is looked at: what waits for that is what was read already. Nor while the answers to what was
   * asked are not read: more of them would be kept here, as fast as somebody asks (P13).
   */
  #listen(): void {
    if (this.#isTokenLookedAt || this.#out.flooded) this.#socket.pause();
    else this.#socket.resume();
  }

  #expireAt(atMs: number): void {
    const { clock } = this.#options.bus;
    this.#cancelExpiry?.();
    this.#cancelExpiry = null;
    if (!Number.isFinite(atMs)) return;
    this.#cancelExpiry = clock.setTimer(Math.max(0, atMs - clock.now()), () =>
      this.#send({ type: "expired" }),
    );
  }

  async #subscribe(key: string, frame: SubscribeFrame): Promise<void> {
    const { topic, group, opts, corr } = frame;
    const inRuns = this.#session.takes.has("events");
    if (inRuns) this.#out.takeArrays();
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
      this.#perform(ok(corr, { topic, group }));
      this.#applyPause(feed);
    } catch (error) {
      // Not if it was left meanwhile: what stands under its key then is another one.
      if (!feed.ended) {
        this.#feeds.delete(key);
        this.#end(feed);
        this.#send({ type: "unsubscribed", key });
      }
      this.#complain(error, corr);
    }
  }

  #end(feed: Feed): void {
    feed.ended = true;
    this.#lastLease = Math.max(this.#lastLease, feed.leases.last);
  }

  /** Nobody here asked for it: the bus closes, or was stopped from outside. */
  #stopped(feed: Feed): void {
    if (!feed.ended && !this.#session.leaving) this.#send({ type: "fenced" });
  }

  #deliver(feed: Feed, delivery: Delivered): void {
    // It goes back with all others as the subscription ends. A number given to it now could be another's (P6).
    if (feed.ended) return;
    const lease = feed.lease(delivery);
    if (feed.leases.size > 2 * this.#options.limits.maxInFlightPerSubscription) feed.dropOver();
    const { tracing } = this.#options;
    if (tracing !== undefined) feed.trace(tracing, delivery.event);
    if (this.#out.full || this.#held.length > 0) this.#held.push({ feed, lease, delivery });
    else this.#out.sendEvent(feed.around(delivery), lease, delivery.event);
  }

  /** All that can be is settled; whoever asked for an answer gets one. */
  #settle(key: string, frame: SettleFrame): void {
    const { corr } = frame;
    const lost = settle(this.#feeds.get(key), frame);
    if (lost !== null) this.#perform(err("LEASE_LOST", lost, corr));
    else if (corr !== undefined) this.#perform(ok(corr));
  }

  #extend(key: string, frame: ModackFrame): void {
    const { corr } = frame;
    const lost = extend(this.#feeds.get(key), frame);
    if (lost !== null) this.#perform(err("LEASE_LOST", lost, corr));
    else if (corr !== undefined) this.#perform(ok(corr));
  }

  async #unsubscribe(key: string, corr: Corr | undefined): Promise<void> {
    const feed = this.#feeds.get(key);
    this.#feeds.delete(key);
    if (feed !== undefined) {
      this.#end(feed);
      feed.endSpans("its subscriber left");
      await feed.subscription?.abandon("its subscriber left");
      this.#send({ type: "unsubscribed", key });
    }
    this.#perform(ok(corr));
  }

  #pause(keys: readonly string[], paused: boolean, corr: Corr | undefined): void {
    for (const key of keys) {
      const feed = this.#feeds.get(key);
      if (feed === undefined) continue;
      feed.paused = paused;
      this.#applyPause(feed);
    }
    this.#perform(ok(corr));
  }

  #applyPause(feed: Feed): void {
    feed.subscription?.setPaused(feed.paused || this.#out.full || this.#held.length > 0);
  }

  /** The client does not read: nothing more is handed to it, and if that lasts it is cut off. */
  #holdBack(): void {
    for (const feed of this.#feeds.values()) this.#applyPause(feed);
    const { bus, limits } = this.#options;
    this.#cancelSlow ??= bus.clock.setTimer(limits.slowConsumerMs, () => this.#cutOff());
  }

  /** Its leases go back at once. The close frame waits behind what it has not read; `ws` cuts the line in the end. */
  #cutOff(): void {
    this.#send({ type: "slow" });
    this.#giveBack("its reader is too slow");
    this.#options.onCutOff();
  }

  #goOn(): void {
    this.#listen();
    if (this.#session.phase === "ended") return;
    this.#cancelSlow?.();
    this.#cancelSlow = null;
    let sent = 0;
    for (; sent < this.#held.length && !this.#out.full; sent++) {
      const { feed, lease, delivery } = this.#held[sent] as Held;
      if (delivery.live) this.#out.sendEvent(feed.around(delivery), lease, delivery.event);
    }
    this.#held = this.#held.slice(sent);
    for (const feed of this.#feeds.values()) this.#applyPause(feed);
  }

  #complain(error: unknown, corr: Corr | undefined): void {
    const { code, detail } = problemOf(error);
    const seconds = retryAfterSeconds(error);
    const effect = err(code, detail, corr) as { frame: object };
    this.#perform({
      type: "send",
      frame: { ...effect.frame, ...(seconds !== undefined && { retry_after_ms: seconds * 1_000 }) },
    });
  }

  #ended(): void {
    this.#session.phase = "ended";
    this.#cancelLate?.();
    this.#cancelExpiry?.();
    this.#cancelSlow?.();
    this.#giveBack("its connection closed");
    this.#options.onEnded();
  }

  #giveBack(reason: string): void {
    this.#held = [];
    for (const feed of this.#feeds.values()) {
      this.#end(feed);
      feed.endSpans(reason);
      void feed.subscription?.abandon(reason);
    }
    this.#feeds.clear();
  }
}
