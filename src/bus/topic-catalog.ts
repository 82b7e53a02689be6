/**
 * The topics this bus knows: their definitions as given in code, and their configuration as the store has it. Of one that was removed
 * elsewhere it may know for a while: what it publishes then brings the topic back, as its own definition would.
 */
import { BusError } from "../model/errors.js";
import type { Limits } from "../model/limits.js";
import {
  checkTopicName,
  type TopicConfig,
  type TopicDefinition,
  type TopicRef,
  topicName,
} from "../model/topic.js";
import type { Registry } from "../ports/registry.js";
import type { Store } from "../ports/store.js";

const DAY_MS = 86_400_000;
const LAYOUTS: readonly unknown[] = [undefined, "documents", "batches"];

export class TopicCatalog {
  readonly #registry: Registry;
  readonly #log: Store["log"];
  readonly #limits: Limits;
  readonly #defaultPartitions: number;
  readonly #definitions = new Map<string, TopicDefinition>();
  readonly #configs = new Map<string, TopicConfig>();
  readonly #resolving = new Map<string, Promise<TopicConfig>>();

  constructor({ registry, log, capabilities }: Store, limits: Limits) {
    this.#registry = registry;
    this.#log = log;
    this.#defaultPartitions = capabilities.defaultPartitions;
    this.#limits = limits;
  }

  /** Makes a definition known and stores what it says. One that cannot be stored counts as never given. */
  async define(definition: TopicDefinition): Promise<TopicConfig> {
    const name = topicName(definition);
    checkTopicName(name);
    const before = this.#definitions.get(name);
    this.#definitions.set(name, definition);
    try {
      const config = await this.#store(definition);
      this.#configs.set(name, config);
      return config;
    } catch (error) {
      if (this.#definitions.get(name) === definition) this.#putBack(name, before);
      throw error;
    }
  }

  async #store(definition: TopicDefinition): Promise<TopicConfig> {
    const existing = await this.#registry.topic(definition.name);
    checkPartitionsKept(definition, existing?.partitions);
    const config = this.#configOf(definition, existing);
    try {
      return await this.#registry.defineTopic(config);
    } catch (error) {
      // It was removed: how many partitions it has is not told, but they are what they were.
      const partitions = existing === null ? partitionsIn(error) : undefined;
      if (partitions === undefined) throw error;
      checkPartitionsKept(definition, partitions);
      return this.#registry.defineTopic({ ...config, partitions });
    }
  }

