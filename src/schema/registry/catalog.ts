/** The versions that are known here, and payloads against them. */
import { BusError } from "../../model/errors.js";
import { type TopicRef, topicName } from "../../model/topic.js";
import { violated } from "../payload/payload-check.js";
import { reportRegistration, type TopicSchema, topicOf } from "./registration.js";
import type { SchemaVersion } from "./schema-version.js";

/** A payload that fits, by which version, as it is stored and as it is read. */
export interface Validated<T> {
  readonly version: number;
  /** What is stored: the payload as given, less the members that the schema leaves out. */
  readonly payload: T;
  /** What a reader makes of it: defaults filled in, if the Zod schema is at hand. */
  readonly value: unknown;
}

/** What publishers and readers need of a registry, whether in memory or in a store. */
export interface SchemaSource {
  latest(topic: string): SchemaVersion | undefined;
  current(topic: string): SchemaVersion | undefined;
  get(topic: string, version: number): SchemaVersion | undefined;
  versions(topic: string): readonly SchemaVersion[];
  validate<T>(topic: string, payload: T, version?: number): Validated<T> | undefined;
}

/** INVALID_OPTION unless it is a registry: a promise of one, for example, would let everything fail once something is published. */
export function checkSource(whose: string, schemas: unknown): asserts schemas is SchemaSource {
  if (typeof (schemas as SchemaSource | undefined)?.validate === "function") return;
  throw new BusError(
    "INVALID_OPTION",
    `${whose} needs a registry of schemas: a SchemaRegistry, or what openSchemas(bus) resolves to`,
  );
}

/** What is known of one topic; every publish asks for `current`. */
interface Known {
  readonly versions: readonly SchemaVersion[];
  readonly latest: SchemaVersion;
  readonly current: SchemaVersion;
}

export class SchemaCatalog implements SchemaSource {
  readonly #topics = new Map<string, Known>();

  /** The newest version; undefined if the topic has no schema. */
  latest(topic: TopicRef): SchemaVersion | undefined {
    return this.#topics.get(topicName(topic))?.latest;
  }

  /** The newest version that this process declared: the one it writes and reads. The newest of all if it declared none. */
  current(topic: TopicRef): SchemaVersion | undefined {
    return this.#topics.get(topicName(topic))?.current;
  }

  get(topic: TopicRef, version: number): SchemaVersion | undefined {
    return this.versions(topic).find((each) => each.version === version);
  }

  /** Ascending. */
  versions(topic: TopicRef): readonly SchemaVersion[] {
    return this.#topics.get(topicName(topic))?.versions ?? [];
  }

  /** Topics that have a schema, sorted. */
  topics(): readonly string[] {
    return [...this.#topics.keys()].sort();
  }

  /**
   * Checks a payload against a version, the current one unless one is named. A topic without a schema lets everything
   * pass: undefined. SCHEMA_VIOLATION lists where it does not fit; NOT_FOUND if there is no such version.
   */
  validate<T>(of: TopicRef, payload: T, version?: number): Validated<T> | undefined {
    const topic = topicName(of);
    const current = this.current(topic);
    if (current === undefined) return undefined;
    const schema = version === undefined || version === current.version ? current : this.get(topic, version);
    if (schema === undefined) {
      const known = this.versions(topic).map((each) => each.version);
      throw new BusError(
        "NOT_FOUND",
        `"${topic}" has no schema of version ${version}; there are ${known.join(", ")}`,
        {
          details: { topic, version, known },
        },
      );
    }
    const checked = schema.check(payload);
    if (checked.fits) return { version: schema.version, payload: checked.stored as T, value: checked.value };
    const details = { topic, version: schema.version };
    throw violated(`version ${schema.version} of "${topic}"`, checked.violations, details);
  }

  /** How a version would do, without registering it: a report for each older version it is held against. */
  check(wanted: TopicSchema): ReturnType<typeof reportRegistration> {
    const topic = topicOf(wanted);
    return reportRegistration(this.versions(topic), wanted, topic);
  }

  /** Takes in a version, in the place of the same one if it is known. */
  protected adopt(version: SchemaVersion): void {
    const others = this.versions(version.topic).filter((each) => each.version !== version.version);
    this.#know(
      version.topic,
      [...others, version].sort((a, b) => a.version - b.version),
    );
  }

  /** There is no such version any more. */
  protected forget({ topic, version }: SchemaVersion): void {
    this.#know(
      topic,
      this.versions(topic).filter((each) => each.version !== version),
    );
  }

  #know(topic: string, versions: readonly SchemaVersion[]): void {
    const latest = versions.at(-1);
    if (latest === undefined) {
      this.#topics.delete(topic);
      return;
    }
    const current = versions.findLast((each) => each.declared) ?? latest;
    this.#topics.set(topic, { versions, latest, current });
  }
}
