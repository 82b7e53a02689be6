/** A collection, a bus to publish its changes on, and a feed between the two, made anew for each test. */
import { type Collection, type Document, MongoClient } from "mongodb";
import { afterEach, beforeEach, expect } from "vitest";
import type { Bus } from "../../../src/bus/bus.js";
import { createBus } from "../../../src/bus/create-bus.js";
import type { EventRecord } from "../../../src/model/event.js";
import type { Handle } from "../../../src/model/task.js";
import {
  type ChangefeedOptions,
  type ChangefeedStats,
  type CollectionChange,
  startMongoChangefeed,
} from "../../../src/mongo.js";
import { TestDatabase } from "./database.js";
import { FailPoint } from "./fail-point.js";

export type Feed = Handle<ChangefeedStats>;

export class ChangefeedBench {
  readonly failPoint = new FailPoint(() => this.database.client);
  #database: TestDatabase | undefined;
  #client: MongoClient | undefined;
  #bus: Bus | undefined;

  constructor() {
    beforeEach(async () => {
      this.#database = await TestDatabase.create();
      const { name } = this.#database;
      this.#client = new MongoClient(this.#database.urlWith(`appName=${name}`));
      this.#bus = await createBus({ store: await this.#database.open() });
      await this.#bus.defineTopic({ name: "orders.changed", partitions: 1 });
    });
    afterEach(async () => {
      await this.failPoint.release();
      await this.#bus?.close();
      await this.#client?.close();
      await this.#database?.dispose();
    });
  }

  get database(): TestDatabase {
    return there(this.#database);
  }

  /** The feed's own: failures can be aimed at it alone. */
  get client(): MongoClient {
    return there(this.#client);
  }

  get bus(): Bus {
    return there(this.#bus);
  }

  get orders(): Collection<Document & { _id: number }> {
    return this.database.db.collection("orders");
  }

  async start(options: Partial<ChangefeedOptions> = {}, on: Bus = this.bus): Promise<Feed> {
    const db = this.client.db(this.database.name);
    const feed = startMongoChangefeed(db, on, { collection: "orders", ...options });
    await following(feed);
    return feed;
  }

  async published(topic = "orders.changed", on: Bus = this.bus): Promise<EventRecord<CollectionChange>[]> {
    const events: EventRecord<CollectionChange>[] = [];
    for await (const event of on.read<CollectionChange>(topic)) events.push(event);
    return events;
  }

  async told(topic?: string): Promise<string[]> {
    return (await this.published(topic)).map(({ payload }) => `${payload.op} ${payload.id}`);
  }

  /** Where the feed remembers what it published of each document. */
  get stateView(): string {
    return `changefeed.${this.database.name.toLowerCase()}.orders`;
  }

  async reconciliations(): Promise<Document[]> {
    const entries = await this.bus.store.registry.audits({ limit: 100 });
    return entries
      .filter(({ action }) => action === "changefeed.reconciled")
      .map(({ details }) => details as Document);
  }

  /** The next of these commands that the feed sends fails. */
  failNext(failCommands: readonly string[], errorCode: number): Promise<void> {
    return this.failPoint.set(1, { failCommands, errorCode, appName: this.database.name });
  }
}

export async function following(feed: Feed): Promise<void> {
  await expect.poll(() => feed.stats().phase).toBe("following");
}

function there<T>(part: T | undefined): T {
  if (part === undefined) throw new Error("not made yet: use it inside a test");
  return part;
}
