/**
 * Removing a topic that nobody needs any more: its events, where its groups stand on it, its schemas, its dead letters and its
 * snapshot.
 *
 * Not while somebody is subscribed to it, or feeds a view or a change feed with it: these would wait for events that never come.
 *
 * Its seqs are never given again (P2), so that neither a reader nor a cursor of before can take a new event for an old one. Whoever
 * publishes to it afterwards brings it back. What is published meanwhile is not among the events that go: then it stays, with that.
 *
 * What says that there is a topic goes last, and the topic itself after those that belong to it: after a crash it can be removed again.
 * Events go so many at a time: however many there are, whoever waits is told how far it is, and can end it.
 */
import { BusError } from "../model/errors.js";
import type { Seq } from "../model/event.js";
import { checkOptionNames, namesOf } from "../model/known-options.js";
import { baseTopic, checkTopicName, type TopicConfig } from "../model/topic.js";
import type { GroupRef } from "../ports/groups.js";
import type { PartitionHead } from "../ports/log.js";
import type { Registry } from "../ports/registry.js";
import type { Store } from "../ports/store.js";
import { runningFeeds } from "../project/changefeed/running-feeds.js";
import { refuseInUse, useOf } from "../project/group-in-use.js";
import { removeGroup } from "../project/group-pause.js";
import { SNAPSHOT_GROUP } from "../project/history/expected-lag.js";
import { outcomesView } from "../project/letters/letter-reading.js";
import { countOpenLetters } from "../project/letters/open-letters.js";
import { forgetUpkeep } from "../project/upkeep-progress.js";
import { viewsFedBy } from "../project/views/feeders.js";
import type { BusCore } from "./core.js";

/** Whether to remove it, or only to say what that would mean; and who does it, for the audit. */
export interface RemoveTopicOptions {
  /** The topic stays. */
  readonly dryRun?: boolean;
  readonly actor?: string;
  /** Ends it early: ABORTED. What is gone stays gone; removed again, the rest goes too. */
  readonly signal?: AbortSignal;
  /** Told how many events are gone, of how many, those of the topics that go with it included. */
  readonly onProgress?: (progress: RemovalProgress) => void;
}

const OPTIONS = namesOf<RemoveTopicOptions>({ dryRun: true, actor: true, signal: true, onProgress: true });

/** How far the removal of a topic is. */
export type RemovalProgress = { readonly events: number; readonly total: number };

/** What the removal of a topic means, or meant. */
export interface RemovedTopic {
  readonly topic: string;
  readonly removed: boolean;
  /** In the topic itself. */
  readonly events: number;
  /** Dead letters of it that nobody has redriven or discarded. */
  readonly deadLetters: number;
  /** Groups that stand somewhere on it, or on one of `others`. */
  readonly groups: readonly string[];
  /** Topics that belong to it and go with it: its dead letters, its snapshot. */
  readonly others: readonly string[];
  /** Of a dry run: who needs it, and what to do first. Absent if nothing stands in the way. */
  readonly obstacles?: readonly string[];
}

/** Seqs that one request takes away at most. */
const STRIDE = 100_000;

/** What removing needs of a bus. */
type Parts = Pick<BusCore, "settings" | "catalog" | "pauses">;

export async function removeTopic(
  core: Parts,
  name: string,
  options: RemoveTopicOptions,
): Promise<RemovedTopic> {
  checkOptionNames("removeTopic", options, OPTIONS);
  const { dryRun = false, actor = "bus" } = options;
  const { store, clock } = core.settings;
  const family = await familyOf(store.registry, name);
  if (!dryRun) for (const { name: topic } of family) await refuseNeeded(store, topic, clock.now());
  const others = family.map(({ name: topic }) => topic).filter((topic) => topic !== name);
  const counts = { ...(await countsOf(store, name)), groups: await groupsOf(store, family) };
  if (dryRun) {
    const obstacles = await obstaclesOf(store, family, clock.now());
    return { topic: name, removed: false, ...counts, others, ...(obstacles.length > 0 && { obstacles }) };
  }
  let isFinished = false;
  try {
    await new Remover(core, family, options).run();
    isFinished = true;
  } finally {
    const details = { ...counts, others, ...(!isFinished && { unfinished: true }) };
    await store.registry.audit({ atMs: clock.now(), actor, action: "topic.remove", target: name, details });
  }
  return { topic: name, removed: true, ...counts, others };
}

/** The topic and those that belong to it, itself last. */
async function familyOf(registry: Registry, name: string): Promise<readonly TopicConfig[]> {
  checkTopicName(name);
  const topics = await registry.topics();
  const own = topics.find((topic) => topic.name === name);
  if (own === undefined) throw new BusError("NOT_FOUND", `there is no topic ${name}`);
  const base = baseTopic(name);
  if (base === name)
    return [...topics.filter((topic) => topic !== own && baseTopic(topic.name) === name), own];
  if (topics.some((topic) => topic.name === base))
    throw new BusError("WRITE_CONFLICT", `${name} belongs to ${base}: it goes with that`, {
      retryable: false,
    });
  return [own];
}

/** All that stands in the way, in words. */
async function obstaclesOf(store: Store, family: readonly TopicConfig[], nowMs: number): Promise<string[]> {
  const found: string[] = [];
  for (const { name } of family)
    for await (const { message } of needs(store, name, nowMs)) found.push(message);
  return found;
}

