/**
 * Topics that come and go by chance, held against a model: what is appended, trimmed, compacted away, removed and defined again, through two
 * handles and across restarts, with the places of its groups, and the topics that go with it. No seq is given twice (P2), no id twice while its event is there (P3), and nothing that was appended is lost (P1).
 */
import { expect } from "vitest";
import type { EventDraft, Seq } from "../../model/event.js";
import { seededRandom } from "../../model/manual-clock.js";
import type { TopicConfig } from "../../model/topic.js";
import type { Store } from "../../ports/store.js";
import type { Harness } from "./harness.js";
import { cursorAt, draft, failsWith, now, range, readAll, removeWhole, seqs } from "./samples.js";

const PARTITIONS = 2;
const KEYS = ["a", "b", "c"];
/** Sorted; those that belong to "one" go with it, as a bus has it. */
const NAMES = ["dlq.one", "one", "one.snapshot"];
const GROUPS = ["mailer", "printer"];

interface Kept {
  readonly seq: Seq;
  readonly id: string;
  readonly key: string;
}

/** What a topic should be. */
class ModelTopic {
  readonly logs: Kept[][] = range(1, PARTITIONS).map(() => []);
  readonly heads: Seq[] = range(1, PARTITIONS).map(() => 0);
  /** As it was last defined; it is that again if it comes back by an append. */
  config: TopicConfig;
  /** By group: where it stands on each partition. */
  readonly groups = new Map<string, Seq[]>();
  isThere = true;
  versions = 0;

  constructor(config: TopicConfig) {
    this.config = config;
  }

  get events(): Kept[] {
    return this.logs.flat();
  }

  keep(partition: number, wanted: (kept: Kept) => boolean): void {
    this.logs[partition] = (this.logs[partition] as Kept[]).filter(wanted);
  }
}

/** One run of chance, the same for the same seed. */
export class RemovalRun {
  readonly #harness: Harness;
  readonly #random: () => number;
  readonly #topics = new Map<string, ModelTopic>();
  readonly #drafts: EventDraft[] = [];

  constructor(harness: Harness, seed: number) {
    this.#harness = harness;
    this.#random = seededRandom(seed);
  }

