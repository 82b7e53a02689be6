/**
 * The connection to one database: the client (ours, or the caller's), the concern levels of every call, and what the
 * server at the other end can do.
 *
 * Every write is acknowledged by a majority, from the journal; every read sees only what a majority holds (P1). What
 * the address or the caller's client says about that is overridden.
 */
import {
  type ClientSession,
  type Db,
  type DbOptions,
  MongoClient,
  type MongoClientOptions,
  ReadConcern,
} from "mongodb";
import { BusError, describeThrown } from "../../../model/errors.js";
import { Collections } from "../collections.js";
import { freeEndedSockets } from "./ended-sockets.js";
import { Gate } from "./gate.js";
import { OwnSessions } from "./own-sessions.js";
import { inTransaction } from "./transaction.js";

export interface ConnectionOptions {
  /** Address of the server: `mongodb://…` or `mongodb+srv://…`. This or `client`. */
  readonly url?: string;
  /** A client of the caller's, who also closes it. */
  readonly client?: MongoClient;
  /** Name of the database. Default: the one in the address, else "promethean". */
  readonly db?: string;
  /** Put before the name of every collection, so that several stores fit into one database. */
  readonly prefix?: string;
  /** Told of limits and fallbacks. Default: `process.emitWarning`. */
  readonly onWarning?: (message: string) => void;
}

/**
 * Fits a default election (10 s) and notices a frozen server within seconds; the address may say otherwise. A connection
 * that falls silent although its server is well (half open, behind a firewall that forgot it) is given up, too: no call
 * waits for ever.
 */
const CLIENT_DEFAULTS: MongoClientOptions = {
  serverSelectionTimeoutMS: 15_000,
  connectTimeoutMS: 5_000,
  socketTimeoutMS: 30_000,
  waitQueueTimeoutMS: 30_000,
  heartbeatFrequencyMS: 2_000,
  appName: "promethean",
};

/** Made anew for each connection: the driver writes the time of one server into the read concern, and sends it to all who share that. */
function databaseOptions(): DbOptions {
  return {
    readPreference: "primary",
    readConcern: new ReadConcern("majority"),
    writeConcern: { w: "majority", journal: true },
    ignoreUndefined: true,
    promoteValues: true,
    promoteLongs: true,
    promoteBuffers: false,
    useBigInt64: false,
    raw: false,
  };
}

/** MongoDB 6.0. */
const MIN_WIRE_VERSION = 17;

export class Connection {
  readonly gate = new Gate();
  readonly collections: Collections;
  readonly sessions: OwnSessions;
  readonly client: MongoClient;
  readonly db: Db;
  readonly warn: (message: string) => void;
  readonly #ownsClient: boolean;
  #stopFreeing: () => void = () => undefined;
  #replicaSet = true;
  #sharded = false;
  #setName = "";

  constructor(options: ConnectionOptions) {
    checkOptions(options);
    this.client = options.client ?? connectTo(options.url);
    this.#ownsClient = options.client === undefined;
    const name = options.db ?? databaseIn(options.url) ?? "promethean";
    checkDatabase(name);
    this.db = this.client.db(name, databaseOptions());
    this.collections = new Collections(this.db, options.prefix ?? "");
    this.warn = options.onWarning ?? ((message) => process.emitWarning(message, "PrometheanWarning"));
    this.sessions = new OwnSessions(this.client, this.collections.members, this.warn);
  }

  /** Transactions and change streams exist. Known after `open`; assumed before. */
  get replicaSet(): boolean {
    return this.#replicaSet;
  }

  /** Behind a router (mongos). Known after `open`. */
  get sharded(): boolean {
    return this.#sharded;
  }

