/**
 * Names of topics and the numbers of their partitions in the file: partition p of a topic is number first + p. Numbers
 * never change, so what was looked up once stays right; whether a topic keeps an index by key may change. To the log, a topic that was
 * removed is one without events.
 */
import { BusError } from "../../model/errors.js";
import { freezeJson } from "../../model/json.js";
import type { TopicConfig } from "../../model/topic.js";
import type { Connection } from "./sqlite.js";

/** State of a topic's index by key: none, complete, or the number of a filling with older events. */
export const KEYS_NONE = 0;
export const KEYS_READY = 2;
/** Of every filling in earlier builds, and of the one after a file was brought up to date. */
export const KEYS_FILLING = 1;
/** The same as `isFilling`, of rows. */
export const ARE_FILLING = `keys = ${KEYS_FILLING} OR keys < 0`;

/** Whether older events are being added. */
export function isFilling(keys: number): boolean {
  return keys === KEYS_FILLING || keys < 0;
}

/** A number of its own for each filling: who began before the index was thrown away, and asked for again, does not complete it. */
export function newFilling(): number {
  return -1 - Math.floor(Math.random() * 2 ** 48);
}

/** How much was written to a topic, ever: the sum of its heads. */
export const WRITTEN = `
  (SELECT sum(part.head) FROM part
   WHERE part.id >= topic.first_part AND part.id < topic.first_part + topic.partitions)`;

/**
 * Of rows: the topic is there. One that was removed keeps its row, and with it the numbers of its partitions and their heads, so that
 * no seq is ever given again (P2); it is there again once something was appended, since heads only grow.
 */
export const IS_THERE = `(topic.removed_at IS NULL OR topic.removed_at <> ${WRITTEN})`;

export interface TopicRow {
  readonly id: number;
  readonly name: string;
  readonly partitions: number;
  readonly firstPart: number;
  readonly keys: number;
}

type Columns = [id: number, name: string, partitions: number, firstPart: number, keys: number];
export type ConfigColumns = [config: string, name: string, partitions: number];
export const CONFIG_COLUMNS = "config, name, partitions";
const COLUMNS = "id, name, partitions, first_part, keys";

export class Topics {
  readonly #connection: Connection;
  #known = new Map<string, TopicRow>();

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  /** The topic as it was when first looked up. */
  find(name: string): TopicRow | undefined {
    return this.#known.get(name) ?? this.reload(name);
  }

  /** The topic as it is now. */
  reload(name: string): TopicRow | undefined {
    const row = this.#connection.sql(`SELECT ${COLUMNS} FROM topic WHERE name = ?`).get<Columns>(name);
    if (row === undefined) {
      demandNoTopic(this.#connection, name);
      return undefined;
    }
    const topic = topicOf(row);
    this.#known.set(name, topic);
    return topic;
  }

  /** Number of a partition; NOT_FOUND if the topic is not defined or has no such partition. */
  part(name: string, partition: number): { topic: TopicRow; part: number } {
    const topic = this.find(name);
    if (topic === undefined) throw new BusError("NOT_FOUND", `topic "${name}" is not defined`);
    if (!(partition >= 0 && partition < topic.partitions)) {
      throw new BusError(
        "NOT_FOUND",
        `topic "${name}" has ${topic.partitions} partitions and no ${partition}`,
      );
    }
    return { topic, part: topic.firstPart + partition };
  }

  /** The number, or undefined for what was never defined. */
  partIfAny(name: string, partition: number): number | undefined {
    const topic = this.find(name);
    return topic === undefined || partition >= topic.partitions ? undefined : topic.firstPart + partition;
  }

  /** The names behind a number. */
  owner(part: number): { topic: string; partition: number } {
    for (const t of this.#known.values()) {
      if (part >= t.firstPart && part < t.firstPart + t.partitions) {
        return { topic: t.name, partition: part - t.firstPart };
      }
    }
    const row = this.#connection
      .sql(`SELECT ${COLUMNS} FROM topic WHERE first_part <= ? ORDER BY first_part DESC LIMIT 1`)
      .get<Columns>(part);
    if (row === undefined) throw new BusError("STORE_DAMAGED", `no topic owns partition number ${part}`);
    const topic = topicOf(row);
    this.#known.set(topic.name, topic);
    return { topic: topic.name, partition: part - topic.firstPart };
  }

  forget(): void {
    this.#known = new Map();
  }
}

/** A topic that is not found by its name. */
const HIDDEN = `
  SELECT 1 FROM topic AS t NOT INDEXED
  WHERE NOT EXISTS (SELECT 1 FROM topic AS found WHERE found.name = t.name) LIMIT 1`;

/** Whether there are such topics: looked for once, since whoever writes keeps the index. */
const haveHidden = new WeakMap<Connection, boolean>();

/**
 * What the index of names does not have stands in no row either. Else a bit of that index has turned: the topic would be taken for one
 * that is not there, and made anew beside its events (P14).
 */
export function demandNoTopic(connection: Connection, name: string): void {
  let hasHidden = haveHidden.get(connection);
  if (hasHidden === undefined) {
    hasHidden = connection.sql(HIDDEN).get<[number]>() !== undefined;
    haveHidden.set(connection, hasHidden);
  }
  if (!hasHidden) return;
  const row = connection.sql("SELECT id FROM topic NOT INDEXED WHERE name = ?").get<[number]>(name);
  if (row === undefined) return;
  throw new BusError(
    "STORE_DAMAGED",
    `${connection.path}: topic "${name}" is there, but not found by its name; restore the file from a backup`,
    { details: { topic: name } },
  );
}

/** A topic's settings, against what stands beside them: nothing that is damaged is taken for what was defined (P14). */
export function configOf(connection: Connection, [text, name, partitions]: ConfigColumns): TopicConfig {
  const config = readConfig(text);
  if (config?.name === name && config.partitions === partitions) return freezeJson(config);
  throw new BusError(
    "STORE_DAMAGED",
    `${connection.path}: the settings of topic "${name}" are damaged; restore the file from a backup`,
    { details: { topic: name } },
  );
}

function readConfig(text: string): TopicConfig | undefined {
  try {
    return (JSON.parse(text) as TopicConfig | null) ?? undefined;
  } catch {
    return undefined;
  }
}

function topicOf([id, name, partitions, firstPart, keys]: Columns): TopicRow {
  return { id, name, partitions, firstPart, keys };
}
