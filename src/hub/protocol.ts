/**
 * The frames of the WebSocket protocol, as types only: the client shares them. Each frame is a JSON object with a `type`;
 * a message is one frame or an array of frames. Any request may carry `corr`, which its answer repeats. PROTOCOL.md
 * tells the whole story.
 */
import type { PublishOptions, SubscribeOptions } from "../model/event-bus.js";

/** Any JSON value that fits in a few bytes; comes back in the answer. */
export type Corr = string | number;

/** What a subscriber may ask for over the wire: no functions, no signals. */
export type WireSubscribeOptions = Omit<SubscribeOptions, "filter" | "signal" | "manualAck">;

interface Request {
  readonly corr?: Corr;
}

export interface AuthFrame extends Request {
  readonly type: "AUTH";
  readonly token: string;
}

export interface PublishFrame extends Request, PublishOptions {
  readonly type: "PUBLISH";
  readonly topic: string;
  readonly payload: unknown;
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

/** Which delivery is meant: the lease is (id, attempt, epoch); the last two guard against a stale answer (P6). */
interface Lease extends Request {
  readonly topic: string;
  readonly group: string;
  readonly id: string;
  readonly attempt?: number;
  readonly epoch?: number;
}

export interface AckFrame extends Lease {
  readonly type: "ACK";
}

/** Many of the same attempt and epoch at once, to a hub whose greeting says that it takes `ids`. */
export interface AckManyFrame extends Omit<Lease, "id"> {
  readonly type: "ACK";
  readonly ids: readonly string[];
}

export interface NackFrame extends Lease {
  readonly type: "NACK";
  readonly reason?: string;
}

export interface ModackFrame extends Lease {
  readonly type: "MODACK";
  readonly extend_ms: number;
}

export interface PauseFrame extends Request {
  readonly type: "PAUSE" | "RESUME";
  /** Of one subscription, or of all if absent. */
  readonly topic?: string;
  readonly group?: string;
}

export interface PingFrame extends Request {
  readonly type: "PING";
}

export type ClientFrame =
  | AuthFrame
  | PublishFrame
  | SubscribeFrame
  | UnsubscribeFrame
  | AckFrame
  | AckManyFrame
  | NackFrame
  | ModackFrame
  | PauseFrame
  | PingFrame;

export interface OkFrame {
  readonly type: "OK";
  readonly corr?: Corr;
  /** PUBLISH: where the event stands. AUTH: who was recognised, until when, and what the hub takes. */
  readonly result?: unknown;
}

export interface ErrFrame {
  readonly type: "ERR";
  readonly code: string;
  readonly msg: string;
  readonly corr?: Corr;
  readonly retry_after_ms?: number;
}

export interface EventFrame {
  readonly type: "EVENT";
  readonly topic: string;
  readonly group: string;
  /** An EventRecord, in the bytes that were stored. */
  readonly event: unknown;
  readonly ctx: {
    readonly attempt: number;
    readonly max_attempts: number;
    readonly epoch: number;
    readonly ack_deadline_ms: number;
  };
}

export interface PongFrame {
  readonly type: "PONG";
  readonly corr?: Corr;
}

export type ServerFrame = OkFrame | ErrFrame | EventFrame | PongFrame;

/** What this hub takes beyond the first version of the protocol: told to those who greet it. */
export const TAKES: readonly string[] = ["ids"];
/** In one ACK. */
export const MAX_ACKED_IDS = 1_000;

/** Why a connection ends. */
export const CloseCode = {
  normal: 1000,
  goingAway: 1001,
  tooBig: 1009,
  restart: 1012,
  protocol: 4400,
  auth: 4401,
  forbidden: 4403,
  noAuth: 4408,
  fenced: 4409,
  rate: 4429,
  slow: 4430,
} as const;
