/** The parts of a bus, made and wired once; every bus derived from it shares them. */

import { setMaxListeners } from "node:events";
import { deadLetterDraft, type GivenUp, givenUpTrouble } from "../consume/dead-letter.js";
import { type FailedTry, failedTryTrouble } from "../consume/failed-try.js";
import type { RunnerOptions } from "../consume/group-runner.js";
import { Membership } from "../consume/membership.js";
import { type GroupMode, groupPolicy } from "../consume/options.js";
import { Tail } from "../consume/tail.js";
import { BusError } from "../model/errors.js";
import type { StoredEvent } from "../model/event.js";
import { mapInTurns } from "../model/map-in-turns.js";
import { Meters } from "../model/meter.js";
import { DEFAULT_RETRY } from "../model/retry.js";
import { TaskBoard } from "../model/task.js";
import { seldomTries } from "../model/told-tries.js";
import { deadLetterTopic, isPattern, type TopicConfig, type TopicRef, topicName } from "../model/topic.js";
import type { Fence, GroupPartition } from "../ports/groups.js";
import type { Signal } from "../ports/store.js";
import { ViewPointers } from "../project/views/view-pointer.js";
import { Publisher } from "../publish/publisher.js";
import { FollowedPatterns } from "./followed-patterns.js";
import { GroupPauses } from "./group-pauses.js";
import type { Settings } from "./options.js";
import { Publishing } from "./publishing.js";
import { acquireStore, releaseStore } from "./shared-store.js";
import { type Subscription, Subscriptions, TOPICS_AT_ONCE, takesIn } from "./subscriptions.js";
import { TopicCatalog } from "./topic-catalog.js";
import { Watchman } from "./watchman.js";

type Phase = "new" | "open" | "closing" | "closed";

export class BusCore {
  readonly settings: Settings;
  readonly catalog: TopicCatalog;
  readonly publisher: Publisher;
  readonly publishing: Publishing;
  readonly tail: Tail;
  readonly membership: Membership;
  readonly subscriptions: Subscriptions;
  readonly tasks = new TaskBoard((trouble) => this.settings.onTrouble(trouble));
  readonly meters = new Meters();
  readonly viewPointers: ViewPointers;
  readonly pauses: GroupPauses;
  readonly #patterns: FollowedPatterns;
  readonly #watchman: Watchman;
  readonly #toldOfTries = seldomTries();
  readonly #closing = new AbortController();
  #phase: Phase = "new";
  #acquired = false;
  #opening: Promise<void> | null = null;
  #closed: Promise<void> | null = null;

