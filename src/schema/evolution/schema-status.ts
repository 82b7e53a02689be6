/** Where each topic stands in the evolution of its schema: versions, what is written, second topics, readers. */
import type { StoredEvent } from "../../model/event.js";
import { checkOptionNames, namesOf } from "../../model/known-options.js";
import { type TopicRef, topicName } from "../../model/topic.js";
import type { Store } from "../../ports/store.js";
import { type Compat, type SchemaVersion, versionsByTopic } from "../registry/schema-version.js";
import { SCHEMA_VERSION_HEADER, splitVersioned } from "../registry/versioned-topic.js";
import { mirrorGroup } from "./dual-write.js";
import { type EvolutionFacts, type EvolutionStage, stageOf, stageSentence } from "./evolution-stage.js";
import { headsOf, newestEvents } from "./newest-events.js";
import { SecondTopic } from "./second-topic.js";

/** Of a bus: its store, and how far its groups are. */
export interface StatusHost {
  readonly store: Pick<Store, "log" | "registry">;
  readonly admin: {
    lag(filter: { topic: string }): Promise<readonly ReaderLag[]>;
  };
}

interface ReaderLag {
  readonly group: string;
  readonly lag: number;
  readonly members: readonly string[];
}

/** Which topics, and how many of their newest events are looked at. */
export interface SchemaStatusOptions {
  /** Default: every topic that has a schema. */
  readonly topic?: TopicRef;
  /** The newest events that are looked at for counts. Default 1,000. */
  readonly sample?: number;
}

const OPTIONS = namesOf<SchemaStatusOptions>({ topic: true, sample: true });

/** A registered version. */
export interface VersionStatus {
  readonly version: number;
  readonly compat: Compat;
  readonly createdMs: number;
  readonly waive?: string;
}

/** A group that reads the topic, or its second form, and how far behind it is. */
export interface ReaderStatus extends ReaderLag {
  /** The topic it reads: this one, or `<topic>.vN`. */
  readonly topic: string;
}

/** A topic `<topic>.vN` that holds one version alone, and how far it has come. */
export interface SecondTopicStatus {
  readonly topic: string;
  readonly version: number;
  readonly events: number;
  /** Of the newest events that were looked at, those that are not in it; known for the newest version. */
  readonly missing?: number;
  /** How far the mirror is behind; absent if there is none. */
  readonly mirrorLag?: number;
}

/** Where a topic stands on its way to the newest version of its schema. */
export interface TopicSchemaStatus {
  readonly topic: string;
  readonly stage: EvolutionStage;
  /** The same in words, with what comes next. */
  readonly sentence: string;
  /** Ascending. */
  readonly versions: readonly VersionStatus[];
  /** The newest events by version; "none" for those that do not say. */
  readonly counts: Readonly<Record<string, number>>;
  readonly sampled: number;
  readonly dualWrite: readonly SecondTopicStatus[];
  readonly readers: readonly ReaderStatus[];
}

/** Second forms are looked up one by one: enough to tell "complete" from "has holes". */
const MAX_LOOKED_UP = 100;

/**
 * Where each topic stands on its way to the newest version of its schema, and what comes next.
 *
 * @example
 * for (const { topic, stage, sentence } of await schemaStatus(bus)) console.log(topic, stage, sentence);
 */
export async function schemaStatus(
  host: StatusHost,
  options: SchemaStatusOptions = {},
): Promise<TopicSchemaStatus[]> {
  checkOptionNames("schemaStatus", options, OPTIONS);
  const { sample = 1_000 } = options;
  const topic = options.topic === undefined ? undefined : topicName(options.topic);
  const entries = await host.store.registry.schemas(topic);
  const created = new Map(entries.map((entry) => [`${entry.topic} ${entry.version}`, entry.createdMs]));
  const names = (await host.store.registry.topics()).map(({ name }) => name);
  const statuses: TopicSchemaStatus[] = [];
  for (const [name, versions] of versionsByTopic(entries)) {
    const listed = versions.map((version) =>
      described(version, created.get(`${name} ${version.version}`) ?? 0),
    );
    statuses.push(await new Survey(host, name, sample).status(listed, names));
  }
  return statuses;
}

