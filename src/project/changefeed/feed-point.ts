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

/** Told apart under one revision. */
const STAMPS = 1_024;

export class FeedPoint {
  readonly #registry: Registry;
  readonly #clock: Clock;
  readonly #name: string;
  readonly #owner: string;
  readonly #topic: string;
  readonly #silentMs: number;
  #revision = 0;
  #stamp = 0;
  #signedMs = Number.NEGATIVE_INFINITY;
  #place: FeedPlace | null = null;
  #isForgotten = false;
  /** Documents that were new, of what is being published, by batch; and those that an interrupted run has left. */
  readonly #begun: (readonly string[])[] = [];
  readonly #left = new Set<string>();
  /** One write after the other: each counts on the revision that the one before makes. */
  #writing: Promise<unknown> = Promise.resolve();

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

  /** New documents that may have been published without having been remembered: a scan finds only what it knows of gone. */
  get underWay(): readonly string[] {
    return [...new Set([...this.#left, ...this.#begun.flat()])];
  }

  /** Grows with each, and beyond those of all who ran the feed before: their revisions are lower. */
  stamp(): number {
    const first = this.#revision * STAMPS;
    this.#stamp = Math.max(first, Math.min(this.#stamp + 1, first + STAMPS - 1));
    return this.#stamp;
  }

  /** Before new documents are published. */
  async begin(ids: readonly string[]): Promise<void> {
    this.#begun.push(ids);
    if (ids.length > 0) await this.#write(null, this.#owner);
  }

  /** What was begun first, and with it all of these, is remembered; written down with the next place. */
  finish(ids: Iterable<string>): void {
    this.#begun.shift();
    for (const id of ids) this.#left.delete(id);
  }

  /** Reads where the feed stands; false if another process runs it. */
  async take(): Promise<boolean> {
    const token = await this.#registry.token(this.#name);
    this.#revision = token?.revision ?? 0;
    this.#place = null;
    this.#isForgotten = false;
    this.#forgetUnderWay();
    if (token === null) return true;
    const stored = token.value as unknown as StoredPlace;
    if (stored.owner !== this.#owner && isRunning(stored, this.#silentMs, this.#clock.now())) return false;
    this.#place = EJSON.parse(stored.place) as FeedPlace;
    this.#isForgotten = stored.isForgotten === true;
    for (const id of stored.underWay ?? []) this.#left.add(id);
    await this.#write(null, this.#owner);
    return true;
  }

  /** WRITE_CONFLICT if another process runs the feed by now. */
  async move(place: FeedPlace): Promise<void> {
    const isScanned = this.#place?.phase === "scanning" && place.phase === "following";
    if (isScanned) this.#forgetUnderWay();
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
    if (this.#place !== null && this.#signIsDue) await this.#write(null, this.#owner);
  }

  get #signIsDue(): boolean {
    return this.#clock.steady() - this.#signedMs >= this.#silentMs / 3;
  }

  /** Lets another process take over at once. */
  async leave(): Promise<void> {
    if (this.#place === null) return;
    try {
      await this.#write(null, null);
    } catch (error) {
      if (!BusError.is(error)) throw error;
      // It has been taken over, or the store is away: then it is taken over when the silence has lasted.
    }
  }

  #forgetUnderWay(): void {
    this.#begun.length = 0;
    this.#left.clear();
  }

  /** Without a place, the present one stays. */
  #write(place: FeedPlace | null, owner: string | null, isForgotten = this.#isForgotten): Promise<void> {
    const written = this.#writing.then(() => this.#writeNow(place, owner, isForgotten));
    // Told to whoever asked for it.
    this.#writing = written.catch(() => undefined);
    return written;
  }

  async #writeNow(given: FeedPlace | null, owner: string | null, isForgotten: boolean): Promise<void> {
    const place = given ?? this.#place;
    const { underWay } = this;
    const stored: StoredPlace = {
      owner,
      aliveMs: this.#clock.now(),
      place: EJSON.stringify(place, { relaxed: false }),
      topic: this.#topic,
      silentMs: this.#silentMs,
      ...(isForgotten && { isForgotten }),
      ...(underWay.length > 0 && { underWay }),
    };
    this.#revision = await this.#registry.putToken(this.#name, stored as unknown as JsonObject, {
      expected: this.#revision,
    });
    this.#signedMs = this.#clock.steady();
    this.#place = place;
  }
}