  constructor(settings: Settings) {
    const { store, clock, limits, onTrouble } = settings;
    this.settings = settings;
    // Every partition whose append is tried again listens for the end.
    setMaxListeners(0, this.#closing.signal);
    this.catalog = new TopicCatalog(store, limits);
    this.tail = new Tail(store.log, limits);
    this.viewPointers = new ViewPointers(store.registry, clock);
    this.pauses = new GroupPauses(store.registry, clock, () => this.#applyPauses());
    this.publisher = new Publisher({
      log: store.log,
      clock,
      limits,
      retry: { ...DEFAULT_RETRY, maxMs: 1_000 },
      giveUpAfterMs: settings.publishTimeoutMs,
      signal: this.#closing.signal,
      onAppended: (events, durationMs) => this.#appended(events, durationMs),
      onHeard: (topic, partition, head) => this.tail.grew(topic, partition, head),
    });
    this.publishing = new Publishing({
      publisher: this.publisher,
      catalog: this.catalog,
      clock,
      limits,
      checkOpen: () => this.checkOpen(),
      resolve: (topic) => this.#resolve(topic),
      partitionsToBe: (topic) => this.#partitionsToBe(topic),
    });
    this.membership = new Membership({
      member: settings.member,
      groups: store.groups,
      clock,
      leaseMs: settings.leaseMs,
      heartbeatMs: settings.heartbeatMs,
      lookMs: Math.min(500, settings.heartbeatMs),
      onTrouble: (error) => onTrouble({ error }),
    });
    this.subscriptions = new Subscriptions(clock, (topic, group, mode, pageSize) =>
      this.#runnerOptions(topic, group, mode, pageSize),
    );
    this.#patterns = new FollowedPatterns(this.catalog, clock, onTrouble);
    this.#watchman = new Watchman(
      store,
      this.tail,
      clock,
      (signal) => this.#hear(signal),
      () => this.#lookAround(),
    );
  }

  /** Opens the store and defines the topics, once; everything else waits for it. */
  open(): Promise<void> {
    this.#opening ??= this.#open();
    return this.#opening;
  }

  async #open(): Promise<void> {
    await acquireStore(this.settings.store);
    this.#acquired = true;
    await mapInTurns(this.settings.topics, (topic) => this.catalog.define(topic), TOPICS_AT_ONCE);
    this.#watchman.start();
    if (this.#phase === "new") this.#phase = "open";
  }

  /** Throws CLOSED once close() was called. */
  async ready(): Promise<void> {
    this.checkOpen();
    if (this.#phase === "new") await this.open();
    this.checkOpen();
  }

  checkOpen(): void {
    if (this.#phase === "closing" || this.#phase === "closed")
      throw new BusError("CLOSED", "this bus is closed");
  }

  /** News of what others append is wanted from now on. */
  listen(): void {
    this.#watchman.listen();
  }

  /** Topics by name, by definition, and those that fit a pattern now. */
  async topicsOf(wanted: readonly TopicRef[]): Promise<TopicConfig[]> {
    const found = await mapInTurns(wanted, (topic) => this.#fitting(topic), TOPICS_AT_ONCE);
    return [...new Map(found.flat().map((config) => [config.name, config])).values()];
  }

  async #fitting(topic: TopicRef): Promise<readonly TopicConfig[]> {
    const name = topicName(topic);
    if (!isPattern(name)) return [await this.catalog.renew(topic)];
    return (await this.catalog.list()).filter((config) => takesIn(name, config.name));
  }

  /** Topics that come into being later and fit are added to the subscription, from their first event. */
  follow(subscription: Subscription, patterns: readonly string[]): void {
    this.listen();
    this.#patterns.add(subscription, patterns);
  }

  /** Stops intake, finishes what runs, commits, gives everything back. */
  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async #close(): Promise<void> {
    this.#phase = "closing";
    try {
      await this.#opening?.catch(() => undefined);
      await this.tasks.stopAll();
    } finally {
      if (this.#opening !== null) await this.#closeParts();
      this.#phase = "closed";
    }
  }

  async #closeParts(): Promise<void> {
    await this.subscriptions.stopAll();
    const patience = this.settings.clock.setTimer(this.settings.drainMs, () => this.#closing.abort());
    await this.publisher.drained();
    patience();
    this.#closing.abort();
    this.#watchman.stop();
    await this.membership.close();
    if (this.#acquired) await releaseStore(this.settings.store);
  }

  async #resolve(topic: TopicRef): Promise<TopicConfig> {
    if (this.#phase === "new") await this.open();
    return this.catalog.resolve(topic);
  }

  async #partitionsToBe(topic: TopicRef): Promise<number | null> {
    if (this.#phase === "new") await this.open();
    return this.catalog.partitionsToBe(topic);
  }

  #runnerOptions(topic: TopicConfig, group: string, mode: GroupMode, pageSize: number): RunnerOptions {
    const { store, clock, limits, step, policy, drainMs, heartbeatMs, onTrouble } = this.settings;
    this.listen();
    return {
      clock,
      log: store.log,
      groups: store.groups,
      tail: this.tail,
      membership: this.membership,
      step,
      policy: { ...groupPolicy(mode, group, limits), ...policy },
      // A page must fit beside what half fills the buffer.
      pageSize: Math.min(pageSize, Math.max(1, limits.maxBufferedEvents >>> 1)),
      partitions: topic.partitions,
      drainMs,
      retryClaimMs: Math.min(250, heartbeatMs),
      meters: this.meters,
      holdsLeases: () => this.membership.holds(),
      paused: (ref) => this.pauses.of(ref) !== undefined,
      bury: (letters, fence) => this.#bury(topic, letters, fence),
      onTrouble: (error, { topic: name, group, partition }) =>
        onTrouble({ error, topic: name, group, partition }),
      onFailedTry: (failed, ref) => this.#tellOfTry(failed, ref),
    };
  }

  #tellOfTry(failed: FailedTry, ref: GroupPartition): void {
    const { topic, group, partition } = ref;
    const leftOut = this.#toldOfTries.admit(group, this.settings.clock.steady());
    if (leftOut === null) return;
    this.settings.onTrouble({ error: failedTryTrouble(failed, ref, leftOut), topic, group, partition });
  }

  async #bury(topic: TopicConfig, letters: readonly GivenUp[], fence: Fence): Promise<void> {
    const name = deadLetterTopic(topic.name);
    const config = this.catalog.known(name) ?? (await this.catalog.resolve(name, topic));
    // In the same partition as the events, so that dead letters of a key keep its order.
    const partition = fence.ref.partition % config.partitions;
    const drafts = letters.map(deadLetterDraft);
    const result = await this.settings.store.log.append(name, partition, drafts, fence);
    if (result.error !== undefined) throw result.error;
    this.tail.appended(result.events.filter((_, i) => !result.duplicates.has(i)));
    this.#tellOfGivenUp(letters, fence);
  }

  /** Those that only wait behind another of their key are not told of. */
  #tellOfGivenUp(letters: readonly GivenUp[], { ref: { topic, group, partition } }: Fence): void {
    for (const letter of letters)
      if (letter.hold?.waiting !== true)
        this.settings.onTrouble({ error: givenUpTrouble(letter), topic, group, partition, givenUp: true });
  }

  #appended(events: readonly StoredEvent[], durationMs: number): void {
    this.tail.appended(events);
    const topic = events[0]?.topic;
    if (topic === undefined || !this.meters.active) return;
    this.meters.published(topic, events.length);
    this.meters.committed(topic, durationMs);
  }

  #hear(signal: Signal): void {
    switch (signal.type) {
      case "appended":
        if (!this.publisher.hear(signal.topic, signal.partition, signal.head))
          this.tail.grew(signal.topic, signal.partition, signal.head);
        return;
      case "group":
        this.membership.groupChanged(signal.ref);
        return;
      case "topic":
        if (signal.removed) this.catalog.forget(signal.topic);
        else void this.#patterns.adopt(signal.topic);
        return;
      case "any":
        this.tail.wakeAll();
        this.membership.lookNow();
        this.#lookAround(signal.butTopics);
    }
  }

  /** `butTopics`: of these is told by name. */
  #lookAround(butTopics = false): void {
    if (!butTopics) this.#patterns.look();
    if (!this.subscriptions.isEmpty) void this.#lookForPauses();
  }

  async #lookForPauses(): Promise<void> {
    try {
      await this.pauses.look();
    } catch (error) {
      this.settings.onTrouble({ error: BusError.from(error, "STORE_UNAVAILABLE") });
    }
  }

  #applyPauses(): void {
    for (const { dispatcher, ref } of this.subscriptions.runners)
      dispatcher.setPaused(this.pauses.of(ref) !== undefined);
  }
}
