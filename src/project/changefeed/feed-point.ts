/**
 * Where a feed stands, in one entry of the registry: what it does, from which token it goes on, and who runs it.
 *
 *   (none) --first start--> scanning --scan done--> following --place lost, or forgotten--> scanning (next run)
 *
 * Each write must find the revision that was read, so of two processes that believe they run the feed one learns that
 * it does not (P7). Whoever runs it says so now and then; only when that stops does another one take over.
 */
import { BSON, type ResumeToken, type Timestamp } from "mongodb";
import type { Clock } from "../../model/clock.js";
import { BusError } from "../../model/errors.js";
import type { JsonObject } from "../../model/json.js";
import type { Registry } from "../../ports/registry.js";
import type { StreamStart } from "./change-cursor.js";
import { FEED_PREFIX, isRunning, type StoredPlace } from "./running-feeds.js";

const { EJSON } = BSON;

export type FeedPlace =
  /** Comparing the collection with what was published; goes on with the changes since `at`. */
  | { readonly phase: "scanning"; readonly run: number; readonly at: Timestamp; readonly reason: string }
  | { readonly phase: "following"; readonly run: number; readonly start: StreamStart };

export interface FeedPointOptions {
  readonly name: string;
  /** Where the feed publishes. */
  readonly topic: string;
  /** After this long without a sign of life the feed is taken over. */
  readonly silentMs: number;
}

export class FeedPoint {
  readonly #registry: Registry;
  readonly #clock: Clock;
  readonly #name: string;
  readonly #owner: string;
  readonly #topic: string;
  readonly #silentMs: number;
  #revision = 0;
  #signedMs = Number.NEGATIVE_INFINITY;
  #place: FeedPlace | null = null;
  #isForgotten = false;

  constructor(registry: Registry, clock: Clock, { name, topic, silentMs }: FeedPointOptions) {
    this.#registry = registry;
    this.#clock = clock;
    this.#name = FEED_PREFIX + name;
    this.#owner = clock.newId();
    this.#topic = topic;
    this.#silentMs = silentMs;
  }

  get place(): FeedPlace | null {
    return this.#place;
  }

  /** What was published by this place was removed (feed-removal.ts): only a scan leads on from it. */
  get isForgotten(): boolean {
    return this.#isForgotten;
  }

  /** Reads where the feed stands; false if another process runs it. */
  async take(): Promise<boolean> {
    const token = await this.#registry.token(this.#name);
    this.#revision = token?.revision ?? 0;
    this.#place = null;
    this.#isForgotten = false;
    if (token === null) return true;
    const stored = token.value as unknown as StoredPlace;
    if (stored.owner !== this.#owner && isRunning(stored, this.#silentMs, this.#clock.now())) return false;
    this.#place = EJSON.parse(stored.place) as FeedPlace;
    this.#isForgotten = stored.isForgotten === true;
    await this.#write(this.#place, this.#owner);
    return true;
  }

  /** WRITE_CONFLICT if another process runs the feed by now. */
  async move(place: FeedPlace): Promise<void> {
    await this.#write(place, this.#owner, false);
    this.#isForgotten = false;
  }

  /** The token of a batch that brought nothing: kept now and then. */
  async idle(token: ResumeToken, run: number): Promise<void> {
    if (!this.#signIsDue) return;
    await this.move({ phase: "following", run, start: { after: token } });
  }

  /** A sign of life in the middle of long work. */
  async sign(): Promise<void> {
    if (this.#place !== null && this.#signIsDue) await this.#write(this.#place, this.#owner);
  }

  get #signIsDue(): boolean {
    return this.#clock.steady() - this.#signedMs >= this.#silentMs / 3;
  }

  /** Lets another process take over at once. */
  async leave(): Promise<void> {
    if (this.#place === null) return;
    try {
      await this.#write(this.#place, null);
    } catch (error) {
      if (!BusError.is(error)) throw error;
      // It has been taken over, or the store is away: then it is taken over when the silence has lasted.
    }
  }

  async #write(place: FeedPlace, owner: string | null, isForgotten = this.#isForgotten): Promise<void> {
    const stored: StoredPlace = {
      owner,
      aliveMs: this.#clock.now(),
      place: EJSON.stringify(place, { relaxed: false }),
      topic: this.#topic,
      silentMs: this.#silentMs,
      ...(isForgotten && { isForgotten }),
    };
    this.#revision = await this.#registry.putToken(this.#name, stored as unknown as JsonObject, {
      expected: this.#revision,
    });
    this.#signedMs = this.#clock.steady();
    this.#place = place;
  }
}
