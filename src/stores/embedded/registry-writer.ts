/** Topics, schemas, tokens and audit, in the writing thread: every compare-and-set is one step of a transaction. */
import { BusError } from "../../model/errors.js";
import { asksForKeys, type TopicConfig } from "../../model/topic.js";
import type { KeyIndexWriter } from "./indexes/key-index-writer.js";
import type { AnswerOf, ArgumentOf, Operations } from "./protocol.js";
import type { Connection } from "./sqlite.js";
import {
  CONFIG_COLUMNS,
  type ConfigColumns,
  configOf,
  demandNoTopic,
  IS_THERE,
  KEYS_NONE,
  KEYS_READY,
  newFilling,
  type Topics,
  WRITTEN,
} from "./topics.js";

type RegistryOperations = Pick<
  Operations,
  "defineTopic" | "removeTopic" | "putSchema" | "putToken" | "audit" | "trimAudits" | "keysFilled"
>;

/** The most audit entries that one call looks at to forget them. */
const AUDITS_AT_ONCE = 1_000;

export class RegistryWriter implements RegistryOperations {
  readonly #connection: Connection;
  readonly #topics: Topics;
  readonly #keys: KeyIndexWriter;

  constructor(connection: Connection, topics: Topics, keys: KeyIndexWriter) {
    this.#connection = connection;
    this.#topics = topics;
    this.#keys = keys;
  }

  defineTopic({ config, ifAbsent }: ArgumentOf<"defineTopic">): AnswerOf<"defineTopic"> {
    const before = this.#row(config.name);
    if (before === undefined) {
      demandNoTopic(this.#connection, config.name);
      this.#create(config);
      return { config, changed: true };
    }
    if (ifAbsent && before.isThere) return { config: before.config, changed: false };
    const { partitions } = before.config;
    if (partitions !== config.partitions && !ifAbsent) {
      throw new BusError(
        "TOPIC_CONFLICT",
        `topic "${config.name}" has ${partitions} partitions; they cannot become ${config.partitions}`,
        { details: { topic: config.name, partitions } },
      );
    }
    const stored = { ...config, partitions };
    this.#update(stored);
    return { config: stored, changed: true };
  }

  removeTopic({ topic, removedAt }: ArgumentOf<"removeTopic">): boolean {
    const before = this.#row(topic);
    if (before === undefined) demandNoTopic(this.#connection, topic);
    if (!before?.isThere) throw new BusError("NOT_FOUND", `topic "${topic}" is not defined`);
    if (before.written !== removedAt) return false;
    this.#connection.sql("DELETE FROM schema_entry WHERE topic = ?").run(topic);
    this.#connection.sql("UPDATE topic SET removed_at = ? WHERE name = ?").run(removedAt, topic);
    return true;
  }

  #row(name: string): { config: TopicConfig; isThere: boolean; written: number } | undefined {
    const row = this.#connection
      .sql(`SELECT ${CONFIG_COLUMNS}, ${IS_THERE}, ${WRITTEN} FROM topic WHERE name = ?`)
      .get<[...ConfigColumns, isThere: number, written: number]>(name);
    if (row === undefined) return undefined;
    const [config, found, partitions, isThere, written] = row;
    return {
      config: configOf(this.#connection, [config, found, partitions]),
      isThere: isThere === 1,
      written,
    };
  }

  keysFilled({ topic, filling }: ArgumentOf<"keysFilled">): void {
    this.#connection
      .sql("UPDATE topic SET keys = ? WHERE name = ? AND keys = ?")
      .run(KEYS_READY, topic, filling);
    this.#topics.forget();
  }

  putSchema({ topic, version, entry, expectedLatest }: ArgumentOf<"putSchema">): void {
    const latest =
      this.#connection
        .sql("SELECT max(version) FROM schema_entry WHERE topic = ?")
        .get<[number | null]>(topic)?.[0] ?? 0;
    if (latest !== expectedLatest || version <= latest) {
      throw new BusError(
        "SCHEMA_CONFLICT",
        `version ${version} of "${topic}" was to follow version ${expectedLatest}, but the newest is ${latest}`,
        { details: { topic, latest } },
      );
    }
    this.#connection
      .sql("INSERT INTO schema_entry (topic, version, entry) VALUES (?, ?, ?)")
      .run(topic, version, entry);
  }

  putToken({ name, value, expected }: ArgumentOf<"putToken">): number {
    const key = Buffer.from(name, "utf8");
    const revision =
      this.#connection.sql("SELECT revision FROM token WHERE name = ?").get<[number]>(key)?.[0] ?? 0;
    if (revision !== expected) {
      throw new BusError("WRITE_CONFLICT", `token "${name}" is at revision ${revision}, not at ${expected}`, {
        details: { token: name, revision },
      });
    }
    if (value === null) {
      this.#connection.sql("DELETE FROM token WHERE name = ?").run(key);
      return 0;
    }
    this.#connection
      .sql("INSERT OR REPLACE INTO token (name, value, revision) VALUES (?, ?, ?)")
      .run(key, value, revision + 1);
    return revision + 1;
  }

  audit({ entry }: ArgumentOf<"audit">): void {
    this.#connection.sql("INSERT INTO audit (entry) VALUES (?)").run(entry);
  }

  /** Those whose clocks were ahead stay among the oldest for a while; they are few. */
  trimAudits({ beforeMs }: ArgumentOf<"trimAudits">): number {
    return this.#connection
      .sql(
        `DELETE FROM audit WHERE number IN (SELECT number FROM audit ORDER BY number LIMIT ${AUDITS_AT_ONCE})
         AND number < (SELECT max(number) FROM audit) AND json_extract(entry, '$.atMs') < ?`,
      )
      .run(beforeMs);
  }

  #create(config: TopicConfig): void {
    const firstPart = Number(this.#connection.sql("SELECT coalesce(max(id), 0) + 1 FROM part").get()?.[0]);
    this.#connection
      .sql("INSERT INTO topic (name, partitions, first_part, config, keys) VALUES (?, ?, ?, ?, ?)")
      .run(
        config.name,
        config.partitions,
        firstPart,
        JSON.stringify(config),
        asksForKeys(config) ? KEYS_READY : KEYS_NONE,
      );
    const insert = this.#connection.sql(
      "INSERT INTO part (id, head, low, events, bytes, run_ts, damage) VALUES (?, 0, 1, 0, 0, NULL, NULL)",
    );
    for (let partition = 0; partition < config.partitions; partition++) insert.run(firstPart + partition);
  }

  #update(config: TopicConfig): void {
    const before = this.#topics.reload(config.name);
    let keys = before?.keys ?? KEYS_NONE;
    if (asksForKeys(config)) {
      if (keys === KEYS_NONE) keys = newFilling();
    } else {
      if (keys !== KEYS_NONE && before !== undefined) this.#keys.clear();
      keys = KEYS_NONE;
    }
    this.#connection
      .sql("UPDATE topic SET config = ?, keys = ?, removed_at = NULL WHERE name = ?")
      .run(JSON.stringify(config), keys, config.name);
    this.#topics.forget();
  }
}
