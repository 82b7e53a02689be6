/** Topics, schemas, tokens and audit: reads here, writes in the writing thread. */
import { BusError } from "../../model/errors.js";
import type { Seq } from "../../model/event.js";
import type { JsonValue } from "../../model/json.js";
import { nextTurn } from "../../model/next-turn.js";
import type { TopicConfig } from "../../model/topic.js";
import type { AuditEntry, Registry, SchemaEntry, Token } from "../../ports/registry.js";
import type { Access } from "./access.js";
import { jsonCopy, jsonText, parseFrozen } from "./json-copy.js";
import { CONFIG_COLUMNS, type ConfigColumns, configOf, demandNoTopic, IS_THERE } from "./topics.js";

/** Topics that are listed in one turn of the event loop. */
const TOPICS_A_TURN = 256;

export class EmbeddedRegistry implements Registry {
  readonly #access: Access;
  readonly #fillKeys: (topic: string) => Promise<void>;

  /** `fillKeys` completes the index by key of a topic that had events before it asked for one. */
  constructor(access: Access, fillKeys: (topic: string) => Promise<void>) {
    this.#access = access;
    this.#fillKeys = fillKeys;
  }

  async defineTopic(config: TopicConfig, o: { ifAbsent?: boolean } = {}): Promise<TopicConfig> {
    const answer = await this.#access.call("defineTopic", {
      config: jsonCopy(config),
      ifAbsent: o.ifAbsent ?? false,
    });
    if (answer.changed) {
      await this.#fillKeys(config.name);
      this.#access.wake.send({ type: "topic", topic: config.name });
    }
    return jsonCopy(answer.config);
  }

  topic(name: string): Promise<TopicConfig | null> {
    return this.#access.read((connection) => {
      const row = connection
        .sql(`SELECT ${CONFIG_COLUMNS}, ${IS_THERE} FROM topic WHERE name = ?`)
        .get<[...ConfigColumns, isThere: number]>(name);
      if (row === undefined) demandNoTopic(connection, name);
      if (row === undefined || row[3] === 0) return null;
      return configOf(connection, [row[0], row[1], row[2]]);
    });
  }

  /** A page at a time: the event loop has other things to do. */
  async topics(): Promise<readonly TopicConfig[]> {
    const found: TopicConfig[] = [];
    for (;;) {
      const after = found.at(-1)?.name ?? "";
      const page = await this.#access.read((connection) =>
        connection
          .sql(`SELECT ${CONFIG_COLUMNS} FROM topic WHERE name > ? AND ${IS_THERE} ORDER BY name LIMIT ?`)
          .all<ConfigColumns>(after, TOPICS_A_TURN)
          .map((row) => configOf(connection, row)),
      );
      found.push(...page);
      // Else it would go round in circles.
      if ((page.at(-1)?.name ?? "") <= after && page.length > 0) throw this.#outOfOrder();
      if (page.length < TOPICS_A_TURN) return found;
      await nextTurn();
    }
  }

  #outOfOrder(): BusError {
    const { path } = this.#access;
    return new BusError(
      "STORE_DAMAGED",
      `${path}: topics are not found in order; restore the file from a backup`,
    );
  }

  async removeTopic(name: string, heads: readonly Seq[]): Promise<boolean> {
    const removedAt = heads.reduce((sum, head) => sum + head, 0);
    const removed = await this.#access.call("removeTopic", { topic: name, removedAt });
    if (removed) this.#access.wake.send({ type: "topic", topic: name, removed: true });
    return removed;
  }

  async putSchema(entry: SchemaEntry, o: { expectedLatest: number }): Promise<void> {
    const { topic, version } = entry;
    const { expectedLatest } = o;
    await this.#access.call("putSchema", { topic, version, entry: jsonText(entry), expectedLatest });
  }

  schemas(topic?: string): Promise<readonly SchemaEntry[]> {
    return this.#access.read((connection) =>
      (topic === undefined
        ? connection.sql("SELECT entry FROM schema_entry ORDER BY topic, version").all<[string]>()
        : connection
            .sql("SELECT entry FROM schema_entry WHERE topic = ? ORDER BY version")
            .all<[string]>(topic)
      ).map(([entry]) => parseFrozen<SchemaEntry>(entry)),
    );
  }

  token(name: string): Promise<Token | null> {
    return this.#access.read((connection) => {
      const row = connection
        .sql("SELECT value, revision FROM token WHERE name = ?")
        .get<[string, number]>(Buffer.from(name, "utf8"));
      return row === undefined ? null : tokenOf(row);
    });
  }

  async putToken(name: string, value: JsonValue | null, o: { expected: number }): Promise<number> {
    const text = value === null ? null : jsonText(value);
    return this.#access.call("putToken", { name, value: text, expected: o.expected });
  }

  tokens(prefix: string): Promise<ReadonlyMap<string, Token>> {
    const from = Buffer.from(prefix, "utf8");
    return this.#access.read((connection) => {
      const rows = connection
        .sql(
          "SELECT value, revision, name FROM token WHERE name >= ?1 AND substr(name, 1, ?2) = ?1 ORDER BY name",
        )
        .all<[string, number, Buffer]>(from, from.length);
      return new Map(
        rows.map(([value, revision, name]) => [name.toString("utf8"), tokenOf([value, revision])]),
      );
    });
  }

  async audit(entry: Omit<AuditEntry, "number">): Promise<void> {
    await this.#access.call("audit", { entry: jsonText(entry) });
  }

  audits(o: { limit: number; before?: number }): Promise<readonly AuditEntry[]> {
    return this.#access.read((connection) =>
      connection
        .sql("SELECT number, entry FROM audit WHERE number < ? ORDER BY number DESC LIMIT ?")
        .all<[number, string]>(o.before ?? Number.MAX_SAFE_INTEGER, o.limit)
        .map(([number, entry]) => parseFrozen<AuditEntry>(JSON.stringify({ ...JSON.parse(entry), number }))),
    );
  }

  trimAudits({ beforeMs }: { beforeMs: number }): Promise<number> {
    return this.#access.call("trimAudits", { beforeMs });
  }
}

function tokenOf([value, revision]: [string, number]): Token {
  return Object.freeze({ value: parseFrozen<JsonValue>(value), revision });
}