  async run(steps: number): Promise<void> {
    for (const name of NAMES) await this.#define(this.#harness.store, name);
    for (let step = 1; step <= steps; step++) {
      const name = this.#pick(NAMES);
      const work = this.#pick(STEPS);
      await this[work](await this.#handle(), name);
      // Not each time: whoever looks may change what comes next.
      if (this.#random() < 0.5 || step === steps)
        await this.#compare(await this.#handle(), name, `step ${step}, ${work} of ${name}`);
    }
  }

  async append(store: Store, name: string): Promise<void> {
    const partition = this.#number(PARTITIONS);
    const given = range(1, 1 + this.#number(3)).map(() => this.#draft());
    const { events, duplicates } = await store.log.append(name, partition, given);
    expect(events).toHaveLength(given.length);
    for (const [i, { id, key = "" }] of given.entries()) {
      const known = this.#where(id);
      expect(duplicates.has(i), `${id} is there already`).toBe(known !== undefined);
      if (known !== undefined) continue;
      const topic = this.#topic(name);
      const seq = (topic.heads[partition] ?? 0) + 1;
      topic.heads[partition] = seq;
      expect(events[i], "the next seq").toMatchObject({ topic: name, partition, seq });
      topic.logs[partition]?.push({ seq, id, key });
      topic.isThere = true;
    }
  }

  async trim(store: Store, name: string): Promise<void> {
    const partition = this.#number(PARTITIONS);
    const through = this.#number((this.#topic(name).heads[partition] ?? 0) + 1);
    await store.log.trim(name, partition, through);
    this.#topic(name).keep(partition, ({ seq }) => seq > through);
  }

  async compact(store: Store, name: string): Promise<void> {
    const partition = this.#number(PARTITIONS);
    const gone = this.#topic(name).logs[partition]?.filter(() => this.#random() < 0.4) ?? [];
    expect(
      await store.log.remove(
        name,
        partition,
        gone.map(({ seq }) => seq),
      ),
    ).toBe(gone.length);
    this.#topic(name).keep(partition, (kept) => !gone.includes(kept));
  }

  async remove(store: Store, name: string): Promise<void> {
    const topic = this.#topic(name);
    if (!topic.isThere) return failsWith("NOT_FOUND", store.registry.removeTopic(name, topic.heads));
    for (const other of NAMES)
      if (name === "one" && other !== name && this.#topic(other).isThere) await this.remove(store, other);
    // Whoever removes a topic removes them first: else they stay.
    if (this.#random() < 0.7)
      for (const group of [...topic.groups.keys()]) await this.#removeGroup(store, name, group);
    expect(await removeWhole(store, name)).toBe(true);
    for (const partition of topic.logs.keys()) topic.keep(partition, () => false);
    topic.isThere = false;
    topic.versions = 0;
  }

  /** Somebody who looked before an append. */
  async removeTooLate(store: Store, name: string): Promise<void> {
    const topic = this.#topic(name);
    const heads = [...topic.heads];
    await this.append(store, name);
    if (!topic.isThere) return failsWith("NOT_FOUND", store.registry.removeTopic(name, heads));
    if (heads.some((head, partition) => head !== topic.heads[partition]))
      expect(await store.registry.removeTopic(name, heads)).toBe(false);
  }

  async define(store: Store, name: string): Promise<void> {
    await this.#define(store, name);
  }

  async startGroup(store: Store, name: string): Promise<void> {
    const topic = this.#topic(name);
    if (!topic.isThere) return;
    const group = this.#pick(GROUPS);
    const floors = topic.heads.map((head) => this.#number(head + 1));
    await store.groups.start({ topic: name, group }, floors);
    if (!topic.groups.has(group)) topic.groups.set(group, floors);
  }

  async moveGroup(store: Store, name: string): Promise<void> {
    const topic = this.#topic(name);
    const group = this.#pick(GROUPS);
    const floors = topic.groups.get(group);
    if (!topic.isThere || floors === undefined) return;
    const partition = this.#number(PARTITIONS);
    floors[partition] = this.#number((topic.heads[partition] ?? 0) + 1);
    await store.groups.move({ topic: name, group, partition }, cursorAt(floors[partition]));
  }

  removeGroup(store: Store, name: string): Promise<void> {
    return this.#removeGroup(store, name, this.#pick(GROUPS));
  }

  async #removeGroup(store: Store, topic: string, group: string): Promise<void> {
    await store.groups.remove({ topic, group });
    this.#topic(topic).groups.delete(group);
  }

  async putSchema(store: Store, name: string): Promise<void> {
    const topic = this.#topic(name);
    if (!topic.isThere) return;
    const entry = { topic: name, version: topic.versions + 1, compat: "none", document: {}, createdMs: 1 };
    await store.registry.putSchema(entry, { expectedLatest: topic.versions++ });
  }

  async reopen(): Promise<void> {
    await this.#harness.reopened();
  }

  async #define(store: Store, name: string): Promise<void> {
    const ifAbsent = this.#random() < 0.5;
    const keyed = this.#random() < 0.7;
    const asked = { name, partitions: PARTITIONS, keyed, retentionMs: 1 + this.#number(1_000) };
    const topic = this.#topics.get(name);
    const stays = ifAbsent && topic?.isThere === true;
    const config = stays ? topic.config : asked;
    expect(await store.registry.defineTopic(asked, { ifAbsent })).toEqual(config);
    if (topic === undefined) this.#topics.set(name, new ModelTopic(config));
    else Object.assign(topic, { config, isThere: true });
  }

  async #compareGroups({ groups }: Store, name: string, when: string): Promise<void> {
    const topic = this.#topic(name);
    const there = [...topic.groups.keys()].sort().map((group) => ({ topic: name, group }));
    expect(await groups.list(name), `groups after ${when}`).toEqual(there);
    for (const group of GROUPS) {
      const state = await groups.state({ topic: name, group }, now());
      const floors = state?.leases.map(({ cursor }) => cursor.floor);
      expect(floors, `where ${group} stands after ${when}`).toEqual(topic.groups.get(group));
    }
  }

  async #compare({ registry, log, groups }: Store, name: string, when: string): Promise<void> {
    const topic = this.#topic(name);
    await this.#compareGroups({ groups } as Store, name, when);
    const there = NAMES.filter((one) => this.#topic(one).isThere);
    expect(
      (await registry.topics()).map((one) => one.name),
      `topics after ${when}`,
    ).toEqual(there);
    expect(await registry.topic(name), `the topic after ${when}`).toEqual(
      topic.isThere ? topic.config : null,
    );
    expect((await registry.schemas(name)).length, `schemas after ${when}`).toBe(topic.versions);
    const heads = topic.heads.map((head, partition) => ({ head, events: topic.logs[partition]?.length }));
    expect(await log.heads(name), `heads after ${when}`).toMatchObject(heads);
    const store = { log } as Store;
    for (const [partition, kept] of topic.logs.entries())
      expect(seqs(await readAll(store, name, partition)), `events after ${when}`).toEqual(
        kept.map(({ seq }) => seq),
      );
    const newest = await log.latestByKey(name, KEYS);
    for (const key of KEYS)
      expect(newest.get(key)?.id, `the newest of ${key} after ${when}`).toBe(newestOf(topic, key)?.id);
    const { id } = this.#drafts[this.#number(this.#drafts.length)] ?? draft();
    expect((await log.find(id))?.seq, `the event under an id after ${when}`).toBe(this.#where(id)?.seq);
  }

  /** New, or one that was appended before, and may have gone since. */
  #draft(): EventDraft {
    const before = this.#random() < 0.3 ? this.#drafts[this.#number(this.#drafts.length)] : undefined;
    if (before !== undefined) return before;
    const made = draft({ key: this.#pick(KEYS) });
    this.#drafts.push(made);
    return made;
  }

  #where(id: string): Kept | undefined {
    return [...this.#topics.values()].flatMap(({ events }) => events).find((kept) => kept.id === id);
  }

  async #handle(): Promise<Store> {
    const second = await this.#harness.second();
    return this.#random() < 0.5 ? this.#harness.store : second;
  }

  #topic(name: string): ModelTopic {
    return this.#topics.get(name) as ModelTopic;
  }

  #number(below: number): number {
    return Math.floor(this.#random() * below);
  }

  #pick<T>(from: readonly T[]): T {
    return from[this.#number(from.length)] as T;
  }
}

/** By seq, then partition. */
function newestOf({ logs }: ModelTopic, key: string): Kept | undefined {
  const newest = logs.flatMap((kept) => kept.findLast((one) => one.key === key) ?? []);
  return newest.reduce<Kept | undefined>(
    (best, one) => (one.seq >= (best?.seq ?? 0) ? one : best),
    undefined,
  );
}

/** What may happen, the commoner the more often. */
const STEPS = [
  ...(["append", "append", "append", "append", "remove", "remove", "removeTooLate"] as const),
  ...(["trim", "compact", "define", "putSchema", "reopen"] as const),
  ...(["startGroup", "startGroup", "moveGroup", "removeGroup"] as const),
] as const;