  #putBack(name: string, before: TopicDefinition | undefined): void {
    if (before === undefined) this.#definitions.delete(name);
    else this.#definitions.set(name, before);
  }

  definition(topic: TopicRef): TopicDefinition | undefined {
    return typeof topic === "string" ? this.#definitions.get(topic) : topic;
  }

  /** The configuration, if it is at hand. Not so for a definition that nobody stored yet. */
  known(topic: TopicRef): TopicConfig | undefined {
    if (typeof topic === "string") return this.#configs.get(topic);
    return this.#definitions.has(topic?.name) ? this.#configs.get(topic.name) : undefined;
  }

  /** The configuration; a topic that nobody defined is created with the defaults, or like `model`. */
  resolve(topic: TopicRef, model?: TopicConfig): Promise<TopicConfig> {
    const name = topicName(topic);
    let resolving = this.#resolving.get(name);
    if (resolving === undefined) {
      resolving = this.#load(topic, name, model).finally(() => this.#resolving.delete(name));
      this.#resolving.set(name, resolving);
    }
    return resolving;
  }

  /** The configuration of a topic that is there, or null. For those who read: they bring none into being. */
  async find(topic: TopicRef): Promise<TopicConfig | null> {
    const name = topicName(topic);
    checkTopicName(name);
    const known = this.#configs.get(name);
    if (known !== undefined) return known;
    const config = await this.#registry.topic(name);
    if (config !== null) this.#configs.set(name, config);
    return config;
  }

  /** How many partitions the topic will have once it is made; null if it is there. */
  async partitionsToBe(topic: TopicRef): Promise<number | null> {
    if ((await this.find(topic)) !== null) return null;
    const name = topicName(topic);
    // One that was removed comes back with those that it had.
    const removed = (await this.#log.headsOf([name])).get(name);
    if (removed !== undefined) return removed.length;
    const definition = this.definition(topic);
    return definition === undefined ? this.#defaultPartitions : this.#configOf(definition, null).partitions;
  }

  async list(): Promise<readonly TopicConfig[]> {
    const known = [...this.#configs];
    const topics = await this.#registry.topics();
    const there = new Set(topics.map(({ name }) => name));
    for (const [name, config] of known)
      if (!there.has(name) && this.#configs.get(name) === config) this.#configs.delete(name);
    return topics;
  }

  /** As `resolve`, for those who are about to wait for its events: one that was removed is there again. */
  async renew(topic: TopicRef): Promise<TopicConfig> {
    const name = topicName(topic);
    if (this.#configs.has(name) && (await this.#registry.topic(name)) === null) this.forget(name);
    return this.resolve(topic);
  }

  /** It was removed: whoever wants it defines it anew. */
  forget(name: string): void {
    this.#configs.delete(name);
  }

  async #load(topic: TopicRef, name: string, model: TopicConfig | undefined): Promise<TopicConfig> {
    const known = this.known(topic);
    if (known !== undefined) return known;
    checkTopicName(name);
    if (typeof topic !== "string") return this.define(topic);
    const config = (await this.#registry.topic(name)) ?? (await this.#create(name, model));
    this.#configs.set(name, config);
    return config;
  }

  /** As this bus knows it, if it was there before and is gone. */
  #create(name: string, model: TopicConfig | undefined): Promise<TopicConfig> {
    const definition = this.#definitions.get(name);
    if (definition !== undefined) return this.define(definition);
    const partitions = model?.partitions ?? this.#defaultPartitions;
    return this.#registry.defineTopic({ name, partitions }, { ifAbsent: true });
  }

  /** What is fixed stays as it is where the definition says nothing of it. */
  #configOf(definition: TopicDefinition, existing: TopicConfig | null): TopicConfig {
    const { name, retentionDays, retentionBytes, compaction, tombstoneRetentionMs, keyed } = definition;
    const partitions = definition.partitions ?? existing?.partitions ?? this.#defaultPartitions;
    const layout = definition.layout ?? existing?.layout;
    if (!LAYOUTS.includes(layout)) {
      throw new BusError("INVALID_OPTION", `${name}: layout must be "documents" or "batches"`);
    }
    if (!Number.isSafeInteger(partitions) || partitions < 1 || partitions > this.#limits.maxPartitions) {
      throw new BusError("INVALID_OPTION", `${name}: partitions must be 1 to ${this.#limits.maxPartitions}`);
    }
    checkAmounts(definition);
    const retentionMs =
      definition.retentionMs ?? (retentionDays === undefined ? undefined : retentionDays * DAY_MS);
    const kept = { retentionMs, retentionBytes, compaction, tombstoneRetentionMs, keyed };
    return Object.fromEntries(
      Object.entries({ name, partitions, ...kept, layout }).filter(([, value]) => value !== undefined),
    ) as unknown as TopicConfig;
  }
}

const AMOUNTS = ["retentionMs", "retentionDays", "retentionBytes", "tombstoneRetentionMs"] as const;

/** Of a time below 0 everything would be too old. */
function checkAmounts(definition: TopicDefinition): void {
  for (const option of AMOUNTS) {
    const amount: unknown = definition[option];
    if (amount !== undefined && !(Number.isFinite(amount) && (amount as number) >= 0))
      throw new BusError("INVALID_OPTION", `${definition.name}: ${option} must be a number of 0 or more`);
  }
}

/**
 * The store refuses it, too; here it is known that a definition in code asks for it, and so what its author can do. Removing the topic
 * does not help: whoever has it open still would go on spreading keys over as many partitions as there were (P4).
 */
function checkPartitionsKept({ name, partitions }: TopicDefinition, existing: number | undefined): void {
  if (existing === undefined || partitions === undefined || partitions === existing) return;
  const has = existing === 1 ? "1 partition" : `${existing} partitions`;
  throw new BusError(
    "TOPIC_CONFLICT",
    `topic "${name}" was created with ${has}, for life; this definition says ${partitions}. Say ${existing}, or nothing of partitions, or give the topic another name`,
    { details: { topic: name, partitions: existing } },
  );
}

/** How many partitions the topic has that a definition does not agree with. */
function partitionsIn(error: unknown): number | undefined {
  const partitions = BusError.is(error, "TOPIC_CONFLICT") ? error.details?.["partitions"] : undefined;
  return typeof partitions === "number" ? partitions : undefined;
}
