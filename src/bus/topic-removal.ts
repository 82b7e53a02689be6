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
 */
import { BusError } from "../model/errors.js";
import type { Seq } from "../model/event.js";
import { baseTopic, checkTopicName, type TopicConfig } from "../model/topic.js";
import type { GroupRef } from "../ports/groups.js";
import type { PartitionHead } from "../ports/log.js";
import type { Registry } from "../ports/registry.js";
import type { Store } from "../ports/store.js";
import { runningFeeds } from "../project/changefeed/running-feeds.js";
import { viewsFedBy } from "../project/feeders.js";
import { refuseInUse } from "../project/group-in-use.js";
import { removeGroup } from "../project/group-pause.js";
import { outcomesView } from "../project/letter-reading.js";
import { countOpenLetters } from "../project/open-letters.js";
import { SNAPSHOT_GROUP } from "../project/snapshot.js";
import { forgetUpkeep } from "../project/upkeep-progress.js";
import type { BusCore } from "./core.js";

/** Whether to remove it, or only to say what that would mean; and who does it, for the audit. */
export interface RemoveTopicOptions {
  /** The topic stays. */
  readonly dryRun?: boolean;
  readonly actor?: string;
}

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
}

/** What removing needs of a bus. */
type Parts = Pick<BusCore, "settings" | "catalog" | "pauses">;

export async function removeTopic(
  core: Parts,
  name: string,
  { dryRun = false, actor = "bus" }: RemoveTopicOptions,
): Promise<RemovedTopic> {
  const { store, clock } = core.settings;
  const family = await familyOf(store.registry, name);
  for (const { name: topic } of family) await refuseNeeded(store, topic, clock.now());
  const others = family.map(({ name: topic }) => topic).filter((topic) => topic !== name);
  const counts = { ...(await countsOf(store, name)), groups: await groupsOf(store, family) };
  if (dryRun) return { topic: name, removed: false, ...counts, others };
  let newer: number | undefined;
  try {
    newer = await removeAll(core, family);
  } finally {
    const details = { ...counts, others, ...(newer !== 0 && { unfinished: true }) };
    await store.registry.audit({ atMs: clock.now(), actor, action: "topic.remove", target: name, details });
  }
  if (newer > 0) throw writtenMeanwhile(name, newer);
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

/** Throws if somebody needs it, in whatever process. */
async function refuseNeeded(store: Store, topic: string, nowMs: number): Promise<void> {
  const views = await viewsFedBy(store.registry, topic);
  if (views.length > 0)
    throw needed(`${topic} feeds ${views.join(", ")}: remove the view first`, { topic, views });
  const feeds = await runningFeeds(store.registry, topic, nowMs);
  if (feeds.length > 0)
    throw needed(`the change feed ${feeds.join(", ")} publishes to ${topic}: stop it first`, {
      topic,
      feeds,
    });
  for (const ref of await store.groups.list(topic)) await refuseMembers(store, ref, nowMs);
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

/** Takes them away one after the other; returns how many events came meanwhile, and then leaves the rest as it is. */
async function removeAll(core: Parts, family: readonly TopicConfig[]): Promise<number> {
  const { registry, log } = core.settings.store;
  for (const { name: topic } of family) {
    const heads = (await log.heads(topic)).map(({ head }) => head);
    await empty(core, topic, heads);
    if (!(await registry.removeTopic(topic, heads))) return countBehind(await log.heads(topic), heads);
    core.catalog.forget(topic);
    await forgetUpkeep(registry, topic);
  }
  return 0;
}

/** Events first: a group that is left without them settles what it missed, one that came too late would get them all again. */
async function empty({ settings, pauses }: Parts, topic: string, heads: readonly Seq[]): Promise<void> {
  const { store, clock } = settings;
  const { log, groups, documents } = store;
  for (const [partition, head] of heads.entries()) await log.trim(topic, partition, head);
  for (const ref of await groups.list(topic)) {
    await refuseMembers(store, ref, clock.now());
    await removeGroup(store, ref);
  }
  await pauses.look(true);
  await documents.drop(outcomesView(topic));
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
