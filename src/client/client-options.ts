/** What a client is told: its own options, and those of a subscription. A name that it does not know is an error. */
import type { WireSubscribeOptions } from "../hub/protocol.js";
import { MOST_DELAY_MS } from "../model/clock.js";
import { BusError } from "../model/errors.js";
import { checkOptionNames, namesOf } from "../model/known-options.js";
import { checkRetry, type RetryPolicy } from "../model/retry.js";
import type { SocketMaker } from "./socket.js";

/** What a client is told: its token, how much it keeps while there is no answer, and whom to tell of trouble. */
export interface ClientOptions {
  /** For a hub that wants one. */
  readonly token?: string;
  /** Asked before each connection: for tokens that run out. */
  readonly getToken?: () => string | Promise<string>;
  /** Publishes kept while there is no connection, or no answer yet. Default 10,000 events and 16 MiB. */
  readonly maxBuffered?: number;
  /** The same in bytes. */
  readonly maxBufferedBytes?: number;
  /** How long to wait between connections. Default: 100 ms, then twice as long each, 10 s at most. */
  readonly retry?: Partial<RetryPolicy>;
  /** How often to make sure that the line is alive; 24 days at most. Default 20,000. */
  readonly pingMs?: number;
  /**
   * Told of what nobody waits for: a subscription that the hub refuses after a reconnect, and that no hub answers, or no
   * token can be got (after five tries, once until one does), that a handler failed (HANDLER_FAILED: of each group one try a minute, and
   * each last one, `givenUp`), that a listener of `onStatus` failed, and
   * of entries that an outbox drainer cannot publish through the client. Default: a process warning, in browsers one of the console, once a minute for each code.
   */
  readonly onTrouble?: (trouble: ClientTrouble) => void;
  /** For other WebSockets than the platform's. */
  readonly makeSocket?: SocketMaker;
}

/** `error.code` is what the hub said, FORBIDDEN for example, with the topic and the group it is about; STORE_UNAVAILABLE if none answers, UNAUTHENTICATED if `getToken` fails, HANDLER_FAILED with what a handler threw as its `cause`. */
export interface ClientTrouble {
  readonly error: BusError;
  readonly topic?: string;
  readonly group?: string;
  /** Nothing is tried again by itself: the event had its last try, or the entry of an outbox is dead. */
  readonly givenUp?: true;
}

/** What differs between browsers and Node. */
export interface Platform {
  readonly makeSocket: SocketMaker;
  /** Never throws. */
  readonly onTrouble: (trouble: ClientTrouble) => void;
  /** When frames that wait to go together are sent. Default: as a microtask. */
  readonly defer?: (callback: () => void) => void;
  /** Calls back when the network may be back, or somebody looks again. Returns how to end that. Default: never. */
  readonly onWake?: (callback: () => void) => () => void;
}

/** What a subscription over a hub may ask for: as on a bus, less what is a function. */
export interface ClientSubscribeOptions extends WireSubscribeOptions {
  /** An event is settled by `ctx.ack` or `ctx.nack`, not by the handler's return. */
  readonly manualAck?: boolean;
}

export const RECONNECT: RetryPolicy = { baseMs: 100, maxMs: 10_000, factor: 2, jitter: 0.5 };

const CLIENT = namesOf<ClientOptions>({
  token: true,
  getToken: true,
  maxBuffered: true,
  maxBufferedBytes: true,
  retry: true,
  pingMs: true,
  onTrouble: true,
  makeSocket: true,
});

const SUBSCRIBE = namesOf<ClientSubscribeOptions>({
  from: true,
  ts: true,
  afterId: true,
  batchSize: true,
  maxInFlight: true,
  ackTimeoutMs: true,
  maxAttempts: true,
  retry: true,
  deadLetter: true,
  ordering: true,
  manualAck: true,
});

export function checkClientOptions({ defer: _, onWake: __, ...options }: ClientOptions & Platform): void {
  checkOptionNames("a client", options, CLIENT);
  checkRetry(options.retry ?? {});
  const { maxBuffered, maxBufferedBytes, pingMs } = options;
  checkNumber("maxBuffered", maxBuffered);
  checkNumber("maxBufferedBytes", maxBufferedBytes);
  checkNumber("pingMs", pingMs, MOST_DELAY_MS);
}

function checkNumber(name: string, value: unknown, most = Number.POSITIVE_INFINITY): void {
  if (value === undefined || (typeof value === "number" && value > 0 && value <= most)) return;
  const upTo = Number.isFinite(most) ? `, ${most} at most` : "";
  throw new BusError("INVALID_OPTION", `${name} must be a number above 0${upTo}`);
}

/** Here, not at the hub: a function is not sent, and would count as not given. */
export function checkSubscribeOptions(options: ClientSubscribeOptions): void {
  checkOptionNames("subscribe", options, SUBSCRIBE);
}
