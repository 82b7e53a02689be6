/**
 * Who is told what when something changed. Changes of this process are told at once; those of others come by one change
 * stream over the store's collections, or, where that cannot be had, by looking now and then whether anything is new; on a
 * sharded cluster by both, since its streams may be seconds behind (poller.ts).
 *
 * The stream (or the looking) runs only while somebody listens. Of an append it sees the last event only: what a writer
 * that crashed in the middle left behind is found by whoever reads next.
 */
import type { Document } from "mongodb";
import { callSafely } from "../../../model/call-safely.js";
import type { Seq } from "../../../model/event.js";
import type { GroupRef } from "../../../ports/groups.js";
import type { Signal } from "../../../ports/store.js";
import type { Connection } from "../connection/connection.js";
import { nameOf, type Place } from "../events/event-lookup.js";
import { ChangedGroups } from "../groups/changed-groups.js";
import { ChangeLoop } from "./change-loop.js";
import { type End, Poller } from "./poller.js";

const MAX_TOLD = 10_000;

type Listener = (signal: Signal) => void;

export class Signals {
  readonly #connection: Connection;
  readonly #listeners = new Set<Listener>();
  #source: Source | undefined;
  /** Sources that were stopped and are not done yet. */
  readonly #ending = new Set<Promise<void>>();
  readonly #told = new ToldEnds();

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  listen(listener: Listener): () => void {
    // A wrapper per call: the same function may listen twice, and each stop ends its own.
    const own = (signal: Signal): void => listener(signal);
    this.#listeners.add(own);
    this.#source ??= new Source(this.#connection, this.send, this.#told);
    return () => {
      if (this.#listeners.delete(own) && this.#listeners.size === 0) this.#stopSource();
    };
  }

  readonly send = (signal: Signal): void => {
    if (this.#connection.sharded && signal.type === "appended") this.#told.note(signal);
    for (const listener of [...this.#listeners]) callSafely(() => listener(signal));
  };

  readonly sendGroups = (refs: readonly GroupRef[]): void => {
    for (const { topic, group } of refs) this.send({ type: "group", ref: { topic, group } });
  };

  async close(): Promise<void> {
    this.#listeners.clear();
    this.#stopSource();
    await Promise.all(this.#ending);
  }

  #stopSource(): void {
    const source = this.#source;
    if (source === undefined) return;
    this.#source = undefined;
    const ended = source.stop().finally(() => this.#ending.delete(ended));
    this.#ending.add(ended);
  }
}

/** How far into each partition listeners were told; only on sharded clusters. */
class ToldEnds {
  readonly #heads = new Map<string, Seq>();

  note(appended: Place & { readonly head: Seq }): void {
    if (this.#heads.size >= MAX_TOLD) this.#heads.clear();
    const name = nameOf(appended);
    this.#heads.set(name, Math.max(appended.head, this.#heads.get(name) ?? 0));
  }

  has(end: End): boolean {
    return (this.#heads.get(nameOf(end)) ?? 0) >= end.seq;
  }
}

/** Where signals of other processes come from: a change stream, polling if there is none, or both. */
class Source {
  readonly #connection: Connection;
  readonly #send: Listener;
  readonly #groups = new ChangedGroups();
  readonly #stream: ChangeLoop | undefined;
  #poller: Poller | undefined;

  constructor(connection: Connection, send: Listener, told: ToldEnds) {
    this.#connection = connection;
    this.#send = send;
    this.#stream = connection.replicaSet ? this.#follow() : undefined;
    if (this.#stream === undefined) this.#poller = this.#poll();
    else if (connection.sharded) this.#poller = this.#poll((end) => told.has(end));
  }

  async stop(): Promise<void> {
    await Promise.all([this.#stream?.stop(), this.#poller?.stop()]);
  }

  #poll(isTold?: (end: End) => boolean): Poller {
    const onNews = (): void => this.#send({ type: "any" });
    return new Poller(this.#connection.collections, { onNews, ...(isTold && { isTold }) });
  }

  #follow(): ChangeLoop {
    const { db, collections } = this.#connection;
    const { events, batches, topics, changes } = collections;
    const pipeline = [
      {
        $match: {
          operationType: { $in: ["insert", "update", "replace"] },
          $or: [
            { "ns.coll": events.collectionName, operationType: "insert", "fullDocument.last": true },
            // What a trim inserts when it cuts a batch is of a later revision, and no news.
            { "ns.coll": batches.collectionName, operationType: "insert", "fullDocument.revision": 0 },
            { "ns.coll": { $in: [topics.collectionName, changes.collectionName] } },
          ],
        },
      },
      {
        $project: {
          coll: "$ns.coll",
          key: "$documentKey._id",
          topic: "$fullDocument.topic",
          partition: "$fullDocument.partition",
          seq: { $ifNull: ["$fullDocument.seq", "$fullDocument.last"] },
          latest: { $ifNull: ["$updateDescription.updatedFields", "$fullDocument"] },
        },
      },
    ];
    return new ChangeLoop({
      open: (resumeAfter) =>
        db.watch(pipeline, { maxAwaitTimeMS: 1_000, ...(resumeAfter ? { resumeAfter } : {}) }),
      onChange: (change) => this.#tell(change),
      onGap: () => this.#send({ type: "any" }),
      onUnavailable: (reason) => {
        this.#connection.warn(`MongoDB gives no change stream (${reason}): new events are found by polling`);
        this.#poller ??= this.#poll();
      },
    });
  }

  #tell(change: Document): void {
    const { events, batches, topics } = this.#connection.collections;
    if (change.coll === events.collectionName || change.coll === batches.collectionName) {
      const { topic, partition, seq } = change;
      this.#send({ type: "appended", topic, partition, head: seq });
    } else if (change.coll === topics.collectionName) {
      const removed = change.latest?.removedAt !== undefined;
      this.#send({ type: "topic", topic: String(change.key), ...(removed && { removed }) });
    } else {
      for (const ref of this.#groups.of(change.latest)) this.#send({ type: "group", ref });
    }
  }
}
