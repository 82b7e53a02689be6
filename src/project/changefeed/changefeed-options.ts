/** What a change feed may be told, and what it tells. */
import type { Db } from "mongodb";
import { BusError } from "../../model/errors.js";
import { checkOptionNames, namesOf } from "../../model/known-options.js";
import type { TopicRef } from "../../model/topic.js";
import type { Host } from "../host.js";
import { checkChoice, checkFunctions } from "../option-checks.js";
import type { CollectionChange } from "./collection-change.js";
import type { ReconciliationCounts } from "./reconciliation.js";

/** Which collection a change feed follows, and what it publishes of each change. */
export interface ChangefeedOptions {
  readonly collection: string;
  /** Default `<collection>.changed`. */
  readonly topic?: TopicRef;
  /** Under which its place is kept. Default `<database>.<collection>`. */
  readonly name?: string;
  /** At the first start: "earliest" publishes the documents that are there as inserts. Default "latest". */
  readonly from?: "earliest" | "latest";
  /** Changes it refuses are not published. */
  readonly filter?: (change: CollectionChange) => boolean;
  /** The payload to publish. Default: the change. */
  readonly map?: (change: CollectionChange) => unknown;
  /** Default: the document's `_id`. */
  readonly keyOf?: (change: CollectionChange) => string;
  /** Documents as extended JSON, which tells all types apart, instead of plain JSON. */
  readonly extendedJson?: boolean;
  /** A process that runs the feed and is silent for this long has lost it to another one. Default 15,000. */
  readonly takeOverMs?: number;
  /** Changes published at once. Default 500. */
  readonly batchSize?: number;
  /**
   * A change that cannot be published (too large, refused by the topic's schema, or `map` throws): "stop" holds the feed
   * there, for all to see, until that changes; "skip" leaves it out and says so in the audit. Default "stop".
   */
  readonly onRefused?: "stop" | "skip";
}

const OPTIONS = namesOf<ChangefeedOptions>({
  collection: true,
  topic: true,
  name: true,
  from: true,
  filter: true,
  map: true,
  keyOf: true,
  extendedJson: true,
  takeOverMs: true,
  batchSize: true,
  onRefused: true,
});

/** What a change feed has done since it began. */
export interface ChangefeedStats {
  readonly [name: string]: unknown;
  readonly phase: "waiting" | "scanning" | "following";
  readonly changes: number;
  readonly published: number;
  readonly filtered: number;
  readonly skipped: number;
  /** Times that the collection had to be compared with what was published; the last result. */
  readonly reconciliations: number;
  readonly lastReconciliation?: Readonly<ReconciliationCounts>;
  /** How long ago the newest published change happened, when it was published. */
  readonly delayMs: number;
}

/** Where the collection is, on a client of the caller's. */
export type FeedDatabase = Db;

export type FeedHost = Pick<Host, "publish" | "publishMany" | "clock" | "tasks" | "store">;

/** INVALID_OPTION for what cannot be one. */
export function checkParts(db: unknown, bus: unknown, options: unknown): void {
  if (typeof (db as Partial<Db> | undefined)?.collection !== "function")
    throw new BusError(
      "INVALID_OPTION",
      "a change feed needs the database of the collection: client.db(name)",
    );
  if (typeof (bus as Partial<FeedHost> | undefined)?.publishMany !== "function")
    throw new BusError("INVALID_OPTION", "a change feed needs the bus it publishes on");
  const given = (options ?? {}) as Partial<ChangefeedOptions>;
  checkOptionNames("a change feed", given, OPTIONS);
  if (typeof given.collection !== "string" || given.collection === "")
    throw new BusError("INVALID_OPTION", "a change feed needs the name of a collection");
  const { filter, map, keyOf } = given;
  checkFunctions({ filter, map, keyOf });
  checkChoice("from", given.from, ["earliest", "latest"]);
  checkChoice("onRefused", given.onRefused, ["stop", "skip"]);
}
