/** Topics, schemas, tokens and audit in memory. Every compare-and-set is one step without a wait. */
import { BusError } from "../../model/errors.js";
import type { Seq } from "../../model/event.js";
import { type JsonValue, jsonBody } from "../../model/json.js";
import type { TopicConfig } from "../../model/topic.js";
import type { AuditEntry, Registry, SchemaEntry, Token } from "../../ports/registry.js";
import type { Lifetime } from "./lifetime.js";
import type { Signals } from "./signals.js";
import { compareText } from "./text-order.js";

export interface MemoryRegistryOptions {
  readonly lifetime: Lifetime;
  readonly signals: Signals;
  /** The sum of a topic's heads. */
  readonly written: (topic: string) => number;
}

interface Topic {
  readonly config: TopicConfig;
  /** How much had been written to it when it was removed: it is gone for as long as that is all. */
  readonly removedAt?: number;
}

export class MemoryRegistry implements Registry {
  readonly #lifetime: Lifetime;
  readonly #signals: Signals;
  readonly #written: (topic: string) => number;
  /** Those that were removed included. */
  readonly #topics = new Map<string, Topic>();
  readonly #schemas = new Map<string, SchemaEntry[]>();
  readonly #tokens = new Map<string, Token>();
  /** Ascending by number. */
  #audits: AuditEntry[] = [];

  constructor({ lifetime, signals, written }: MemoryRegistryOptions) {
    this.#lifetime = lifetime;
    this.#signals = signals;
    this.#written = written;
  }

  async defineTopic(config: TopicConfig, o: { ifAbsent?: boolean } = {}): Promise<TopicConfig> {
    this.#lifetime.check();
    const { name } = config;
    const present = this.#present(name);
    if (present !== undefined && o.ifAbsent) return present;
    const partitions = this.partitionsOf(name) ?? config.partitions;
    if (partitions !== config.partitions && !o.ifAbsent) {
      throw new BusError(
        "TOPIC_CONFLICT",
        `topic "${name}" has ${partitions} partitions; they cannot become ${config.partitions}`,
        { details: { topic: name, partitions } },
      );
    }
    const stored = copyOf({ ...config, partitions });
    this.#topics.set(name, { config: stored });
    this.#signals.send({ type: "topic", topic: name });
    return stored;
  }

  async topic(name: string): Promise<TopicConfig | null> {
    this.#lifetime.check();
    return this.#present(name) ?? null;
  }

  async topics(): Promise<readonly TopicConfig[]> {
    this.#lifetime.check();
    return [...this.#topics.keys()].sort(compareText).flatMap((name) => this.#present(name) ?? []);
  }

  async removeTopic(name: string, heads: readonly Seq[]): Promise<boolean> {
    this.#lifetime.check();
    const config = this.#present(name);
    if (config === undefined) throw new BusError("NOT_FOUND", `topic "${name}" is not defined`);
    const removedAt = heads.reduce((sum, head) => sum + head, 0);
    if (this.#written(name) !== removedAt) return false;
    this.#schemas.delete(name);
    this.#topics.set(name, { config, removedAt });
    this.#signals.send({ type: "topic", topic: name, removed: true });
    return true;
  }

  /** Heads only grow, so that nothing was appended as long as their sum is what it was. */
  #present(name: string): TopicConfig | undefined {
    const topic = this.#topics.get(name);
    if (topic?.removedAt !== undefined && topic.removedAt === this.#written(name)) return undefined;
    return topic?.config;
  }

  async putSchema(entry: SchemaEntry, o: { expectedLatest: number }): Promise<void> {
    this.#lifetime.check();
    const versions = this.#schemas.get(entry.topic) ?? [];
    const latest = versions.at(-1)?.version ?? 0;
    if (latest !== o.expectedLatest || entry.version <= latest) {
      throw new BusError(
        "SCHEMA_CONFLICT",
        `version ${entry.version} of "${entry.topic}" was to follow version ${o.expectedLatest}, but the newest is ${latest}`,
        { details: { topic: entry.topic, latest } },
      );
    }
    this.#schemas.set(entry.topic, [...versions, copyOf(entry)]);
  }

  async schemas(topic?: string): Promise<readonly SchemaEntry[]> {
    this.#lifetime.check();
    if (topic !== undefined) return this.#schemas.get(topic) ?? [];
    return [...this.#schemas].sort(([a], [b]) => compareText(a, b)).flatMap(([, versions]) => versions);
  }

  async token(name: string): Promise<Token | null> {
    this.#lifetime.check();
    return this.#tokens.get(name) ?? null;
  }

  async putToken(name: string, value: JsonValue | null, o: { expected: number }): Promise<number> {
    this.#lifetime.check();
    const revision = this.#tokens.get(name)?.revision ?? 0;
    if (revision !== o.expected) {
      throw new BusError(
        "WRITE_CONFLICT",
        `token "${name}" is at revision ${revision}, not at ${o.expected}`,
        { details: { token: name, revision } },
      );
    }
    if (value === null) {
      this.#tokens.delete(name);
      return 0;
    }
    this.#tokens.set(name, Object.freeze({ value: copyOf(value), revision: revision + 1 }));
    return revision + 1;
  }

  async tokens(prefix: string): Promise<ReadonlyMap<string, Token>> {
    this.#lifetime.check();
    const found = [...this.#tokens].filter(([name]) => name.startsWith(prefix));
    return new Map(found.sort(([a], [b]) => compareText(a, b)));
  }

  async audit(entry: Omit<AuditEntry, "number">): Promise<void> {
    this.#lifetime.check();
    this.#audits.push(copyOf({ ...entry, number: (this.#audits.at(-1)?.number ?? 0) + 1 }));
  }

  async audits(o: { limit: number; before?: number }): Promise<readonly AuditEntry[]> {
    this.#lifetime.check();
    const { before = Number.POSITIVE_INFINITY } = o;
    const end = this.#audits.findLastIndex(({ number }) => number < before) + 1;
    return this.#audits.slice(Math.max(0, end - o.limit), end).reverse();
  }

  async trimAudits({ beforeMs }: { beforeMs: number }): Promise<number> {
    this.#lifetime.check();
    const newest = this.#audits.at(-1);
    const kept = this.#audits.filter((entry) => entry.atMs >= beforeMs || entry === newest);
    const forgotten = this.#audits.length - kept.length;
    this.#audits = kept;
    return forgotten;
  }

  /** Also of a topic that was removed. */
  partitionsOf(topic: string): number | undefined {
    return this.#topics.get(topic)?.config.partitions;
  }
}

/** A frozen copy, so that what the caller does to its own afterwards does not reach the store. */
function copyOf<T>(value: T): T {
  return jsonBody(value).value as T;
}
