/**
 * A WebSocket session: what the hub does with each frame. No I/O, no clock; session-shell.ts performs the effects.
 *
 *   greeting --AUTH accepted--> ready --expired, refused, too fast, bye--> ended
 *   greeting --no AUTH in time, refused--> ended
 *   any --a message that is not JSON--> ended
 *   ready --fenced, re-AUTH that lacks what is subscribed--> ended
 *
 * Every request gets one answer, in the order of completion, with its `corr`. Rights are checked here, before anything
 * is asked of the bus; a topic that does not exist is refused in the same words as one that is not allowed.
 */
import { type Caller, KEYS_AWAY } from "../auth/auth.js";
import type { HubLimits } from "../limits.js";
import { MAX_NAME_CHARS, TokenBucket } from "../limits.js";
import {
  CLIENT_TAKES,
  type ClientFrame,
  CloseCode,
  type Corr,
  type PublishFrame,
  type PublishManyFrame,
  type SubscribeFrame,
  TAKES,
} from "../protocol.js";
import {
  err,
  errFrame,
  forbidden,
  goingDown,
  ok,
  type SessionEffect,
  tryLater,
  withCorr,
} from "./session-effects.js";

export interface Session {
  phase: "greeting" | "ready" | "ended";
  caller: Caller | null;
  /** The hub goes down: what is open may be settled, nothing new is taken on. */
  leaving: boolean;
  /** An AUTH is being looked at; what was read before the shell stopped reading waits for its end, in order. */
  authenticating: boolean;
  readonly waiting: Waited[];
  /** What the client says that it takes beyond the first version of the protocol. */
  takes: ReadonlySet<string>;
  /** Keys of subscriptions asked for and not ended. */
  readonly subscriptions: Set<string>;
  readonly frames: TokenBucket;
  readonly publishes: Map<string, TokenBucket>;
  /** Frames refused for their rate since one was last let through. */
  refusals: number;
  readonly limits: HubLimits;
}

interface Waited {
  readonly frame: ClientFrame;
  readonly text: string | undefined;
}

export type SessionEvent =
  /** `text`: of its payload, if it is at hand. */
  | {
      readonly type: "frame";
      readonly frame: ClientFrame;
      readonly nowMs: number;
      readonly text?: string | undefined;
    }
  | {
      readonly type: "complaint";
      readonly complaint: string;
      readonly corr?: Corr;
      readonly nowMs: number;
    }
  /** A message that is not JSON. What comes behind it is not looked at: nobody knows what it was meant to follow. */
  | { readonly type: "unreadable" }
  | { readonly type: "authenticated"; readonly caller: Caller; readonly corr?: Corr; readonly nowMs: number }
  | { readonly type: "refused"; readonly corr?: Corr }
  /** Whether the token is good cannot be told for now. */
  | { readonly type: "undecided"; readonly corr?: Corr }
  /** The token is fine, but its subject has as many connections as it may. */
  | { readonly type: "crowded"; readonly corr?: Corr }
  /** A subscription ended without being asked to: the bus is closing, or lost its hold. */
  | { readonly type: "fenced" }
  | { readonly type: "unsubscribed"; readonly key: string }
  /** Time passed: the greeting took too long, or the token ran out. */
  | { readonly type: "late" }
  | { readonly type: "expired" }
  | { readonly type: "slow" };

/** A client that keeps sending this long after being told to slow down is cut off. */
const MAX_REFUSALS = 1_000;

/** Topics whose rate is known at a time. */
const MAX_BUCKETS = 1_000;

/** A bad frame can be a byte, and its answer is a sentence: it counts as so many of those that a second has room for. */
const BAD_FRAMES_PER_SECOND = 2_000;

const NOTHING: readonly SessionEffect[] = [];

export function createSession(caller: Caller | null, limits: HubLimits, nowMs: number): Session {
  return {
    phase: caller === null ? "greeting" : "ready",
    caller,
    leaving: false,
    authenticating: false,
    waiting: [],
    takes: new Set(),
    subscriptions: new Set(),
    frames: new TokenBucket(limits.framesPerSecond, nowMs),
    publishes: new Map(),
    refusals: 0,
    limits,
  };
}

export function stepSession(session: Session, event: SessionEvent): readonly SessionEffect[] {
  if (session.phase === "ended") return NOTHING;
  switch (event.type) {
    case "frame":
      return onFrame(session, event.frame, event.nowMs, event.text);
    case "complaint":
      return onBadFrame(session, event);
    case "unreadable":
      return [
        err("BAD_REQUEST", "a message is text: one JSON frame or an array of them", undefined),
        end(session, CloseCode.protocol, "not JSON"),
      ];
    case "authenticated":
      return welcome(session, event);
    case "refused":
      return [
        err("UNAUTHENTICATED", "a valid token is needed", event.corr),
        end(session, CloseCode.auth, "not authenticated"),
      ];
    case "undecided":
      return [
        tryLater(KEYS_AWAY, event.corr),
        end(session, CloseCode.tryLater, "nobody can be let in for now"),
      ];
    case "crowded":
      return [
        err("QUEUE_FULL", "this subject has too many connections", event.corr),
        end(session, CloseCode.rate, "too many connections"),
      ];
    case "fenced":
      return [
        err("LEASE_LOST", "the hub lost its hold on a subscription", undefined),
        end(session, CloseCode.fenced, "fenced"),
      ];
    case "unsubscribed":
      session.subscriptions.delete(event.key);
      return [];
    case "late":
      return session.phase === "greeting" ? [end(session, CloseCode.noAuth, "no AUTH in time")] : [];
    case "expired":
      return [
        err("UNAUTHENTICATED", "the token ran out", undefined),
        end(session, CloseCode.auth, "token expired"),
      ];
    case "slow":
      return [end(session, CloseCode.slow, "too slow a reader")];
  }
}

