/** A database of one test: stores on it, a bare look into it, and its end. */
import { type Db, MongoClient } from "mongodb";
import type { Store } from "../../../src/ports/store.js";
import { type MongoStoreOptions, mongoStore } from "../../../src/stores/mongo/index.js";
import { newDatabaseName, sharedServerUrl } from "./shared-server.js";

export class TestDatabase {
  readonly url: string;
  readonly name = newDatabaseName();
  readonly client: MongoClient;
  readonly #opened: Store[] = [];

  constructor(url: string) {
    this.url = url;
    this.client = new MongoClient(url);
  }

  static async create(): Promise<TestDatabase> {
    return new TestDatabase(await sharedServerUrl());
  }

  /** The server's address with one more option. */
  urlWith(option: string): string {
    if (this.url.includes("?")) return `${this.url}&${option}`;
    return `${this.url}${/^[a-z+]+:\/\/[^/]+\//.test(this.url) ? "" : "/"}?${option}`;
  }

  /** The database as any MongoDB program sees it. */
  get db(): Db {
    return this.client.db(this.name);
  }

  /** An opened store with a client of its own, as another process would have it. */
  async open(options: Partial<MongoStoreOptions> = {}): Promise<Store> {
    const store = mongoStore({ url: this.url, db: this.name, ...options });
    await store.open();
    this.#opened.push(store);
    return store;
  }

  async dispose(): Promise<void> {
    await Promise.all(this.#opened.map((store) => store.close()));
    await this.db.dropDatabase();
    await this.client.close();
  }
}
