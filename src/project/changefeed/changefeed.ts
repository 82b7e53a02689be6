/**
 * Change feed: what happens to a MongoDB collection becomes events of a topic (P12). Every committed change is
 * published at least once, under an id of its own, in order for each document; the place is kept after the publish,
 * so a crash repeats and never skips, and a repeated publish adds nothing (P3). What was published of one batch is
 * remembered while the next is published: these take about as long.
 *
 *   begin --place known--> following --batch--> publish, then remember and keep the token
 *     '--none, or lost--> scanning (reconciliation.ts) --> following
 *
 * The place is lost when the server's log no longer reaches back to it (ChangeStreamHistoryLost), and when the
 * collection was dropped or renamed (invalidate).
 */

import type { ChangeStreamDocument, Db, MongoClient } from "mongodb";
import { BusError } from "../../model/errors.js";
import type { PublishItem } from "../../model/event-bus.js";
import type { JsonObject } from "../../model/json.js";
import type { Mutable } from "../../model/mutable.js";
import type { Handle } from "../../model/task.js";
import { checkTopicName, type TopicRef, topicName } from "../../model/topic.js";
import { checkRange } from "../option-checks.js";
import { roundsTask } from "../running-task.js";
import { checkViewName } from "../views/view.js";
import {
  type ChangeBatch,
  ChangeCursor,
  clusterTime,
  isLostPlace,
  keepsImages,
  sourceOf,
} from "./change-cursor.js";
import {
  type ChangefeedOptions,
  type ChangefeedStats,
  checkParts,
  type FeedDatabase,
  type FeedHost,
} from "./changefeed-options.js";
import { entryOf, type FeedEntry, isRowChange, type Naming } from "./collection-change.js";
import { type FeedPlace, FeedPoint } from "./feed-point.js";
import { digestView } from "./feed-removal.js";
import { PublishedStates } from "./published-states.js";
import { reconcile } from "./reconciliation.js";

/** How soon a process that waits looks whether the one that runs the feed is gone. */
const LOOK_MS = 1_000;
const PURGE_EVERY_MS = 3_600_000;
/** Ids that stand beside the place of a feed. */
const MAX_LISTED_CHARACTERS = 262_144;
const REFUSALS = new Set(["INVALID_PAYLOAD", "PAYLOAD_TOO_LARGE", "SCHEMA_VIOLATION", "INVALID_OPTION"]);

/** `tend` looks after the caller's client for as long as the feed runs, and returns how to end that. */
export function startChangefeed(
  db: FeedDatabase,
  bus: FeedHost,
  options: ChangefeedOptions,
  tend: (client: MongoClient) => () => void,
): Handle<ChangefeedStats> {
  const feed = new Changefeed(db, bus, options);
  const { clock, tasks } = bus;
  const name = `changefeed ${feed.name} → ${feed.topic}`;
  const leave = tend(db.client);
  const close = (): Promise<void> => feed.close().finally(leave);
  return roundsTask(
    { kind: "changefeed", name, clock, board: tasks, stats: () => ({ ...feed.stats }) },
    { everyMs: LOOK_MS, round: (signal) => feed.round(signal), close },
  );
}

class Changefeed {
  readonly name: string;
  readonly topic: string;
  readonly stats: Mutable<ChangefeedStats> & {
    changes: number;
    published: number;
    filtered: number;
    skipped: number;
    reconciliations: number;
  } = {
    phase: "waiting",
    changes: 0,
    published: 0,
    filtered: 0,
    skipped: 0,
    reconciliations: 0,
    delayMs: 0,
  };
  readonly #db: Db;
  readonly #bus: FeedHost;
  readonly #options: ChangefeedOptions;
  /** As it was given: what a definition says of the topic counts. */
  readonly #target: TopicRef;
  readonly #naming: Naming;
  readonly #point: FeedPoint;
  readonly #states: PublishedStates;
  #cursor: ChangeCursor | null = null;
  #settling: Promise<void> = Promise.resolve();
  #purgeAtMs = 0;