export function subscriptionKey(topic: string, group: string): string {
  return `${topic}\n${group}`;
}

function refOf(key: string): { readonly topic: string; readonly group: string } {
  const at = key.indexOf("\n");
  return { topic: key.slice(0, at), group: key.slice(at + 1) };
}

function welcome(
  session: Session,
  event: Extract<SessionEvent, { type: "authenticated" }>,
): readonly SessionEffect[] {
  const { caller, corr, nowMs } = event;
  session.phase = "ready";
  session.caller = caller;
  session.authenticating = false;
  for (const key of session.subscriptions) {
    const refused = refuseSubscribe(caller, refOf(key), corr);
    if (refused !== null)
      return [refused, end(session, CloseCode.forbidden, "a subscription is not allowed")];
  }
  const finite = Number.isFinite(caller.expiresMs);
  const expiry = finite && { expires_ms: caller.expiresMs };
  const result = { subject: caller.subject, ...expiry, takes: TAKES };
  const waited = session.waiting.splice(0).flatMap((one) => onWaited(session, one, nowMs));
  return [ok(corr, result), { type: "expireAt", atMs: caller.expiresMs }, ...waited];
}

/**
 * What is done about a publish instead of handing it to the bus; null if it is to be handed over. For those who have nothing but
 * publishes: the effect of a `frame` event is the same.
 */
export function stopPublish(
  session: Session,
  frame: PublishFrame,
  nowMs: number,
  text: string | undefined,
): readonly SessionEffect[] | null {
  if (session.phase === "ended") return NOTHING;
  const held = holdFrame(session, frame, nowMs, text);
  if (held !== null) return held;
  if (session.caller === null) return authFirst(session, frame.corr);
  return refusePublish(session, session.caller, frame, nowMs);
}

function onFrame(
  session: Session,
  frame: ClientFrame,
  nowMs: number,
  text?: string,
): readonly SessionEffect[] {
  return holdFrame(session, frame, nowMs, text) ?? onAdmitted(session, frame, nowMs, text);
}

/** Its rate was looked at when it came. Behind another AUTH it waits on. */
function onWaited(session: Session, waited: Waited, nowMs: number): readonly SessionEffect[] {
  if (!session.authenticating) return onAdmitted(session, waited.frame, nowMs, waited.text);
  session.waiting.push(waited);
  return NOTHING;
}

function onAdmitted(
  session: Session,
  frame: ClientFrame,
  nowMs: number,
  text: string | undefined,
): readonly SessionEffect[] {
  if ((frame.type === "AUTH" || frame.type === "PING") && frame.takes !== undefined)
    session.takes = new Set(frame.takes.filter((name) => CLIENT_TAKES.includes(name)));
  if (frame.type === "AUTH") {
    session.authenticating = true;
    return [{ type: "authenticate", token: frame.token, ...withCorr(frame.corr) }];
  }
  if (frame.type === "PING") return [{ type: "send", frame: { type: "PONG", ...withCorr(frame.corr) } }];
  if (session.caller === null) return authFirst(session, frame.corr);
  if (frame.type === "PUBLISH")
    return refusePublish(session, session.caller, frame, nowMs) ?? [{ type: "publish", frame, text }];
  if (frame.type === "PUBLISH_MANY") {
    const refused = refusePublish(session, session.caller, frame, nowMs, frame.events.length);
    return refused ?? [{ type: "publishMany", frame }];
  }
  return onRequest(session, session.caller, frame);
}

/** Frames that come too fast are refused, those behind an AUTH wait; null for all others. */
function holdFrame(
  session: Session,
  frame: ClientFrame,
  nowMs: number,
  text: string | undefined,
): readonly SessionEffect[] | null {
  const waitMs = session.frames.take(1, nowMs);
  if (waitMs > 0) return tooFast(session, frame.corr, waitMs);
  session.refusals = 0;
  if (!session.authenticating) return null;
  session.waiting.push({ frame, text });
  return NOTHING;
}

function onBadFrame(
  session: Session,
  { complaint, corr, nowMs }: Extract<SessionEvent, { type: "complaint" }>,
): readonly SessionEffect[] {
  const count = Math.max(1, session.limits.framesPerSecond / BAD_FRAMES_PER_SECOND);
  const waitMs = session.frames.take(count, nowMs);
  return waitMs > 0 ? tooFast(session, corr, waitMs) : [err("BAD_REQUEST", complaint, corr)];
}

