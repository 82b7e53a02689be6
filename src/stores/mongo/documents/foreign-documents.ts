/**
 * Whether the collections that a store is about to take for its own are somebody else's, or spread over several shards. Names such
 * as `members` or `topics` are common, and indexes would do harm there: one of them has the server delete documents whose
 * time is over. Ids are unique (P3), and seqs without gaps (P2), only within one shard.
 */
import type { Document } from "mongodb";
import { BusError } from "../../../model/errors.js";
import type { Collections } from "../collections.js";
import { isMongo } from "../connection/driver-kinds.js";

/** What every document of a collection of ours has. */
const OURS = {
  events: { topic: { $type: "string" }, seq: { $type: "number" } },
  batches: { topic: { $type: "string" }, first: { $type: "number" } },
  cursors: { topic: { $type: "string" }, epoch: { $type: "number" } },
  members: { _id: { $type: "string" }, $or: [{ open: true }, { groups: { $type: "array" } }] },
  changes: { version: { $type: "number" } },
  outbox: { status: { $type: "string" }, failures: { $type: "number" } },
  topics: { partitions: { $type: "number" } },
  schemas: { topic: { $type: "string" }, follows: { $type: "number" } },
  tokens: { revision: { $type: "number" } },
  audit: { _id: { $type: "number" }, action: { $type: "string" } },
} as const satisfies Partial<Record<keyof Collections, Document>>;

const NAMES = Object.keys(OURS) as (keyof typeof OURS)[];

/** Looks at one document of each, in one question. */
export async function refuseForeign(collections: Collections): Promise<void> {
  const looks = NAMES.map((name) => ({
    $unionWith: { coll: collections[name].collectionName, pipeline: foreignIn(name, collections) },
  }));
  const nothing: Document[] = [{ $limit: 1 }, { $match: { $expr: false } }];
  const found = await collections.topics.aggregate<{ name: string }>([...nothing, ...looks]).toArray();
  if (found.length === 0) return;
  const foreign = found.map(({ name }) => `"${name}"`).join(", ");
  throw new BusError(
    "STORE_INCOMPATIBLE",
    `the database "${collections.db.databaseName}" has documents of others in ${foreign}: use another database, or a prefix`,
  );
}

/** Asks a router. A server that will not tell, or not this client, is believed. */
export async function refuseSharded(collections: Collections): Promise<void> {
  const isSharded = async (name: string): Promise<boolean> => {
    try {
      return (await collections.db.command({ collStats: name })).sharded === true;
    } catch (error) {
      if (isMongo(error, "MongoServerError")) return false;
      throw error;
    }
  };
  const names = NAMES.map((name) => collections[name].collectionName);
  const answers = await Promise.all(names.map(isSharded));
  const sharded = names.filter((_, i) => answers[i]).map((name) => `"${name}"`);
  if (sharded.length === 0) return;
  throw new BusError(
    "STORE_INCOMPATIBLE",
    `in the database "${collections.db.databaseName}", ${sharded.join(", ")} must not be sharded: ids are unique, and seqs ` +
      "without gaps, on one shard only. The database may be on a sharded cluster, its collections stay whole",
  );
}

function foreignIn(name: keyof typeof OURS, collections: Collections): Document[] {
  const { collectionName } = collections[name];
  return [
    { $limit: 1 },
    { $match: { $nor: [OURS[name]] } },
    { $project: { _id: 0, name: { $literal: collectionName } } },
  ];
}
