/**
 * Schemas in a store, shared by all its processes. A registration is decided on what the store held a moment ago and
 * written only if that is still so; else it is decided again. Of two processes that register at once one wins, and the
 * other finds its own version there already, or is told of the conflict.
 */
import { systemClock } from "../../model/clock.js";
import { BusError } from "../../model/errors.js";
import { checkOptionNames, namesOf } from "../../model/known-options.js";
import { type TopicRef, topicName } from "../../model/topic.js";
import type { Registry, SchemaEntry } from "../../ports/registry.js";
import { SchemaCatalog } from "./catalog.js";
import { decideRegistration, type TopicSchema, topicOf } from "./registration.js";
import type { SchemaRegistry } from "./registry.js";
import { SchemaVersion } from "./schema-version.js";

/** Rounds lost to others before it is given up; each one means that somebody else won. */
const MAX_ROUNDS = 20;

/** Those of this process that follow a store, by its registry: what one registers the others know at once. */
const following = new WeakMap<Registry, Set<StoredSchemaRegistry>>();

/** What to register when the registry is opened. */
export interface StoredSchemaOptions {
  /** Registers every version declared here when it opens. */
  readonly declared?: SchemaRegistry;
  readonly clock?: { now(): number };
}

const OPTIONS = namesOf<StoredSchemaOptions>({ declared: true, clock: true });

/**
 * The schemas of a store, as they are when it is opened; `refresh()` looks again.
 *
 * @example
 * const schemas = await StoredSchemaRegistry.open(store.registry, { declared: reg });
 * await schemas.register({ topic: "orders.placed", version: 2, schema: OrderPlacedV2 });
 */
export class StoredSchemaRegistry extends SchemaCatalog {
  readonly #registry: Registry;
  readonly #clock: { now(): number };
  /** Of versions that were found in the store: when they were registered. */
  readonly #found = new WeakMap<SchemaVersion, number>();

  private constructor(registry: Registry, options: StoredSchemaOptions) {
    super();
    this.#registry = registry;
    this.#clock = options.clock ?? systemClock;
  }

  static async open(registry: Registry, options: StoredSchemaOptions = {}): Promise<StoredSchemaRegistry> {
    checkOptionNames("StoredSchemaRegistry.open", options, OPTIONS);
    const opened = new StoredSchemaRegistry(registry, options);
    await opened.refresh();
    const { declared } = options;
    for (const topic of declared?.topics() ?? []) {
      for (const version of declared?.versions(topic) ?? []) await opened.register(asWanted(version));
    }
    return opened;
  }

  /** From now on it hears at once of what is registered in this process. The answer ends that. */
  follow(): () => void {
    const others = following.get(this.#registry) ?? new Set();
    following.set(this.#registry, others.add(this));
    return () => others.delete(this);
  }

  /** As SchemaRegistry.register; resolves when the version is stored. */
  async register<T>(schema: TopicSchema<T>): Promise<SchemaVersion> {
    const wanted = schema as TopicSchema;
    const topic = topicOf(wanted);
    for (let round = 0; round < MAX_ROUNDS; round++) {
      await this.#look(topic, () => true);
      const decision = decideRegistration(this.versions(topic), wanted, topic);
      if (decision.type === "new" && !(await this.#put(decision.version, decision.expectedLatest))) continue;
      this.adopt(decision.version);
      return decision.version;
    }
    throw new BusError("SCHEMA_CONFLICT", `others keep registering versions of "${topic}"; try again`, {
      retryable: true,
    });
  }

  /** False: somebody else registered a version first. */
  async #put(version: SchemaVersion, expectedLatest: number): Promise<boolean> {
    const entry = version.toEntry(this.#clock.now());
    try {
      await this.#registry.putSchema(entry, { expectedLatest });
      for (const other of following.get(this.#registry) ?? []) if (other !== this) other.#hear(entry);
      return true;
    } catch (error) {
      if (BusError.is(error, "SCHEMA_CONFLICT")) return false;
      throw error;
    }
  }

  /**
   * Looks again at what others registered, for one topic or all. A stored version does not change, and goes only with its topic: then
   * what was found in the store is forgotten, and what this process brought itself stays, for whoever publishes to the topic again.
   */
  async refresh(topic?: TopicRef): Promise<void> {
    await this.#look(topic === undefined ? undefined : topicName(topic), ({ declared }) => !declared);
  }

  /** `mayGo`: of versions that are not stored any more. One that is registered here while the store is asked stays. */
  async #look(topic: string | undefined, mayGo: (version: SchemaVersion) => boolean): Promise<void> {
    const known = (topic === undefined ? this.topics() : [topic]).flatMap((name) => this.versions(name));
    const entries = await this.#registry.schemas(topic);
    const stored = new Map(entries.map((entry) => [placeOf(entry), entry]));
    for (const version of known) {
      const isKnown = this.get(version.topic, version.version) === version;
      if (isKnown && mayGo(version) && !this.#isSame(version, stored.get(placeOf(version))))
        this.forget(version);
    }
    for (const entry of entries) if (this.get(entry.topic, entry.version) === undefined) this.#take(entry);
  }

  /** Whether it is still what was found there: a topic that was removed may have come back with another version of that number. */
  #isSame(version: SchemaVersion, entry: SchemaEntry | undefined): boolean {
    const foundMs = this.#found.get(version);
    return entry !== undefined && (foundMs === undefined || foundMs === entry.createdMs);
  }

  #hear(entry: SchemaEntry): void {
    const known = this.get(entry.topic, entry.version);
    if (known !== undefined && this.#isSame(known, entry)) return;
    if (known !== undefined) this.forget(known);
    this.#take(entry);
  }

  #take(entry: SchemaEntry): void {
    const version = SchemaVersion.fromEntry(entry);
    this.#found.set(version, entry.createdMs);
    this.adopt(version);
  }
}

function placeOf({ topic, version }: Pick<SchemaEntry, "topic" | "version">): string {
  return `${topic}/${version}`;
}

function asWanted({ topic, version, compat, schema, waive }: SchemaVersion): TopicSchema {
  return { topic, version, compat, schema, ...(waive !== undefined && { waive }) };
}