function authFirst(session: Session, corr: Corr | undefined): readonly SessionEffect[] {
  return [err("UNAUTHENTICATED", "send AUTH first", corr), end(session, CloseCode.auth, "AUTH comes first")];
}

function onRequest(
  session: Session,
  caller: Caller,
  frame: Exclude<ClientFrame, { type: "AUTH" | "PING" | "PUBLISH" | "PUBLISH_MANY" }>,
): readonly SessionEffect[] {
  switch (frame.type) {
    case "SUBSCRIBE":
      return onSubscribe(session, caller, frame);
    case "UNSUBSCRIBE":
      return forSubscription(session, frame, (key) => ({
        type: "unsubscribe",
        key,
        ...withCorr(frame.corr),
      }));
    case "ACK":
    case "NACK":
      return forSubscription(session, frame, (key) => ({ type: "settle", key, frame }));
    case "MODACK":
      return forSubscription(session, frame, (key) => ({ type: "extend", key, frame }));
    case "PAUSE":
    case "RESUME": {
      const paused = frame.type === "PAUSE";
      if (frame.topic === undefined) {
        // A client without a token asks by it whether it is let in.
        const result = paused ? undefined : { result: { takes: TAKES } };
        return [
          { type: "pause", keys: [...session.subscriptions], paused, ...withCorr(frame.corr), ...result },
        ];
      }
      const named = { topic: frame.topic, group: frame.group ?? "", corr: frame.corr };
      return forSubscription(session, named, (key) => ({
        type: "pause",
        keys: [key],
        paused,
        ...withCorr(frame.corr),
      }));
    }
  }
}

/** Null if it may be published. */
function refusePublish(
  session: Session,
  caller: Caller,
  frame: PublishFrame | PublishManyFrame,
  nowMs: number,
  events = 1,
): readonly SessionEffect[] | null {
  if (session.leaving) return [goingDown(frame.corr)];
  if (!caller.acl.allows("publish", frame.topic)) return [forbidden("publish to", frame.topic, frame.corr)];
  // The bus says what is wrong with it.
  if (frame.topic.length > MAX_NAME_CHARS) return null;
  const bucket = session.publishes.get(frame.topic) ?? addBucket(session, frame.topic, nowMs);
  // What is more than a burst can ever be counts as a whole burst.
  const waitMs = bucket.take(Math.min(events, session.limits.publishesPerSecondPerTopic * 2), nowMs);
  return waitMs > 0 ? tooFast(session, frame.corr, waitMs) : null;
}

function addBucket({ publishes, limits }: Session, topic: string, nowMs: number): TokenBucket {
  if (publishes.size >= MAX_BUCKETS) publishes.clear();
  const bucket = new TokenBucket(limits.publishesPerSecondPerTopic, nowMs);
  publishes.set(topic, bucket);
  return bucket;
}

function onSubscribe(session: Session, caller: Caller, frame: SubscribeFrame): readonly SessionEffect[] {
  if (session.leaving) return [goingDown(frame.corr)];
  const refused = refuseSubscribe(caller, frame, frame.corr);
  if (refused !== null) return [refused];
  const key = subscriptionKey(frame.topic, frame.group);
  if (session.subscriptions.has(key)) {
    return [
      err(
        "INVALID_OPTION",
        `this connection has a subscription of ${frame.topic} for ${frame.group}`,
        frame.corr,
      ),
    ];
  }
  if (session.subscriptions.size >= session.limits.maxSubscriptionsPerConnection) {
    return [
      err(
        "QUEUE_FULL",
        `a connection has at most ${session.limits.maxSubscriptionsPerConnection} subscriptions`,
        frame.corr,
      ),
    ];
  }
  session.subscriptions.add(key);
  return [{ type: "subscribe", key, frame }];
}

/** Null if the caller may consume the topic as the group. */
function refuseSubscribe(
  { acl }: Caller,
  { topic, group }: { readonly topic: string; readonly group: string },
  corr: Corr | undefined,
): SessionEffect | null {
  if (!acl.allowsPattern("subscribe", topic)) return forbidden("subscribe to", topic, corr);
  return acl.allows("group", group) ? null : forbidden("act for the group", group, corr);
}

function forSubscription(
  session: Session,
  frame: { readonly topic: string; readonly group: string; readonly corr?: Corr | undefined },
  effect: (key: string) => SessionEffect,
): readonly SessionEffect[] {
  const key = subscriptionKey(frame.topic, frame.group);
  if (session.subscriptions.has(key)) return [effect(key)];
  return [err("NOT_FOUND", "this connection has no such subscription", frame.corr)];
}

function tooFast(session: Session, corr: Corr | undefined, waitMs: number): readonly SessionEffect[] {
  if (++session.refusals > MAX_REFUSALS) return [end(session, CloseCode.rate, "too many frames")];
  return [{ type: "send", frame: { ...errFrame("RATE_LIMITED", "too fast", corr), retry_after_ms: waitMs } }];
}

function end(session: Session, code: number, reason: string): SessionEffect {
  session.phase = "ended";
  return { type: "close", code, reason };
}