/** Throws if somebody needs it, in whatever process. */
async function refuseNeeded(store: Store, topic: string, nowMs: number): Promise<void> {
  for await (const need of needs(store, topic, nowMs)) throw need;
}

/** Why the topic cannot be removed: those who need it, in whatever process. */
async function* needs(store: Store, topic: string, nowMs: number): AsyncGenerator<BusError> {
  const views = await viewsFedBy(store.registry, topic);
  if (views.length > 0)
    yield needed(`${topic} feeds ${views.join(", ")}: remove the view first`, { topic, views });
  const feeds = await runningFeeds(store.registry, topic, nowMs);
  if (feeds.length > 0)
    yield needed(`the change feed ${feeds.join(", ")} publishes to ${topic}: stop it first`, {
      topic,
      feeds,
    });
  for (const ref of await store.groups.list(topic)) {
    const state = await store.groups.state(ref, { nowMs });
    const inUse = state === null ? null : useOf(state);
    if (inUse !== null) yield inUse;
  }
}

async function refuseMembers({ groups }: Store, ref: GroupRef, nowMs: number): Promise<void> {
  const state = await groups.state(ref, { nowMs });
  if (state !== null) refuseInUse(state);
}

async function countsOf(store: Store, topic: string): Promise<Pick<RemovedTopic, "events" | "deadLetters">> {
  const heads = await store.log.heads(topic);
  return {
    events: heads.reduce((sum, { events }) => sum + events, 0),
    deadLetters: (await countOpenLetters(store, [topic])).get(topic) ?? 0,
  };
}

/** Without the one that keeps the place of its snapshot. */
async function groupsOf({ groups }: Store, family: readonly TopicConfig[]): Promise<string[]> {
  const names = new Set<string>();
  for (const { name } of family) for (const { group } of await groups.list(name)) names.add(group);
  names.delete(SNAPSHOT_GROUP);
  return [...names].sort();
}

/** Takes topics away, one after the other. */
class Remover {
  readonly #core: Parts;
  readonly #family: readonly TopicConfig[];
  readonly #options: Pick<RemoveTopicOptions, "signal" | "onProgress">;
  #events = 0;
  #total = 0;

  constructor(core: Parts, family: readonly TopicConfig[], options: RemoveTopicOptions) {
    this.#core = core;
    this.#family = family;
    this.#options = options;
  }

  /** WRITE_CONFLICT if events came meanwhile: the rest is left as it is then. */
  async run(): Promise<void> {
    const { registry, log } = this.#core.settings.store;
    const present = await log.headsOf(this.#family.map(({ name }) => name));
    for (const heads of present.values()) for (const { events } of heads) this.#total += events;
    this.#tell();
    for (const { name: topic } of this.#family) {
      const heads = await log.heads(topic);
      for (const head of heads) await this.#takeEvents(topic, head);
      await this.#takeRest(topic);
      const ends = heads.map(({ head }) => head);
      if (!(await registry.removeTopic(topic, ends)))
        throw writtenMeanwhile(topic, countBehind(await log.heads(topic), ends));
      this.#core.catalog.forget(topic);
      await forgetUpkeep(registry, topic);
    }
  }

  /** Also where nothing is left: whoever was interrupted may have left what counts as gone. */
  async #takeEvents(topic: string, { partition, low, head }: PartitionHead): Promise<void> {
    const { store, clock } = this.#core.settings;
    for (let through = low - 1; ; ) {
      if (this.#options.signal?.aborted) throw stopped(topic, this.#events);
      // Whoever came meanwhile keeps what is left.
      await refuseNeeded(store, topic, clock.now());
      through = Math.min(through + STRIDE, head);
      this.#events += await store.log.trim(topic, partition, through);
      this.#tell();
      if (through >= head) return;
    }
  }

  /** After the events: a group that is left without them settles what it missed, one that came too late would get them all again. */
  async #takeRest(topic: string): Promise<void> {
    const { settings, pauses } = this.#core;
    const { store, clock } = settings;
    for (const ref of await store.groups.list(topic)) {
      await refuseMembers(store, ref, clock.now());
      await removeGroup(store, ref);
    }
    await pauses.look(true);
    await store.documents.drop(outcomesView(topic));
  }

  #tell(): void {
    this.#options.onProgress?.({ events: this.#events, total: Math.max(this.#events, this.#total) });
  }
}

function countBehind(now: readonly PartitionHead[], heads: readonly Seq[]): number {
  return now.reduce((sum, { partition, head }) => sum + head - (heads[partition] ?? 0), 0);
}

function needed(why: string, details: Record<string, unknown>): BusError {
  return new BusError("WRITE_CONFLICT", why, { retryable: false, details });
}

function writtenMeanwhile(topic: string, newer: number): BusError {
  const events = newer === 1 ? "an event was" : `${newer} events were`;
  return new BusError(
    "WRITE_CONFLICT",
    `${events} published to ${topic} while it was removed: it stays, with what is new; stop its publishers, then remove it again`,
    { retryable: false, details: { topic, newer } },
  );
}

function stopped(topic: string, events: number): BusError {
  return new BusError(
    "ABORTED",
    `the removal of ${topic} was stopped after ${events} events: it is there, with the rest; remove it again to finish`,
    { details: { topic, events } },
  );
}
