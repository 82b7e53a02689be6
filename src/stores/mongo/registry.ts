/** Topics, schemas, tokens and audit in MongoDB. Every compare-and-set is one conditional write or one unique index. */
import { randomUUID } from "node:crypto";
import { BusError } from "../../model/errors.js";
import type { Seq } from "../../model/event.js";
import { freezeJson, type JsonValue } from "../../model/json.js";
import { asksForKeys, type TopicConfig, type TopicLayout } from "../../model/topic.js";
import type { Log } from "../../ports/log.js";
import type { AuditEntry, Registry, SchemaEntry, Token } from "../../ports/registry.js";
import type { Signal } from "../../ports/store.js";
import type { AuditDocument, SchemaDocument, TopicDocument } from "./collections.js";
import { AskedTogether } from "./connection/asked-together.js";
import type { Connection } from "./connection/connection.js";
import { isDuplicateKey } from "./connection/errors.js";
import { answerOf, type Told } from "./connection/told-apart.js";
import { addAudits, type NewAudit } from "./registry/audit-writes.js";
import { Leftovers } from "./registry/leftovers.js";
import { RemovedTopics, sumOf } from "./registry/removed-topics.js";
import { replaceTokens, type TokenOutcome, type TokenWrite } from "./registry/token-writes.js";

/** The most audit entries that one call looks at to forget them. */
const AUDITS_AT_ONCE = 1_000;

export class MongoRegistry implements Registry {
  readonly #connection: Connection;
  readonly #signal: (signal: Signal) => void;
  readonly #removed: RemovedTopics;
  readonly #leftovers: Leftovers;
  readonly #replacements: AskedTogether<TokenWrite, Told<TokenOutcome>>;
  readonly #audits: AskedTogether<NewAudit, Told<void>>;

  constructor(connection: Connection, signal: (signal: Signal) => void, log: Pick<Log, "headsOf" | "trim">) {
    this.#connection = connection;
    this.#signal = signal;
    this.#removed = new RemovedTopics(connection, log);
    this.#leftovers = new Leftovers(connection, log);
    this.#replacements = new AskedTogether((writes) => replaceTokens(connection.collections.tokens, writes));
    this.#audits = new AskedTogether((entries) => addAudits(connection.collections.audit, entries));
  }