  /** For people: where the data are. */
  get name(): string {
    const { databaseName } = this.db;
    const prefix = this.collections.prefix === "" ? "" : ` ${this.collections.prefix}*`;
    return `mongodb ${this.#setName === "" ? "" : `${this.#setName}/`}${databaseName}${prefix}`;
  }

  /** Connects and looks whom it is talking to. */
  async open(): Promise<void> {
    if (this.#ownsClient) await this.client.connect();
    this.#stopFreeing();
    this.#stopFreeing = freeEndedSockets(this.client);
    const hello = await this.db.admin().command({ hello: 1 });
    if (typeof hello.maxWireVersion !== "number" || hello.maxWireVersion < MIN_WIRE_VERSION) {
      throw new BusError("STORE_INCOMPATIBLE", "the MongoDB server is too old: 6.0 or newer is needed");
    }
    this.#sharded = hello.msg === "isdbgrid";
    this.#setName = this.#sharded ? "mongos" : String(hello.setName ?? "");
    this.#replicaSet = this.#setName !== "";
    if (!this.#replicaSet) {
      this.warn(
        `the MongoDB server of "${this.db.databaseName}" is a standalone one: no transactional projections (P9), ` +
          "fenced appends and removals are not atomic, new events are found by polling. Make it a replica set " +
          "(one node is enough): start mongod with --replSet and run rs.initiate().",
      );
    }
  }

  /** Runs `body` in one transaction: all of it is committed, or none. It may run several times. */
  async transact<T>(body: (session: ClientSession) => Promise<T>): Promise<T> {
    return await this.sessions.with((session) => inTransaction(session, body));
  }

  /** Waits for calls under way, then lets go of the client if it is ours. */
  async close(): Promise<void> {
    await this.gate.close();
    await this.sessions.end();
    this.#stopFreeing();
    if (this.#ownsClient) await this.client.close();
  }
}

/** What MongoDB would refuse later, and less clearly. */
function checkOptions(options: ConnectionOptions): void {
  const { client, url, db, prefix, onWarning } = (options ?? {}) as Partial<ConnectionOptions>;
  if (client === undefined && typeof url !== "string")
    throw new BusError("INVALID_OPTION", "mongoStore needs `url` (mongodb://…) or `client`");
  if (client !== undefined && typeof Object(client).db !== "function")
    throw new BusError("INVALID_OPTION", "`client` must be a MongoClient of the package mongodb");
  if (db !== undefined) checkDatabase(db);
  const isPrefix =
    isText(prefix) && Buffer.byteLength(prefix) <= 60 && !/[$\0]|^\.|(^|\.)system\./.test(prefix);
  if (prefix !== undefined && !isPrefix)
    throw new BusError(
      "INVALID_OPTION",
      "`prefix` is a string of at most 60 bytes without $ or system., and does not begin with a dot",
    );
  if (onWarning !== undefined && typeof onWarning !== "function")
    throw new BusError("INVALID_OPTION", "`onWarning` is a function that is told what to warn of");
}

/** In the address, too. */
function checkDatabase(db: string): void {
  if (!isText(db) || !/^[^/\\. "$\0]+$/.test(db) || Buffer.byteLength(db) > 63)
    throw new BusError("INVALID_OPTION", '`db` has 1 to 63 bytes, and none of / \\ . " $ or a space');
  if (/^(admin|local|config)$/.test(db))
    throw new BusError(
      "INVALID_OPTION",
      `the database "${db}" is MongoDB's own: name another one (where users are kept is told by authSource in the address)`,
    );
}

function isText(value: unknown): value is string {
  return typeof value === "string" && value.isWellFormed();
}

function connectTo(url = ""): MongoClient {
  const said = url.toLowerCase();
  const isSaid = (name: string): boolean => said.includes(`${name.toLowerCase()}=`);
  const options: MongoClientOptions = Object.fromEntries(
    Object.entries(CLIENT_DEFAULTS).filter(([name]) => !isSaid(name)),
  );
  // The driver looks for such a server before anything is asked of it. It takes no bound on a primary's age.
  if (!isSaid("maxStalenessSeconds")) options.readPreference = "primary";
  try {
    return new MongoClient(url, options);
  } catch (error) {
    throw badAddress(url, error);
  }
}

/**
 * The driver may repeat parts of an address that it cannot read, and with them a part of the password. So where there is one
 * it is asked again without.
 */
function badAddress(url: string, error: unknown): BusError {
  const harmless = url.replace(/:\/\/.*@/s, "://user:password@");
  let reason =
    "in user and password, characters such as @ : / ? % are written as %40 %3A %2F %3F %25, and the rest must be an address";
  try {
    if (harmless === url) throw error;
    new MongoClient(harmless);
  } catch (refusal) {
    reason = describeThrown(refusal);
  }
  return new BusError("INVALID_OPTION", `the MongoDB address is not valid: ${reason}`);
}

/** The database named in an address, which may list several hosts and thus is no URL to a URL parser. */
function databaseIn(url: string | undefined): string | undefined {
  const name = /^[a-z+]+:\/\/[^/]+\/([^?]+)/i.exec(url ?? "")?.[1];
  return name === undefined || name === "" ? undefined : decodeURIComponent(name);
}
