/**
 * The client of a hub, for browsers and Node: the same verbs as the bus, over one connection that mends itself.
 *
 * A publish has its id from the start and is sent again after a reconnect until it is answered, so nothing is lost
 * and nothing doubled (P3). Subscriptions come back by themselves; events that were being handled when the line broke
 * come again with a higher attempt.
 */
import type { ClientFrame, ErrFrame, PlacedFrame, ServerFrame, SubscribeFrame } from "../hub/protocol.js";
import { systemClock } from "../model/clock.js";
import { BusError, type ErrorCode } from "../model/errors.js";
import type { PublishItem, PublishOptions } from "../model/event-bus.js";
import { Numbered } from "../model/numbered.js";
import { seldomTries } from "../model/told-tries.js";
import { type TopicRef, topicName } from "../model/topic.js";
import {
  type ClientOptions,
  type ClientSubscribeOptions,
  type ClientTrouble,
  checkClientOptions,
  checkSubscribeOptions,
  type Platform,
  RECONNECT,
} from "./client-options.js";
import { Connection, type Status } from "./connection.js";
import { type ClientHandler, Deliveries, type DeliveringFrame, type Subscriber } from "./deliveries.js";
import { publishInParts } from "./parts.js";
import { eventText, publishText } from "./publish-text.js";
import { socketUrl } from "./socket.js";
import { type StatusListener, StatusListeners } from "./status-listeners.js";

/** Where a published event stands. */
export interface Published {
  readonly id: string;
  readonly topic: string;
  readonly partition: number;
  readonly seq: number;
  readonly duplicate?: true;
}

/** A request without an answer: what it says goes out again, as it is, after a reconnect. */
interface Pending {
  readonly corr: number;
  readonly text: string;
  readonly about: About;
  /** It is asked again as long as the hub cannot do it. */
  readonly insists: boolean;
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: BusError) => void;
}

/** A publish, a subscription that is asked for, one that is left, or anything else. */
type About = Pick<Published, "topic" | "id"> | Feed | "leaving" | null;

interface Feed extends Subscriber {
  readonly frame: Omit<SubscribeFrame, "corr">;
  /** Its SUBSCRIBE is among the requests, or was. */
  isAsked: boolean;
  left: boolean;
}

const WAIT_AND_RETRY: ReadonlySet<string> = new Set([
  "RATE_LIMITED",
  "QUEUE_FULL",
  "STORE_UNAVAILABLE",
  "OUTCOME_UNKNOWN",
  // The hub goes down: the next connection has the answer.
  "CLOSED",
]);

/**
 * A line to a hub that mends itself: publishes without an answer are sent again under the same ids, subscriptions asked for again.
 *
 * @example
 * const client = new PromClient("http://localhost:8420", { token });
 * await client.connect();
 * await client.subscribe("orders.placed", "mailer", async (event) => sendMail(event.payload));
 * await client.publish("orders.placed", { order: 7 });
 */
export class PromClient {
  readonly #options: ClientOptions & Platform;
  readonly #connection: Connection;
  /** Requests without an answer, oldest first. */
  readonly #pending = new Numbered<Pending>();
  readonly #feeds = new Map<string, Feed>();
  /** By key: until the hub has let go of a subscription, it takes on no other one like it. */
  readonly #leaving = new Map<string, Promise<unknown>>();
  readonly #listeners: StatusListeners;
  readonly #toldOfTries = seldomTries();
  #deliveries: Deliveries;
  #corr = 0;
  #bufferedChars = 0;

