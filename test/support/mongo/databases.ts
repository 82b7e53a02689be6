/**
 * Databases for tests, one after the other. To make one, with its collections and indexes, takes longer than most
 * tests, so those that a test is done with are emptied and given to the next.
 */
import { type Db, MongoClient } from "mongodb";
import { dropDatabase, newDatabaseName } from "./shared-server.js";

export class Databases {
  readonly #free: string[] = [];
  /** Collections that a database has once a store was opened on it. */
  readonly #ofStores = new Map<string, ReadonlySet<string>>();
  #client: Promise<MongoClient> | undefined;
  readonly #serverUrl: () => Promise<string>;

  constructor(serverUrl: () => Promise<string>) {
    this.#serverUrl = serverUrl;
  }

  /** Nobody else's, and with nothing in it. */
  take(): string {
    return this.#free.pop() ?? newDatabaseName();
  }

  /** A store was opened on it for the first time, and has done nothing yet. */
  async opened(name: string): Promise<void> {
    if (this.#ofStores.has(name)) return;
    const db = await this.#db(name);
    this.#ofStores.set(name, new Set((await db.collections()).map(({ collectionName }) => collectionName)));
  }

  /** All stores on it are closed. */
  async giveBack(name: string): Promise<void> {
    const db = await this.#db(name);
    const ofStores = this.#ofStores.get(name);
    await Promise.all(
      (await db.collections()).map((one) =>
        ofStores?.has(one.collectionName) ? one.deleteMany({}) : one.drop(),
      ),
    );
    this.#free.push(name);
  }

  async close(): Promise<void> {
    const client = await this.#client;
    await client?.close();
    for (const name of this.#ofStores.keys()) await dropDatabase(await this.#serverUrl(), name);
  }

  async #db(name: string): Promise<Db> {
    this.#client ??= this.#serverUrl().then((url) => new MongoClient(url));
    return (await this.#client).db(name);
  }
}