function described({ version, compat, waive }: SchemaVersion, createdMs: number): VersionStatus {
  return { version, compat, createdMs, ...(waive !== undefined && { waive }) };
}

class Survey {
  readonly #host: StatusHost;
  readonly #topic: string;
  readonly #sample: number;

  constructor(host: StatusHost, topic: string, sample: number) {
    this.#host = host;
    this.#topic = topic;
    this.#sample = sample;
  }

  async status(versions: readonly VersionStatus[], topics: readonly string[]): Promise<TopicSchemaStatus> {
    const topic = this.#topic;
    const latest = versions.at(-1)?.version ?? 1;
    const events = await newestEvents(this.#host.store.log, topic, this.#sample);
    const readers = await this.#readersOf(topic);
    const dualWrite: SecondTopicStatus[] = [];
    for (const name of topics.filter((each) => splitVersioned(each)?.topic === topic)) {
      dualWrite.push(await this.#second(name, latest, events, readers));
      readers.push(...(await this.#readersOf(name)));
    }
    const second = dualWrite.find(({ version, events: held }) => version === latest && held > 0);
    const facts: EvolutionFacts = {
      topic,
      latest,
      counts: countsOf(events),
      writing: writingIn(events),
      ...(second !== undefined && { second: { topic: second.topic, missing: second.missing ?? 0 } }),
    };
    return {
      topic,
      stage: stageOf(facts),
      sentence: stageSentence(facts),
      versions,
      counts: facts.counts,
      sampled: events.length,
      dualWrite,
      readers,
    };
  }

  async #readersOf(topic: string): Promise<ReaderStatus[]> {
    const groups = await this.#host.admin.lag({ topic });
    return groups.map(({ group, lag, members }) => ({ topic, group, lag, members }));
  }

  async #second(
    target: string,
    latest: number,
    newest: readonly StoredEvent[],
    readers: readonly ReaderStatus[],
  ): Promise<SecondTopicStatus> {
    const { log } = this.#host.store;
    const version = splitVersioned(target)?.version ?? 0;
    const heads = await headsOf(log, target);
    const mirror = readers.find(({ group }) => group === mirrorGroup(target));
    const missing = version === latest ? await this.#missing(target, newest) : undefined;
    return {
      topic: target,
      version,
      events: heads.reduce((sum, { events }) => sum + events, 0),
      ...(missing !== undefined && { missing }),
      ...(mirror !== undefined && { mirrorLag: mirror.lag }),
    };
  }

  async #missing(target: string, newest: readonly StoredEvent[]): Promise<number> {
    const second = new SecondTopic(this.#host.store, target);
    const lookedUp = newest.filter(SecondTopic.owed).slice(0, MAX_LOOKED_UP);
    const forms = await second.formsOf(lookedUp);
    return (await second.missing(lookedUp.filter((_, i) => forms[i] === null))).length;
  }
}

function versionIn({ meta }: StoredEvent): string {
  const text = meta?.headers?.[SCHEMA_VERSION_HEADER];
  return text !== undefined && /^[1-9]\d{0,8}$/.test(text) ? text : "none";
}

/** Tombstones have no version, and need none. */
function countsOf(events: readonly StoredEvent[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const event of events) {
    if (isTombstone(event)) continue;
    const version = versionIn(event);
    counts[version] = (counts[version] ?? 0) + 1;
  }
  return counts;
}

/** Newest first, so the first of each partition is its newest. */
function writingIn(events: readonly StoredEvent[]): string[] {
  const newest = new Map<number, StoredEvent>();
  for (const event of events) {
    const before = newest.get(event.partition);
    if (!isTombstone(event) && (before === undefined || before.seq < event.seq))
      newest.set(event.partition, event);
  }
  return [...new Set([...newest.values()].map(versionIn))];
}

function isTombstone({ body }: StoredEvent): boolean {
  return body.text === "null";
}
