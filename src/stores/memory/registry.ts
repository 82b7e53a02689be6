/** Topics, schemas, tokens and audit in memory. Every compare-and-set is one step without a wait. */
import { BusError } from "../../model/errors.js";
import { type JsonValue, jsonBody } from "../../model/json.js";
import type { TopicConfig } from "../../model/topic.js";
import type { AuditEntry, Registry, SchemaEntry, Token } from "../../ports/registry.js";
import type { Lifetime } from "./lifetime.js";
import type { Signals } from "./signals.js";
import { compareText } from "./text-order.js";

export class MemoryRegistry implements Registry {
  readonly #lifetime: Lifetime;
  readonly #signals: Signals;
  readonly #topics = new Map<string, TopicConfig>();
  readonly #schemas = new Map<string, SchemaEntry[]>();
  readonly #tokens = new Map<string, Token>();
  /** Ascending by number. */
  #audits: AuditEntry[] = [];

  constructor(lifetime: Lifetime, signals: Signals) {
    this.#lifetime = lifetime;
    this.#signals = signals;
  }

  async defineTopic(config: TopicConfig, o: { ifAbsent?: boolean } = {}): Promise<TopicConfig> {
    this.#lifetime.check();
    const present = this.#topics.get(config.name);
    if (present !== undefined && o.ifAbsent) return present;
    if (present !== undefined && present.partitions !== config.partitions) {
      throw new BusError(
        "TOPIC_CONFLICT",
        `topic "${config.name}" has ${present.partitions} partitions; they cannot become ${config.partitions}`,
        { details: { topic: config.name, partitions: present.partitions } },
      );
    }
    const stored = copyOf(config);
    this.#topics.set(config.name, stored);
    this.#signals.send({ type: "topic", topic: config.name });
    return stored;
  }

  async topic(name: string): Promise<TopicConfig | null> {
    this.#lifetime.check();
    return this.#topics.get(name) ?? null;
  }

  async topics(): Promise<readonly TopicConfig[]> {
    this.#lifetime.check();
    return [...this.#topics.values()].sort((a, b) => compareText(a.name, b.name));
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

  partitionsOf(topic: string): number | undefined {
    return this.#topics.get(topic)?.partitions;
  }
}

/** A frozen copy, so that what the caller does to its own afterwards does not reach the store. */
function copyOf<T>(value: T): T {
  return jsonBody(value, { maxBytes: Number.POSITIVE_INFINITY, maxDepth: 200 }).value as T;
}