  constructor(url: string, options: ClientOptions & Platform) {
    checkClientOptions(options);
    this.#options = options;
    this.#listeners = new StatusListeners(options.onTrouble);
    this.#connection = new Connection({
      url: socketUrl(url),
      makeSocket: options.makeSocket,
      // Not the function itself: as a member of something else, browsers refuse it.
      defer: options.defer ?? ((callback) => queueMicrotask(callback)),
      getToken: async () => options.getToken?.() ?? options.token,
      retry: { ...RECONNECT, ...options.retry },
      pingMs: options.pingMs ?? 20_000,
      onFrame: (frame) => this.#receive(frame),
      onPlaced: (corr, partition, seq) => this.#placedOne(corr, partition, seq),
      onOnline: () => this.#resume(),
      onOffline: () => this.#wentOffline(),
      onTooLarge: () => this.#giveUpLargest(),
      onStatus: (status, error) => this.#statusChanged(status, error),
      onUnreachable: (reason = unreachable(url)) => this.#options.onTrouble({ error: reason }),
      onWake: options.onWake ?? (() => () => undefined),
    });
    this.#deliveries = this.#newDeliveries();
  }

  get status(): Status {
    return this.#connection.status;
  }

  /** For what works through it and is not waited for, such as a drainer of an outbox: what it tells goes where the client's troubles go. */
  get onTrouble(): (trouble: ClientTrouble) => void {
    return this.#options.onTrouble;
  }

  /** Told of every change of status. Returns how to stop that. */
  onStatus(listener: StatusListener): () => void {
    return this.#listeners.add(listener);
  }

  /**
   * Resolves when the hub has recognised the token, or needs none; rejects if it refused it, or wants one and there is none. Mends
   * itself from then on. While no hub answers it goes on trying: `onStatus` tells, and `close` ends it.
   */
  async connect(): Promise<void> {
    if (this.status === "online") return;
    if (this.status === "closed") throw closed();
    await new Promise<void>((resolve, reject) => {
      const stop = this.onStatus((status, error) => {
        if (status === "online") resolve();
        else if (status === "closed") reject(error ?? closed());
        if (status === "online" || status === "closed") stop();
      });
      this.#connection.open();
    });
  }

  /**
   * Resolves once the event is stored. What the hub cannot take for now (a limit, a store that is away) is sent again until it does, behind
   * what was published meanwhile: wait for the answer to one before the next where their order matters.
   */
  publish<T>(topic: TopicRef<T>, payload: NoInfer<T>, options: PublishOptions = {}): Promise<Published> {
    const about = { topic: topicName(topic), id: options.id ?? systemClock.newId() };
    return this.#request((corr) => publishText(about, payload, options, corr), about) as Promise<Published>;
  }

  async publishMany<T>(topic: TopicRef<T>, items: readonly PublishItem<NoInfer<T>>[]): Promise<Published[]> {
    return Promise.all(items.map(({ payload, ...options }) => this.publish(topic, payload, options)));
  }

  /**
   * As `publishMany` of a bus: in one ordered request, so that none of a key passes an earlier one that is refused, and without waiting
   * for the answer to each. What the hub cannot take for now is told, not sent again: the error's `details.failed` says which are not in
   * the log. UNSUPPORTED, with nothing sent, of a hub that takes no such request.
   */
  async publishTogether<T>(
    topic: TopicRef<T>,
    items: readonly PublishItem<NoInfer<T>>[],
  ): Promise<Published[]> {
    await this.connect();
    if (!this.#connection.takes("many")) throw new BusError("UNSUPPORTED", "this hub takes no PUBLISH_MANY");
    const name = topicName(topic);
    const ask = (events: string): Promise<unknown> =>
      this.#request(
        (corr) =>
          `{"type":"PUBLISH_MANY","corr":${corr},"topic":${JSON.stringify(name)},"events":[${events}]}`,
      );
    return publishInParts(items.map(eventText), this.#connection.messageChars, ask);
  }

  /**
   * Resolves when the hub has taken the subscription on. It is asked for again after every reconnect; `onTrouble` is told
   * if the hub refuses it then.
   */
  async subscribe<T = unknown>(
    topic: TopicRef<T>,
    group: string,
    handler: ClientHandler<T>,
    options: ClientSubscribeOptions = {},
  ): Promise<() => Promise<void>> {
    checkSubscribeOptions(options);
    const { manualAck = false, ...opts } = options;
    const name = topicName(topic);
    const frame = { type: "SUBSCRIBE", topic: name, group, opts } satisfies SubscribeFrame;
    const key = keyOf(name, group);
    if (typeof handler !== "function") throw new BusError("INVALID_OPTION", "the handler is a function");
    if (this.status === "closed") throw closed();
    if (this.#feeds.has(key))
      throw new BusError("INVALID_OPTION", `this client has a subscription of ${name} for ${group}`);
    const givesUp = options.deadLetter !== false;
    const own = { handler: handler as ClientHandler, manualAck, givesUp };
    const feed: Feed = { frame, ...own, isAsked: false, left: false };
    this.#feeds.set(key, feed);
    try {
      if (this.#leaving.has(key)) await this.#leaving.get(key);
      if (feed.left) throw leftEarly(feed);
      feed.isAsked = true;
      await this.#request((corr) => JSON.stringify({ ...frame, corr }), feed);
    } catch (error) {
      this.#leave(key, feed);
      throw error;
    }
    return () => this.unsubscribe(name, group);
  }

  /** Resolves when the hub hands out nothing more to it. */
  async unsubscribe(topic: string, group: string): Promise<void> {
    const key = keyOf(topic, group);
    const feed = this.#feeds.get(key);
    if (feed === undefined) return;
    this.#leave(key, feed);
    if (this.status === "online" && feed.isAsked) await this.#tellLeft(key, feed);
    else for (const pending of this.#pending.all()) if (isOver(pending)) this.#giveUp(pending);
  }

  #leave(key: string, feed: Feed): void {
    feed.left = true;
    if (this.#feeds.get(key) === feed) this.#feeds.delete(key);
  }

  /** There is always room for it, and it is said until it is heard: what is leased to nobody here would wait for its deadline. */
  async #tellLeft(key: string, { frame: { topic, group } }: Feed): Promise<void> {
    const frame = { type: "UNSUBSCRIBE", topic, group } satisfies ClientFrame;
    const told = this.#ask((corr) => JSON.stringify({ ...frame, corr }), "leaving").catch(
      (error: unknown) => {
        // The hub had refused it, or it was ended there.
        if (!BusError.is(error) || error.code !== "NOT_FOUND") throw error;
      },
    );
    const over = told.catch(ignore);
    this.#leaving.set(key, over);
    await over;
    if (this.#leaving.get(key) === over) this.#leaving.delete(key);
    await told;
  }

  /** Ends the connection. What was settled is still told to the hub; what has no answer yet is rejected with CLOSED. */
  async close(): Promise<void> {
    this.#connection.close();
  }

  #request(textOf: (corr: number) => string, about: About = null): Promise<unknown> {
    return this.#ask(textOf, about, true);
  }

  #ask(textOf: (corr: number) => string, about: About, demandsRoom = false): Promise<unknown> {
    return new Promise((resolve, reject) => {
      if (this.status === "closed") throw closed();
      const corr = ++this.#corr;
      const text = textOf(corr);
      if (demandsRoom) this.#demandRoom(text.length);
      const insists = isPublish(about) || about === "leaving";
      this.#await({ corr, text, about, insists, resolve, reject });
      if (this.status === "online") this.#connection.sendText(text);
      else this.#connection.open();
    });
  }

  #await(pending: Pending): void {
    this.#pending.add(pending.corr, pending);
    this.#bufferedChars += pending.text.length;
  }

  #demandRoom(chars: number): void {
    const { maxBuffered = 10_000, maxBufferedBytes = 16_777_216 } = this.#options;
    if (this.#pending.size < maxBuffered && this.#bufferedChars + chars <= maxBufferedBytes) return;
    const waiting = `${this.#pending.size} requests wait for an answer`;
    throw new BusError("QUEUE_FULL", `${waiting}; await them to slow down`);
  }

  /** Subscriptions first, then whatever was not answered, in its order. */
  #resume(): void {
    this.#deliveries = this.#newDeliveries();
    const pending = this.#pending.all();
    const asked = new Set<unknown>(pending.map(({ about }) => about));
    for (const feed of this.#feeds.values()) if (feed.isAsked && !asked.has(feed)) this.#comeBack(feed);
    for (const { text } of pending) this.#connection.sendText(text);
  }

  /** The next connection has none of the subscriptions that were left on this one. */
  #wentOffline(): void {
    this.#deliveries.end();
    for (const pending of this.#pending.all()) if (isOver(pending)) this.#giveUp(pending);
  }

  /** Nobody waits for what it asks. */
  #giveUp(pending: Pending): void {
    const { about, resolve, reject } = pending;
    this.#forget(pending);
    if (isFeed(about)) reject(leftEarly(about));
    else resolve(undefined);
  }

  #newDeliveries(): Deliveries {
    return new Deliveries(this.#connection, this.#options.onTrouble, this.#toldOfTries);
  }

  /** Nobody waits for it, and there is always room for it: a subscriber was promised that. */
  #comeBack(feed: Feed): void {
    const corr = ++this.#corr;
    const text = JSON.stringify({ ...feed.frame, corr });
    const reject = (error: BusError): void => this.#refused(feed, error);
    this.#await({ corr, text, about: feed, insists: true, resolve: ignore, reject });
    this.#connection.sendText(text);
  }

  /** It stays among the feeds: the next connection may have another token, or go to another hub. */
  #refused({ frame: { topic, group }, left }: Feed, { code, message }: BusError): void {
    if (left || this.status === "closed") return;
    const what = `the hub does not take on the subscription of ${topic} for ${group} again: ${message}`;
    const error = new BusError(code, `${what}; the next connection asks once more`);
    this.#options.onTrouble({ error, topic, group });
  }

  /**
   * The hub closed the connection for the size of a message. One that held a single frame would be refused for ever, so
   * that frame is given up; otherwise fewer go together.
   */
  #giveUpLargest(): void {
    let largest: Pending | undefined;
    for (const pending of this.#pending.all())
      if (pending.text.length > (largest?.text.length ?? 0)) largest = pending;
    if (largest === undefined || largest.text.length <= this.#connection.messageChars) {
      this.#connection.shrinkMessages();
      return;
    }
    this.#forget(largest);
    const size = `${largest.text.length} characters`;
    largest.reject(new BusError("PAYLOAD_TOO_LARGE", `the hub does not take a message of ${size}`));
  }

  #receive(frame: ServerFrame): void {
    if (frame.type === "EVENTS" || frame.type === "EVENT") {
      this.#deliver(frame);
      return;
    }
    if (frame.type === "PLACED") {
      this.#placed(frame);
      return;
    }
    if (frame.type === "PONG" || typeof frame.corr !== "number") return;
    const pending = this.#pending.get(frame.corr);
    if (pending === undefined) return;
    if (frame.type === "ERR" && goesOnAsking(pending, frame.code)) {
      systemClock.setTimer(frame.retry_after_ms ?? 200, () => this.#again(pending));
      return;
    }
    this.#forget(pending);
    if (frame.type === "OK") pending.resolve(frame.result);
    else pending.reject(refusal(frame));
  }

  #placed({ corrs, partition, seq }: PlacedFrame): void {
    let at = seq;
    for (const corr of corrs) this.#placedOne(corr, partition, at++);
  }

  #placedOne(corr: number, partition: number, seq: number): void {
    const pending = this.#pending.get(corr);
    if (pending === undefined || !isPublish(pending.about)) return;
    this.#forget(pending);
    const { id, topic } = pending.about;
    pending.resolve({ id, topic, partition, seq } satisfies Published);
  }

  #again(pending: Pending): void {
    if (this.#pending.get(pending.corr) === undefined) return;
    if (isFeed(pending.about) && pending.about.left) this.#giveUp(pending);
    else if (this.status === "online") this.#connection.sendText(pending.text);
  }

  #deliver(frame: DeliveringFrame): void {
    const feed = this.#feeds.get(keyOf(frame.subscription ?? frame.topic, frame.group));
    // What comes before it is asked for was leased to the one that was left, and goes back.
    if (feed?.isAsked) this.#deliveries.runAll(frame, feed);
  }

  #statusChanged(status: Status, error?: BusError): void {
    this.#listeners.tell(status, error);
    if (status !== "closed") return;
    for (const pending of this.#pending.all()) {
      if (pending.about === "leaving") {
        this.#giveUp(pending);
        continue;
      }
      this.#forget(pending);
      pending.reject(error ?? closed());
    }
  }

  #forget(pending: Pending): void {
    this.#pending.take(pending.corr);
    this.#bufferedChars -= pending.text.length;
  }
}

