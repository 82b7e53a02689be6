/**
 * The shell around a session: one WebSocket, what comes and goes over it, its timers. What its client subscribed to is
 * in session-feeds.ts.
 */
import type { WebSocket } from "ws";
import type { Bus } from "../../bus/bus.js";
import type { Tracing } from "../../bus/tracing.js";
import type { CancelTimer } from "../../model/clock.js";
import { type Authenticator, areKeysAway, type Caller } from "../auth/auth.js";
import type { Feeders } from "../feeders.js";
import type { HubLimits } from "../limits.js";
import { onMessage } from "../message-bytes.js";
import { problemOf, retryAfterSeconds } from "../problem.js";
import { CloseCode, type Corr, type PublishFrame } from "../protocol.js";
import { checkFrame, isCorr, parseMessage } from "./frames.js";
import { Outgoing } from "./outgoing.js";
import { PayloadTexts } from "./payload-text.js";
import { publishOptions } from "./publish-frame.js";
import { type PublishMessage, type ReadPublish, readPublishes } from "./publish-message.js";
import { Publishes } from "./publishes.js";
import { createSession, type Session, type SessionEvent, stepSession, stopPublish } from "./session.js";
import { err, type SessionEffect } from "./session-effects.js";
import { SessionFeeds } from "./session-feeds.js";

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

export class SessionShell {
  readonly #socket: WebSocket;
  readonly #options: SessionOptions;
  readonly #session: Session;
  readonly #out: Outgoing;
  readonly #publishes: Publishes;
  readonly #feeds: SessionFeeds;
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
    this.#feeds = new SessionFeeds({
      bus,
      limits,
      feeders: options.feeders,
      tracing: options.tracing,
      out: this.#out,
      session: this.#session,
      send: (event) => this.#send(event),
      answer: (effect) => this.#perform(effect),
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

  /** Takes on nothing new from now on. */
  leave(): void {
    this.#session.leaving = true;
  }

  /** Resolves when what it holds is settled or given back, and every publish is answered. */
  async drain(): Promise<void> {
    await this.#feeds.stop();
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
      case "publishMany":
        this.#publishes.handMany(effect.frame);
        return;
      case "subscribe":
        void this.#feeds.subscribe(effect.key, effect.frame);
        return;
      case "unsubscribe":
        void this.#feeds.unsubscribe(effect.key, effect.corr);
        return;
      case "settle":
        this.#feeds.settle(effect.key, effect.frame);
        return;
      case "extend":
        this.#feeds.extend(effect.key, effect.frame);
        return;
      case "pause":
        this.#feeds.pause(effect);
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
    const caller = await this.#options.auth
      .authenticate(token)
      .catch((error: unknown) => (areKeysAway(error) ? "undecided" : "refused"));
    this.#isTokenLookedAt = false;
    this.#listen();
    // It may have gone while the token was looked at.
    if (this.#session.phase === "ended") return;
    if (typeof caller === "string") this.#send({ type: caller, ...given });
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

  /** The client does not read: nothing more is handed to it, and if that lasts it is cut off. */
  #holdBack(): void {
    this.#feeds.applyPauses();
    const { bus, limits } = this.#options;
    this.#cancelSlow ??= bus.clock.setTimer(limits.slowConsumerMs, () => this.#cutOff());
  }

  /** Its leases go back at once. The close frame waits behind what it has not read; `ws` cuts the line in the end. */
  #cutOff(): void {
    this.#send({ type: "slow" });
    this.#feeds.giveBack("its reader is too slow");
    this.#options.onCutOff();
  }

  #goOn(): void {
    this.#listen();
    if (this.#session.phase === "ended") return;
    this.#cancelSlow?.();
    this.#cancelSlow = null;
    this.#feeds.sendHeld();
  }

  #complain(error: unknown, corr: Corr | undefined): void {
    const { code, detail, failed } = problemOf(error);
    const seconds = retryAfterSeconds(error);
    const effect = err(code, detail, corr) as { frame: object };
    this.#perform({
      type: "send",
      frame: {
        ...effect.frame,
        ...(seconds !== undefined && { retry_after_ms: seconds * 1_000 }),
        ...(Array.isArray(failed) && { failed }),
      },
    });
  }

  #ended(): void {
    this.#session.phase = "ended";
    this.#cancelLate?.();
    this.#cancelExpiry?.();
    this.#cancelSlow?.();
    this.#feeds.giveBack("its connection closed");
    this.#options.onEnded();
  }
}