  constructor(db: Db, bus: FeedHost, options: ChangefeedOptions) {
    checkParts(db, bus, options);
    const { collection } = options;
    this.#target = options.topic ?? `${collection.toLowerCase().replaceAll("_", "-")}.changed`;
    this.topic = topicName(this.#target);
    checkTopicName(this.topic);
    checkRange("batchSize", options.batchSize, 1, 10_000);
    checkRange("takeOverMs", options.takeOverMs, 100);
    this.name = options.name ?? `${db.databaseName}.${collection}`;
    const view = digestView(this.name);
    checkViewName(view);
    this.#db = db;
    this.#bus = bus;
    this.#options = options;
    const feed = `changefeed ${this.name} ${this.topic}`;
    this.#naming = { feed, collection, extendedJson: options.extendedJson ?? false };
    this.#point = new FeedPoint(bus.store.registry, bus.clock, {
      name: this.name,
      topic: this.topic,
      silentMs: options.takeOverMs ?? 15_000,
    });
    this.#states = new PublishedStates(bus.store.documents, view);
  }

  /** One batch, or one scan; true if there may be more. */
  async round(signal: AbortSignal): Promise<boolean> {
    try {
      if (this.#cursor === null && !(await this.#begin(signal))) return false;
      if (signal.aborted || this.#cursor === null) return true;
      const batch = await this.#cursor.next(signal);
      await this.#take(batch);
      return true;
    } catch (error) {
      await this.#endCursor();
      if (signal.aborted) return false;
      if (!isLostPlace(error)) throw error;
      await this.#loseTrack(String(error.codeName ?? error.code));
      return true;
    }
  }

  async close(): Promise<void> {
    await this.#endCursor();
    await this.#point.leave();
  }

  /** False if another process runs the feed. */
  async #begin(signal: AbortSignal): Promise<boolean> {
    this.stats.phase = "waiting";
    if (!(await this.#point.take())) return false;
    if (this.#point.isForgotten) await this.#loseTrack(`${digestView(this.name)} was removed`);
    if (this.#point.place === null) {
      const at = await clusterTime(this.#db);
      await this.#point.move({ phase: "scanning", run: 1, at, reason: FIRST_START });
    }
    if (this.#point.place?.phase === "scanning") await this.#scan(signal);
    const place = this.#point.place;
    if (place?.phase !== "following") return true;
    const images = await keepsImages(this.#db, this.#options.collection);
    const { batchSize = 500, collection } = this.#options;
    this.#cursor = await ChangeCursor.open(this.#db, collection, { start: place.start, batchSize, images });
    this.stats.phase = "following";
    return true;
  }

  async #scan(signal: AbortSignal): Promise<void> {
    const place = this.#point.place;
    if (place?.phase !== "scanning") return;
    this.stats.phase = "scanning";
    const { run, at, reason } = place;
    const first = reason === FIRST_START;
    const silent = first && (this.#options.from ?? "latest") === "latest";
    await this.#suspect(this.#point.underWay);
    const counts = await reconcile({
      db: this.#db,
      naming: this.#naming,
      states: this.#states,
      at,
      run,
      nowMs: () => this.#bus.clock.now(),
      emit: (entries) => (silent ? this.#states.remember(entries, this.#point.stamp()) : this.#emit(entries)),
      alive: async () => {
        if (signal.aborted) throw new BusError("ABORTED", `the scan of ${this.name} was stopped`);
        await this.#point.sign();
      },
    });
    const { collection } = this.#options;
    const details = { collection, reason, run, ...counts, published: !silent };
    await this.#audit(first ? "changefeed.started" : "changefeed.reconciled", details);
    this.stats.lastReconciliation = counts;
    if (!first) this.stats.reconciliations++;
    await this.#point.move({ phase: "following", run, start: { at } });
  }

  async #take({ changes, token }: ChangeBatch): Promise<void> {
    const run = this.#point.place?.run ?? 1;
    if (changes.length === 0) {
      await this.#settling;
      await this.#point.idle(token, run);
      await this.#purge();
      if (this.#cursor?.over) await this.#endCursor();
      return;
    }
    const entries = await this.#entriesOf(changes);
    await this.#announce(entries);
    await this.#publish(entries);
    await this.#settling;
    if (changes.some(({ operationType }) => operationType === "invalidate")) {
      await this.#remember(entries);
      await this.#endCursor();
      await this.#loseTrack("invalidate");
      return;
    }
    this.#settling = this.#settle(entries, { phase: "following", run, start: { after: token } });
    // Told to the next one who waits for it.
    this.#settling.catch(() => undefined);
  }

  /** In this order: the other way round a crash could hide a change from a scan. */
  async #settle(entries: readonly FeedEntry[], place: FeedPlace): Promise<void> {
    await this.#remember(entries);
    await this.#point.move(place);
  }

  /** Before they are published: were the place lost after a crash, nobody would tell of the new ones among them that are gone. */
  async #announce(entries: readonly FeedEntry[]): Promise<void> {
    const added = entries.filter(({ change }) => change.op === "insert").map(({ exactId }) => exactId);
    const isLong = added.reduce((sum, id) => sum + id.length, 0) > MAX_LISTED_CHARACTERS;
    if (isLong) await this.#suspect(added);
    await this.#point.begin(isLong ? [] : added);
  }

  async #suspect(exactIds: readonly string[]): Promise<void> {
    await this.#states.suspect(exactIds, this.#bus.clock.now(), this.#point.stamp());
  }

  async #remember(entries: readonly FeedEntry[]): Promise<void> {
    await this.#states.remember(entries, this.#point.stamp());
    this.#point.finish(entries.map(({ exactId }) => exactId));
  }

  async #entriesOf(changes: readonly ChangeStreamDocument[]): Promise<FeedEntry[]> {
    const entries: FeedEntry[] = [];
    for (const change of changes) {
      if (!isRowChange(change)) continue;
      // Its image has been removed by now, or the document has.
      const lacks = change.operationType === "update" && !change.fullDocument;
      const current = lacks
        ? await sourceOf(this.#db, this.#options.collection).findOne(change.documentKey)
        : null;
      entries.push(entryOf(change, current, this.#naming));
    }
    this.stats.changes += entries.length;
    return entries;
  }

  async #emit(entries: readonly FeedEntry[]): Promise<void> {
    await this.#announce(entries);
    await this.#publish(entries);
    await this.#remember(entries);
  }

  async #publish(entries: readonly FeedEntry[]): Promise<void> {
    const wanted = entries.filter(({ change }) => this.#options.filter?.(change) ?? true);
    this.stats.filtered += entries.length - wanted.length;
    if (wanted.length > 0) await this.#publishAll(wanted);
    const last = entries.at(-1);
    if (last !== undefined) this.stats.delayMs = Math.max(0, this.#bus.clock.now() - last.ts);
  }

  async #publishAll(entries: readonly FeedEntry[]): Promise<void> {
    try {
      await this.#bus.publishMany(
        this.#target,
        entries.map((entry) => this.#itemOf(entry)),
      );
      this.stats.published += entries.length;
    } catch {
      // One by one, in order: what is refused, and what is there already, is told apart from what failed.
      for (const entry of entries) await this.#publishOne(entry);
    }
  }

  async #publishOne(entry: FeedEntry): Promise<void> {
    try {
      const { payload, ...rest } = this.#itemOf(entry);
      await this.#bus.publish(this.#target, payload, rest);
      this.stats.published++;
    } catch (error) {
      // An earlier try published it; the document that it was shown with has changed since.
      if (BusError.is(error, "ID_CONFLICT")) return;
      const refused = !BusError.is(error) || REFUSALS.has(error.code);
      if (!refused || this.#options.onRefused !== "skip") throw error;
      this.stats.skipped++;
      const { id, op } = entry.change;
      await this.#audit("changefeed.skipped", { id, op, error: BusError.from(error).message });
    }
  }

  #itemOf({ eventId, ts, change }: FeedEntry): PublishItem {
    const { map, keyOf } = this.#options;
    return {
      id: eventId,
      ts,
      key: keyOf === undefined ? change.id : keyOf(change),
      payload: map === undefined ? change : map(change),
    };
  }

  /** From now on, up to the end of the next scan, the feed does not know what it has missed. */
  async #loseTrack(reason: string): Promise<void> {
    const at = await clusterTime(this.#db);
    const run = (this.#point.place?.run ?? 0) + 1;
    await this.#point.move({ phase: "scanning", run, at, reason });
  }

  /** With what is under way: whatever has not come to its end then comes again. */
  async #endCursor(): Promise<void> {
    const cursor = this.#cursor;
    this.#cursor = null;
    await Promise.allSettled([this.#settling, cursor?.close()]);
    this.#settling = Promise.resolve();
  }

  async #purge(): Promise<void> {
    const { clock } = this.#bus;
    if (clock.steady() < this.#purgeAtMs) return;
    this.#purgeAtMs = clock.steady() + PURGE_EVERY_MS;
    await this.#states.purge(clock.now());
  }

  async #audit(action: string, details: JsonObject): Promise<void> {
    const { store, clock } = this.#bus;
    const actor = `changefeed ${this.name}`;
    await store.registry.audit({ atMs: clock.now(), actor, action, target: this.topic, details });
  }
}

const FIRST_START = "first start";
