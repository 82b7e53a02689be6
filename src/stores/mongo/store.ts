/** A store on MongoDB, shared by any number of processes and machines. */
import { BusError } from "../../model/errors.js";
import { checkOptionNames, namesOf } from "../../model/known-options.js";
import type { Capabilities, Signal, Store } from "../../ports/store.js";
import { ensureIndexes } from "./collections.js";
import { Connection, type ConnectionOptions } from "./connection/connection.js";
import { refuseSharded } from "./documents/foreign-documents.js";
import { MongoDocuments } from "./documents.js";
import { GroupChangeLog } from "./groups/group-changes.js";
import { MongoGroups } from "./groups.js";
import { LogByLayout } from "./log.js";
import { MongoOutbox } from "./outbox.js";
import { MongoRegistry } from "./registry.js";
import { Signals } from "./signals/signals.js";

/** Where the store is, and how it keeps payloads. */
export interface MongoStoreOptions extends ConnectionOptions {
  /**
   * Keeps every payload a second time, as a document (`body`), so that it can be queried by hand in MongoDB. Costs space
   * and writing time; this library never reads it. Default false.
   */
  readonly queryablePayloads?: boolean;
}

/**
 * A store on MongoDB 6.0 or newer. A replica set (one node is enough) has everything; on a standalone server there are
 * no transactions, and news comes by polling.
 *
 * @example
 * const bus = await createBus({ store: mongoStore({ url: "mongodb://localhost:27017/?replicaSet=rs0", db: "shop" }) });
 */
export function mongoStore(options: MongoStoreOptions): Store {
  return new MongoStore(options);
}

const OPTIONS = namesOf<MongoStoreOptions>({
  url: true,
  client: true,
  db: true,
  prefix: true,
  onWarning: true,
  queryablePayloads: true,
});

class MongoStore implements Store {
  readonly log: LogByLayout;
  readonly groups: MongoGroups;
  readonly documents: MongoDocuments;
  readonly outbox: MongoOutbox;
  readonly registry: MongoRegistry;
  readonly #connection: Connection;
  readonly #signals: Signals;
  readonly #changes: GroupChangeLog;
  #closing: Promise<void> | undefined;

  constructor(options: MongoStoreOptions) {
    const connection = new Connection(options);
    checkOptionNames("mongoStore", options, OPTIONS);
    const { queryablePayloads = false } = options;
    if (typeof queryablePayloads !== "boolean")
      throw new BusError("INVALID_OPTION", "`queryablePayloads` is true or false");
    this.#connection = connection;
    this.#signals = new Signals(connection);
    this.#changes = new GroupChangeLog(connection, this.#signals.sendGroups);
    this.log = new LogByLayout(connection, {
      queryablePayloads,
      signal: this.#signals.send,
    });
    this.groups = new MongoGroups(connection, this.#changes);
    this.documents = new MongoDocuments(connection);
    this.outbox = new MongoOutbox(
      connection.db,
      { collection: connection.collections.outbox.collectionName },
      connection.gate,
    );
    this.registry = new MongoRegistry(connection, this.#signals.send, this.log);
  }

  get name(): string {
    return this.#connection.name;
  }

  get capabilities(): Capabilities {
    const { replicaSet } = this.#connection;
    return {
      durable: true,
      sharedByProcesses: true,
      transactions: replicaSet,
      nativeTransactions: replicaSet,
      changeFeed: replicaSet,
      defaultPartitions: 8,
    };
  }

  async open(): Promise<void> {
    const { gate, db, collections } = this.#connection;
    await this.#closing;
    this.#closing = undefined;
    gate.open();
    try {
      await gate.read(async () => {
        await this.#connection.open();
        if (this.#connection.sharded) await refuseSharded(collections);
        await ensureIndexes(db, { prefix: collections.prefix });
        await this.outbox.prepare();
      });
    } catch (error) {
      await this.close();
      throw error;
    }
  }

  watch(listener: (signal: Signal) => void): () => void {
    this.#connection.gate.check();
    return this.#signals.listen(listener);
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    await this.#signals.close();
    await this.outbox.close();
    await this.#connection.close();
  }
}