function keyOf(topic: string, group: string): string {
  return `${topic}\n${group}`;
}

/** A subscription that is new is refused only by a hub that stays. */
function goesOnAsking({ insists, about }: Pending, code: string): boolean {
  return insists ? WAIT_AND_RETRY.has(code) : code === "CLOSED" && isFeed(about);
}

function isPublish(about: About): about is Pick<Published, "topic" | "id"> {
  return typeof about === "object" && about !== null && "id" in about;
}

function isFeed(about: About): about is Feed {
  return typeof about === "object" && about !== null && "frame" in about;
}

/** What it asks for has no meaning on another connection. */
function isOver({ about }: Pending): boolean {
  return about === "leaving" || (isFeed(about) && about.left);
}

function leftEarly({ frame: { topic, group } }: Feed): BusError {
  return new BusError(
    "ABORTED",
    `the subscription of ${topic} for ${group} was left before the hub had taken it on`,
  );
}

function refusal({ code, msg, failed }: ErrFrame): BusError {
  return new BusError(code as ErrorCode, msg, failed === undefined ? {} : { details: { failed } });
}

function ignore(): void {}

function unreachable(url: string): BusError {
  const { origin } = new URL(socketUrl(url).replace(/^ws/, "http"));
  const page = (globalThis as { readonly location?: { readonly origin?: string } }).location?.origin;
  // A page is not told that it was refused, let alone why.
  const refused =
    page === undefined || page === origin ? "" : `, or it takes no pages of ${page} (its option \`origins\`)`;
  return new BusError(
    "STORE_UNAVAILABLE",
    `no hub answers at ${origin}${refused}; the client goes on trying`,
  );
}

function closed(): BusError {
  return new BusError("CLOSED", "this client is closed");
}