  defineTopic(config: TopicConfig, o: { ifAbsent?: boolean } = {}): Promise<TopicConfig> {
    return this.#connection.gate.write(async () => {
      await this.#checkLayout(config);
      const { present, inserted } = await this.#insertTopic(config);
      if (inserted || !o.ifAbsent) return this.#replaceTopic(config, present);
      return (await this.#removed.isThere(present)) ? topicOf(present) : this.#bringBack(config, present);
    });
  }

  async #replaceTopic(config: TopicConfig, present: TopicDocument): Promise<TopicConfig> {
    checkFixed(present, config);
    if (asksForKeys(config) && present.keyIndex === false) this.#connection.warn(walksByKey(config.name));
    const { name, ...others } = config;
    const rest = { ...others, ...fixedOf(present) };
    await this.#connection.collections.topics.replaceOne({ _id: name, partitions: config.partitions }, rest);
    this.#signal({ type: "topic", topic: name });
    return topicOf({ _id: name, ...rest });
  }

  /** Of those who bring a removed topic back at once, one does; the others look again, and find what that one stored. */
  async #bringBack(config: TopicConfig, removed: TopicDocument): Promise<TopicConfig> {
    const { name, layout: _, ...others } = config;
    const rest = { ...others, ...fixedOf(removed), partitions: removed.partitions };
    const { matchedCount } = await this.#connection.collections.topics.replaceOne(
      { _id: name, removedAt: removed.removedAt as number },
      rest,
    );
    if (matchedCount === 0) return this.defineTopic(config, { ifAbsent: true });
    if (asksForKeys(config) && removed.keyIndex === false) this.#connection.warn(walksByKey(name));
    this.#signal({ type: "topic", topic: name });
    return topicOf({ _id: name, ...rest });
  }

  removeTopic(name: string, heads: readonly Seq[]): Promise<boolean> {
    return this.#connection.gate.write(async () => {
      const { topics, schemas } = this.#connection.collections;
      const document = await topics.findOne({ _id: name });
      if (document === null || !(await this.#removed.isThere(document)))
        throw new BusError("NOT_FOUND", `topic "${name}" is not defined`);
      const removedAt = sumOf(heads);
      if ((await this.#removed.written(name)) !== removedAt) return false;
      // First: a topic that is there without schemas can be removed again, but schemas of one that is not would come back with it.
      await schemas.deleteMany({ topic: name });
      const mark = { removedAt, ...(await this.#leftovers.markFor(name)) };
      await topics.updateOne({ _id: name }, { $set: mark });
      this.#signal({ type: "topic", topic: name, removed: true });
      return true;
    });
  }

  /** Cutting a batch in two takes a transaction; and what is there already stays where it is. */
  async #checkLayout({ name, layout }: TopicConfig): Promise<void> {
    if (layout !== "batches") return;
    if (!this.#connection.replicaSet) {
      throw new BusError(
        "UNSUPPORTED",
        `topic "${name}": layout "batches" needs a replica set (one node is enough); the server is a standalone one`,
      );
    }
    if (await this.#isDefined(name)) return;
    const { events } = this.#connection.collections;
    if ((await events.findOne({ topic: name }, { projection: { _id: 1 } })) !== null) {
      throw layoutConflict(name, "documents", layout);
    }
  }

  /** Whether all events of a topic that is to be created will have entries by key. */
  async #keyIndexOf(config: TopicConfig): Promise<boolean> {
    if (!asksForKeys(config)) return false;
    if (await this.#isDefined(config.name)) return true;
    const without = { topic: config.name, key: { $exists: true }, keyed: { $exists: false } };
    const { events } = this.#connection.collections;
    return (await events.findOne(without, { projection: { _id: 1 } })) === null;
  }

  async #isDefined(name: string): Promise<boolean> {
    const { topics } = this.#connection.collections;
    return (await topics.findOne({ _id: name }, { projection: { _id: 1 } })) !== null;
  }

  /**
   * Of two that create it at once, one inserts it and the other finds it: in the same command, since a read of its own
   * might not see yet what the winner has just written.
   */
  async #insertTopic(config: TopicConfig): Promise<{ present: TopicDocument; inserted: boolean }> {
    const { name, ...rest } = config;
    const keyIndex = await this.#keyIndexOf(config);
    try {
      const { value, lastErrorObject } = await this.#connection.collections.topics.findOneAndUpdate(
        { _id: name },
        { $setOnInsert: { ...rest, keyIndex } },
        { upsert: true, returnDocument: "after", includeResultMetadata: true },
      );
      if (value === null) throw new BusError("INTERNAL", `topic "${name}" was neither found nor created`);
      return { present: value, inserted: lastErrorObject?.updatedExisting === false };
    } catch (error) {
      if (isDuplicateKey(error)) return this.#insertTopic(config);
      throw error;
    }
  }

  topic(name: string): Promise<TopicConfig | null> {
    return this.#connection.gate.read(async () => {
      const document = await this.#connection.collections.topics.findOne({ _id: name });
      return document === null || !(await this.#removed.isThere(document)) ? null : topicOf(document);
    });
  }

  topics(): Promise<readonly TopicConfig[]> {
    return this.#connection.gate.read(async () => {
      const documents = await this.#connection.collections.topics.find().sort({ _id: 1 }).toArray();
      this.#leftovers.sweep(documents);
      return (await this.#removed.present(documents)).map(topicOf);
    });
  }

  putSchema(entry: SchemaEntry, o: { expectedLatest: number }): Promise<void> {
    return this.#connection.gate.write(async () => {
      const { schemas } = this.#connection.collections;
      const { topic, version, compat, createdMs } = entry;
      const latest = (await schemas.findOne({ topic }, { sort: { version: -1 } }))?.version ?? 0;
      if (latest !== o.expectedLatest || version <= latest)
        throw schemaConflict(entry, o.expectedLatest, latest);
      const document = JSON.stringify(entry.document);
      try {
        const _id = `${topic}/${version}`;
        await schemas.insertOne({ _id, topic, version, follows: latest, compat, document, createdMs });
      } catch (error) {
        if (!isDuplicateKey(error)) throw error;
        const newest = await schemas.findOne({ topic }, { sort: { version: -1 } });
        throw schemaConflict(entry, o.expectedLatest, newest?.version ?? 0);
      }
    });
  }

  schemas(topic?: string): Promise<readonly SchemaEntry[]> {
    return this.#connection.gate.read(async () => {
      const documents = await this.#connection.collections.schemas
        .find(topic === undefined ? {} : { topic })
        .sort({ topic: 1, version: 1 })
        .toArray();
      return documents.map(schemaOf);
    });
  }

  token(name: string): Promise<Token | null> {
    return this.#connection.gate.read(async () => {
      const document = await this.#connection.collections.tokens.findOne({ _id: name });
      return document === null ? null : tokenOf(document);
    });
  }

  putToken(name: string, value: JsonValue | null, o: { expected: number }): Promise<number> {
    return this.#connection.gate.write(async () => {
      const { tokens } = this.#connection.collections;
      const revision = value === null ? 0 : o.expected + 1;
      if (value === null) {
        const { deletedCount } = await tokens.deleteOne({ _id: name, revision: o.expected });
        if (deletedCount === 1) return revision;
      } else if (o.expected > 0) {
        const write = { name, value: JSON.stringify(value), expected: o.expected, mark: randomUUID() };
        const outcome = answerOf(await this.#replacements.ask(write));
        if (outcome.isWritten) return revision;
        if (outcome.isWritten === undefined) throw replacedSince(name, outcome.revision);
        throw replacedByOthers(name, outcome.revision, o.expected);
      } else {
        try {
          await tokens.insertOne({ _id: name, value: JSON.stringify(value), revision });
          return revision;
        } catch (error) {
          if (!isDuplicateKey(error)) throw error;
        }
      }
      const present = (await tokens.findOne({ _id: name }))?.revision ?? 0;
      // Removing what is absent, expecting it absent, is no conflict.
      if (value === null && present === 0 && o.expected === 0) return revision;
      throw replacedByOthers(name, present, o.expected);
    });
  }

  tokens(prefix: string): Promise<ReadonlyMap<string, Token>> {
    return this.#connection.gate.read(async () => {
      const found = await this.#connection.collections.tokens
        .find({ _id: { $gte: prefix, $lt: `${prefix}\u{10ffff}` } })
        .sort({ _id: 1 })
        .toArray();
      return new Map(found.map((document) => [document._id, tokenOf(document)]));
    });
  }

  audit(entry: NewAudit): Promise<void> {
    return this.#connection.gate.write(async () => answerOf(await this.#audits.ask(entry)));
  }

  audits(o: { limit: number; before?: number }): Promise<readonly AuditEntry[]> {
    return this.#connection.gate.read(async () => {
      // To MongoDB, a limit of 0 is none.
      if (o.limit < 1) return [];
      const documents = await this.#connection.collections.audit
        .find(o.before === undefined ? {} : { _id: { $lt: o.before } })
        .sort({ _id: -1 })
        .limit(o.limit)
        .toArray();
      return documents.map(auditOf);
    });
  }

  trimAudits({ beforeMs }: { beforeMs: number }): Promise<number> {
    return this.#connection.gate.write(async () => {
      const { audit } = this.#connection.collections;
      const newest = await audit.findOne({}, { sort: { _id: -1 }, projection: { _id: 1 } });
      const options = { sort: { _id: 1 }, limit: AUDITS_AT_ONCE, projection: { atMs: 1 } } as const;
      const oldest = await audit.find({ _id: { $lt: newest?._id ?? 0 } }, options).toArray();
      const ids = oldest.filter(({ atMs }) => atMs < beforeMs).map(({ _id }) => _id);
      if (ids.length === 0) return 0;
      return (await audit.deleteMany({ _id: { $in: ids } })).deletedCount;
    });
  }
}

