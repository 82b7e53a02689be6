/**
 * The client of a hub, for browsers and Node: the same verbs as the bus, over one connection that mends itself.
 *
 * A publish has its id from the start and is sent again after a reconnect until it is answered, so nothing is lost
 * and nothing doubled (P3). Subscriptions come back by themselves; events that were being handled when the line broke
 * come again with a higher attempt.
 */
import type { ClientFrame, ServerFrame, SubscribeFrame } from "../hub/protocol.js";
import { systemClock } from "../model/clock.js";
import { BusError } from "../model/errors.js";
import type { PublishItem, PublishOptions } from "../model/event-bus.js";
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
import { withDefinedKey } from "./defined-key.js";
import { type ClientHandler, Deliveries, type DeliveringFrame, type Subscriber } from "./deliveries.js";
import { publishInParts } from "./parts.js";
import { eventText, publishText } from "./publish-text.js";
import { type Asked, closed, leftEarly, type Published, Requests } from "./requests.js";
import { socketUrl } from "./socket.js";
import { type StatusListener, StatusListeners } from "./status-listeners.js";

interface Feed extends Subscriber, Asked {
  readonly frame: Omit<SubscribeFrame, "corr">;
  /** Its SUBSCRIBE is among the requests, or was. */
  isAsked: boolean;
  left: boolean;
}

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
  readonly #requests: Requests;
  readonly #feeds = new Map<string, Feed>();
  /** By key: until the hub has let go of a subscription, it takes on no other one like it. */
  readonly #leaving = new Map<string, Promise<unknown>>();
  readonly #listeners: StatusListeners;
  readonly #toldOfTries = seldomTries();
  #deliveries: Deliveries;

  constructor(url: string, options: ClientOptions & Platform) {
    checkClientOptions(options);
    this.#options = options;
    this.#listeners = new StatusListeners(options.onTrouble);
    this.#connection = new Connection({
      url: socketUrl(url),
      makeSocket: options.makeSocket,
      // Not the function itself: as a member of something else, browsers refuse it.
      defer: options.defer ?? ((callback) => queueMicrotask(callback)),
      // An empty one, of a variable that is not set, is none.
      getToken: async () => options.getToken?.() ?? (options.token || undefined),
      retry: { ...RECONNECT, ...options.retry },
      pingMs: options.pingMs ?? 20_000,
      onFrame: (frame) => this.#receive(frame),
      onPlaced: (corr, partition, seq) => this.#requests.placedOne(corr, partition, seq),
      onOnline: () => this.#resume(),
      onOffline: () => this.#wentOffline(),
      onTooLarge: () => this.#requests.giveUpLargest(),
      onStatus: (status, error) => this.#statusChanged(status, error),
      onUnreachable: (reason = unreachable(url)) => this.#options.onTrouble({ error: reason }),
      onWake: options.onWake ?? (() => () => undefined),
    });
    const { maxBuffered = 10_000, maxBufferedBytes = 16_777_216 } = options;
    this.#requests = new Requests(this.#connection, { requests: maxBuffered, chars: maxBufferedBytes });
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
    return this.#requests.ask(
      (corr) => publishText(about, payload, withDefinedKey(topic, payload, options), corr),
      about,
    ) as Promise<Published>;
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
      this.#requests.ask(
        (corr) =>
          `{"type":"PUBLISH_MANY","corr":${corr},"topic":${JSON.stringify(name)},"events":[${events}]}`,
      );
    const texts = items.map((item) => eventText(withDefinedKey(topic, item.payload, item)));
    return publishInParts(texts, this.#connection.messageChars, ask);
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
      await this.#requests.ask((corr) => JSON.stringify({ ...frame, corr }), feed);
    } catch (error) {
      this.#leave(key, feed);
      throw error;
    }
    return () => this.unsubscribe(name, group);
  }

  /** Resolves when the hub hands out nothing more to it. */
  async unsubscribe(topic: TopicRef, group: string): Promise<void> {
    const key = keyOf(topicName(topic), group);
    const feed = this.#feeds.get(key);
    if (feed === undefined) return;
    this.#leave(key, feed);
    if (this.status === "online" && feed.isAsked) await this.#tellLeft(key, feed);
    else this.#requests.giveUpLeft();
  }

  #leave(key: string, feed: Feed): void {
    feed.left = true;
    if (this.#feeds.get(key) === feed) this.#feeds.delete(key);
  }

  async #tellLeft(key: string, { frame: { topic, group } }: Feed): Promise<void> {
    const frame = { type: "UNSUBSCRIBE", topic, group } satisfies ClientFrame;
    const told = this.#requests
      .leave((corr) => JSON.stringify({ ...frame, corr }))
      .catch((error: unknown) => {
        // The hub had refused it, or it was ended there.
        if (!BusError.is(error) || error.code !== "NOT_FOUND") throw error;
      });
    const over = told.catch(() => undefined);
    this.#leaving.set(key, over);
    await over;
    if (this.#leaving.get(key) === over) this.#leaving.delete(key);
    await told;
  }

  /** Ends the connection. What was settled is still told to the hub; what has no answer yet is rejected with CLOSED. */
  async close(): Promise<void> {
    this.#connection.close();
  }

  #resume(): void {
    this.#deliveries = this.#newDeliveries();
    const feeds = [...this.#feeds.values()].filter(({ isAsked }) => isAsked);
    this.#requests.resume(feeds, (feed) => this.#comeBack(feed));
  }

  /** The next connection has none of the subscriptions that were left on this one. */
  #wentOffline(): void {
    this.#deliveries.end();
    this.#requests.giveUpLeft();
  }

  #newDeliveries(): Deliveries {
    return new Deliveries(this.#connection, this.#options.onTrouble, this.#toldOfTries);
  }

  #comeBack(feed: Feed): void {
    const ask = (corr: number): string => JSON.stringify({ ...feed.frame, corr });
    this.#requests.insist(ask, feed, (error) => this.#refused(feed, error));
  }

  /** It stays among the feeds: the next connection may have another token, or go to another hub. */
  #refused({ frame: { topic, group }, left }: Feed, { code, message }: BusError): void {
    if (left || this.status === "closed") return;
    const what = `the hub does not take on the subscription of ${topic} for ${group} again: ${message}`;
    const error = new BusError(code, `${what}; the next connection asks once more`);
    this.#options.onTrouble({ error, topic, group });
  }

  #receive(frame: ServerFrame): void {
    if (frame.type === "EVENTS" || frame.type === "EVENT") this.#deliver(frame);
    else if (frame.type === "PLACED") this.#requests.placed(frame);
    else if (frame.type !== "PONG") this.#requests.answered(frame);
  }

  #deliver(frame: DeliveringFrame): void {
    const feed = this.#feeds.get(keyOf(frame.subscription ?? frame.topic, frame.group));
    // What comes before it is asked for was leased to the one that was left, and goes back.
    if (feed?.isAsked) this.#deliveries.runAll(frame, feed);
  }

  #statusChanged(status: Status, error?: BusError): void {
    this.#listeners.tell(status, error);
    if (status === "closed") this.#requests.close(error ?? closed());
  }
}

function keyOf(topic: string, group: string): string {
  return `${topic}\n${group}`;
}

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
