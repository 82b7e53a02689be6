/** Bounds of the hub (P13), and the token bucket that keeps rates. */

export interface HubLimits {
  /** HTTP body and WebSocket message, in bytes. */
  readonly maxBodyBytes: number;
  /** One line of NDJSON. */
  readonly maxLineBytes: number;
  /** WebSockets. */
  readonly maxConnections: number;
  /** Connections that are no WebSockets, those that wait for a request included. */
  readonly maxHttpConnections: number;
  readonly maxConnectionsPerSubject: number;
  readonly maxSubscriptionsPerConnection: number;
  /** Frames and publishes a second, sustained; a burst of twice that is let through. */
  readonly framesPerSecond: number;
  readonly publishesPerSecondPerTopic: number;
  /** Bytes waiting for a slow reader: beyond it nothing more is sent to it. */
  readonly maxSendBufferBytes: number;
  /** How long a reader may stay behind before it is cut off; it has as long again to read why. */
  readonly slowConsumerMs: number;
  readonly authTimeoutMs: number;
  /** How long the head of a request may take. */
  readonly headTimeoutMs: number;
  /** How long a connection over HTTP is kept for the next request. */
  readonly keepAliveMs: number;
  readonly maxInFlightPerSubscription: number;
}

/** What a hub takes unless it is told otherwise. */
export const DEFAULT_HUB_LIMITS: HubLimits = {
  maxBodyBytes: 1_048_576,
  maxLineBytes: 1_048_576,
  maxConnections: 10_000,
  maxHttpConnections: 10_000,
  maxConnectionsPerSubject: 2_000,
  maxSubscriptionsPerConnection: 100,
  framesPerSecond: 200_000,
  publishesPerSecondPerTopic: 200_000,
  maxSendBufferBytes: 1_048_576,
  slowConsumerMs: 30_000,
  authTimeoutMs: 5_000,
  headTimeoutMs: 15_000,
  keepAliveMs: 5_000,
  maxInFlightPerSubscription: 1_000,
};

/** No name of a topic is longer: what is, is not kept in memory beyond its frame. */
export const MAX_NAME_CHARS = 300;

/** Lets `perSecond` through, and up to two seconds' worth at once. Time is an argument. */
export class TokenBucket {
  readonly #perSecond: number;
  #tokens: number;
  #atMs: number;

  constructor(perSecond: number, nowMs: number) {
    this.#perSecond = perSecond;
    this.#tokens = perSecond * 2;
    this.#atMs = nowMs;
  }

  /** 0 if `count` may pass now; otherwise how many milliseconds to wait. */
  take(count: number, nowMs: number): number {
    this.#tokens = Math.min(
      this.#perSecond * 2,
      this.#tokens + ((nowMs - this.#atMs) / 1_000) * this.#perSecond,
    );
    this.#atMs = nowMs;
    if (this.#tokens >= count) {
      this.#tokens -= count;
      return 0;
    }
    return Math.ceil(((count - this.#tokens) / this.#perSecond) * 1_000);
  }
}