/** What a topic is for life; whoever says nothing of its layout does not mind. */
function checkFixed(present: TopicDocument, { name, partitions, layout }: TopicConfig): void {
  if (present.partitions !== partitions) {
    throw new BusError(
      "TOPIC_CONFLICT",
      `topic "${name}" has ${present.partitions} partitions; they cannot become ${partitions}`,
      { details: { topic: name, partitions: present.partitions } },
    );
  }
  const { layout: is = "documents" } = present;
  if (layout !== undefined && layout !== is) throw layoutConflict(name, is, layout);
}

function layoutConflict(topic: string, is: TopicLayout, asked: TopicLayout): BusError {
  return new BusError(
    "TOPIC_CONFLICT",
    `topic "${topic}" is kept as "${is}"; that cannot become "${asked}": move its events to a new topic`,
    { details: { topic, layout: is } },
  );
}

function fixedOf({ layout, keyIndex }: TopicDocument): Pick<TopicDocument, "layout" | "keyIndex"> {
  return {
    ...(layout !== undefined && { layout }),
    ...(keyIndex !== undefined && { keyIndex }),
  };
}

function walksByKey(topic: string): string {
  return (
    `topic "${topic}" was first defined without "keyed" or "compaction", so it has no index by key: look-ups by key and ` +
    'compaction walk through it. See "By key" in docs/stores/mongo.md for what helps.'
  );
}

function topicOf({ _id, keyIndex: _, removedAt: __, unswept: ___, ...rest }: TopicDocument): TopicConfig {
  return freezeJson({ name: _id, ...rest });
}

function schemaOf({ topic, version, compat, document, createdMs }: SchemaDocument): SchemaEntry {
  return freezeJson({ topic, version, compat, document: JSON.parse(document) as JsonValue, createdMs });
}

function tokenOf({ value, revision }: { value: string; revision: number }): Token {
  return freezeJson({ value: JSON.parse(value) as JsonValue, revision });
}

function auditOf({ _id, details, ...rest }: AuditDocument): AuditEntry {
  const parsed = details === undefined ? undefined : { details: JSON.parse(details) as JsonValue };
  return freezeJson({ number: _id, ...rest, ...parsed });
}

function schemaConflict(entry: SchemaEntry, expected: number, latest: number): BusError {
  return new BusError(
    "SCHEMA_CONFLICT",
    `version ${entry.version} of "${entry.topic}" was to follow version ${expected}, but the newest is ${latest}`,
    { details: { topic: entry.topic, latest } },
  );
}

function replacedByOthers(name: string, revision: number, expected: number): BusError {
  return new BusError("WRITE_CONFLICT", `token "${name}" is at revision ${revision}, not at ${expected}`, {
    details: { token: name, revision },
  });
}

function replacedSince(name: string, revision: number): BusError {
  return new BusError(
    "OUTCOME_UNKNOWN",
    `token "${name}" is at revision ${revision} by now: what became of this write is not known`,
    { details: { token: name, revision } },
  );
}
