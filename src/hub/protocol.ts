/**
 * The frames of the WebSocket protocol, as types only: the client shares them. Each frame is a JSON object with a `type`;
 * a message is one frame or an array of frames. Any request may carry `corr`, which its answer repeats. PROTOCOL.md
 * tells the whole story.
 */
import type { EventMeta } from "../model/event.js";
import type { PublishItem, PublishOptions, SubscribeOptions } from "../model/event-bus.js";

/** Any JSON value that fits in a few bytes; comes back in the answer. */
export type Corr = string | number;

/** What a subscriber may ask for over the wire: no functions, no signals. */
export type WireSubscribeOptions = Omit<SubscribeOptions, "filter" | "signal" | "manualAck">;

interface Request {
  readonly corr?: Corr;
}

/** What a client takes beyond the first version of the protocol; names that a hub does not know are passed over. */
interface Taking extends Request {
  readonly takes?: readonly string[];
}

export interface AuthFrame extends Taking {
  readonly type: "AUTH";
  readonly token: string;
}

export interface PublishFrame extends Request, PublishOptions {
  readonly type: "PUBLISH";
  readonly topic: string;
  readonly payload: unknown;
}

/** Several of one topic as one ordered request, to a hub whose greeting says that it takes `many`. */
export interface PublishManyFrame extends Request {
  readonly type: "PUBLISH_MANY";
  readonly topic: string;
  readonly events: readonly PublishItem[];
}

export interface SubscribeFrame extends Request {
  readonly type: "SUBSCRIBE";
  readonly topic: string;
  readonly group: string;
  readonly opts?: WireSubscribeOptions;
}

export interface UnsubscribeFrame extends Request {
  readonly type: "UNSUBSCRIBE";
  readonly topic: string;
  readonly group: string;
}

interface OfSubscription extends Request {
  readonly topic: string;
  readonly group: string;
}

/** The lease of an event that came by itself; the last two guard against a stale answer (P6). */
export interface LeaseById {
  readonly id: string;
  readonly attempt?: number;
  readonly epoch?: number;
}

/** The lease of an event that came in a run: on one connection no two have the same number (P6). */
export interface LeaseByNumber {
  readonly lease: number;
}

/** Which delivery is meant. */
export type LeaseName = LeaseById | LeaseByNumber;

/** From the first to the last, both included. */
export type LeaseRange = readonly [number, number];

interface Ack extends OfSubscription {
  readonly type: "ACK";
}

export interface AckFrame extends Ack, LeaseById {}

/** Many of the same attempt and epoch at once, to a hub whose greeting says that it takes `ids`. */
export interface AckManyFrame extends Ack, Omit<LeaseById, "id"> {
  readonly ids: readonly string[];
}

/** Any of those that came in runs. */
export interface AckLeasesFrame extends Ack {
  readonly leases: readonly LeaseRange[];
}

interface Nack extends OfSubscription {
  readonly type: "NACK";
  readonly reason?: string;
}

export type NackFrame = Nack & LeaseName;

interface Modack extends OfSubscription {
  readonly type: "MODACK";
  readonly extend_ms: number;
}

export type ModackFrame = Modack & LeaseName;

export interface PauseFrame extends Request {
  readonly type: "PAUSE" | "RESUME";
  /** Of one subscription, or of all if absent. */
  readonly topic?: string;
  readonly group?: string;
}

export interface PingFrame extends Taking {
  readonly type: "PING";
}

/** What a client may say over the WebSocket: see PROTOCOL.md. */
export type ClientFrame =
  | AuthFrame
  | PublishFrame
  | PublishManyFrame
  | SubscribeFrame
  | UnsubscribeFrame
  | AckFrame
  | AckManyFrame
  | AckLeasesFrame
  | NackFrame
  | ModackFrame
  | PauseFrame
  | PingFrame;

export interface OkFrame {
  readonly type: "OK";
  readonly corr?: Corr;
  /** PUBLISH: where the event stands; PUBLISH_MANY: a list of that. AUTH: who was recognised, until when, and what the hub takes. */
  readonly result?: unknown;
}

/** The answer to several publishes whose events stand one behind the other, to a client that takes `placed`. */
export interface PlacedFrame {
  readonly type: "PLACED";
  readonly topic: string;
  readonly partition: number;
  /** Of the first; each of the others has the next. */
  readonly seq: number;
  readonly corrs: readonly number[];
}

export interface ErrFrame {
  readonly type: "ERR";
  readonly code: string;
  readonly msg: string;
  readonly corr?: Corr;
  readonly retry_after_ms?: number;
  /** PUBLISH_MANY: the others are in the log. Absent if none of them is. */
  readonly failed?: readonly { readonly index: number; readonly code: string }[];
}

interface Delivering {
  readonly topic: string;
  readonly group: string;
  /** The pattern that was subscribed to, if it was one. */
  readonly subscription?: string;
  readonly ctx: {
    readonly attempt: number;
    /** Which of `max_attempts` this is, where that is not `attempt`. */
    readonly try?: number;
    readonly max_attempts: number;
    readonly epoch: number;
    readonly ack_deadline_ms: number;
  };
}

export interface EventFrame extends Delivering {
  readonly type: "EVENT";
  /** An EventRecord, in the bytes that were stored. */
  readonly event: unknown;
}

/**
 * Events of one partition, to a client that takes `events`: a list for each of their parts, all of them in the same order and
 * of the same length.
 */
export interface EventsFrame extends Delivering {
  readonly type: "EVENTS";
  /** The number of the first event's lease; each of the others has the next. */
  readonly lease: number;
  readonly partition: number;
  /** Of the first event; `later` tells by how much that of each event is above it. */
  readonly ts: number;
  readonly later: readonly number[];
  /** Of the first event. Where `seqs` is absent, each of the others has the next. */
  readonly seq: number;
  readonly seqs?: readonly number[];
  readonly ids: readonly string[];
  /** Absent if none has a key. */
  readonly keys?: readonly (string | null)[];
  /** Headers, tags and their like; absent if none has any. */
  readonly metas?: readonly (EventMeta | null)[];
  readonly payloads: readonly unknown[];
}

export interface PongFrame {
  readonly type: "PONG";
  readonly corr?: Corr;
}

/** What a hub may say over the WebSocket: see PROTOCOL.md. */
export type ServerFrame = OkFrame | PlacedFrame | ErrFrame | EventFrame | EventsFrame | PongFrame;

/** What this hub takes beyond the first version of the protocol: told to those who greet it. */
export const TAKES: readonly string[] = ["ids", "many"];
/** What our client takes beyond it: told to every hub. Whoever takes `events` also takes arrays of frames. */
export const CLIENT_TAKES: readonly string[] = ["events", "placed"];
/** Names in a `takes`. */
export const MAX_TAKES = 20;
/** Answers in one PLACED. */
export const MAX_PLACED = 1_000;
/** Events in one PUBLISH_MANY. */
export const MAX_MANY = 1_000;
/** Events in one ACK. */
export const MAX_ACKED = 1_000;

/** How far a MODACK moves a deadline. */
export const MAX_EXTEND_MS = 3_600_000;

/** Why a connection ends. */
export const CloseCode = {
  normal: 1000,
  goingAway: 1001,
  tooBig: 1009,
  restart: 1012,
  tryLater: 1013,
  protocol: 4400,
  auth: 4401,
  forbidden: 4403,
  noAuth: 4408,
  fenced: 4409,
  rate: 4429,
  slow: 4430,
} as const;
