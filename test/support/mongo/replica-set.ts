/** Real MongoDB servers on loopback for tests: replica sets of one or three nodes, or a standalone one. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Document, MongoClient } from "mongodb";
import { freePort, NodeProcess } from "./node-process.js";
import { Wires } from "./wires.js";

export interface ReplicaSetOptions {
  readonly nodes?: 1 | 3;
  readonly cacheGb?: number;
  /** See NodeOptions. */
  readonly oplogMb?: number;
  /** How soon a lost primary is replaced; MongoDB's own default is 10,000. */
  readonly electionTimeoutMs?: number;
  /** Nodes and clients reach nodes by wires that can be broken. */
  readonly wired?: boolean;
  readonly name?: string;
  /** What it is to a sharded cluster. */
  readonly role?: "configsvr" | "shardsvr";
}

const START_DEADLINE_MS = 40_000;

export class ReplicaSet {
  readonly name: string;
  readonly nodes: readonly NodeProcess[];
  readonly #dir: string;
  readonly #wires: Wires | null;

  private constructor(name: string, dir: string, nodes: readonly NodeProcess[], wires: Wires | null) {
    this.name = name;
    this.#dir = dir;
    this.nodes = nodes;
    this.#wires = wires;
  }

  /** Starts the nodes and waits until all of them serve. The caller disposes of it. */
  static async start(options: ReplicaSetOptions = {}): Promise<ReplicaSet> {
    const dir = await mkdtemp(join(tmpdir(), "promethean-mongo-"));
    const nodes: NodeProcess[] = [];
    const { name = "rs0", role, oplogMb } = options;
    for (let i = 0; i < (options.nodes ?? 1); i++) {
      const port = await freePort();
      const cacheGb = options.cacheGb ?? 0.25;
      const place = { dir: join(dir, `node${i}`), port, replSet: name, ...(role && { role }) };
      nodes.push(new NodeProcess({ ...place, cacheGb, ...(oplogMb !== undefined && { oplogMb }) }));
    }
    const set = new ReplicaSet(name, dir, nodes, options.wired ? await Wires.before(nodes) : null);
    try {
      await Promise.all(nodes.map((node) => node.start()));
      await set.#initiate(options.electionTimeoutMs ?? 1_500, role === "configsvr");
      await set.whole();
      return set;
    } catch (error) {
      await set.dispose();
      throw error;
    }
  }

  get url(): string {
    return `mongodb://${this.#addresses}/?replicaSet=${this.name}`;
  }

  /** As the other parts of a sharded cluster are told of it. */
  get seeds(): string {
    return `${this.name}/${this.#addresses}`;
  }

  get #addresses(): string {
    return this.nodes.map((node) => this.#addressOf(node)).join(",");
  }

  /** Of a set that was started with them. */
  get wires(): Wires {
    if (this.#wires === null) throw new Error("this set has no wires to break");
    return this.#wires;
  }

  /** The present primary; waits until there is one that accepts writes. */
  async primary(): Promise<NodeProcess> {
    return await until("a primary", START_DEADLINE_MS, async () => {
      for (const node of this.nodes) {
        if (!node.running) continue;
        const hello = await admin(node, { hello: 1 }).catch(() => undefined);
        if (hello?.isWritablePrimary === true) return node;
      }
      return undefined;
    });
  }

  /** Waits until every node serves: there is a primary, and the others follow it. */
  async whole(): Promise<void> {
    await until("every node to serve", START_DEADLINE_MS, async () => {
      const { members } = await admin(await this.primary(), { replSetGetStatus: 1 });
      const states = (members as { stateStr: string }[]).map(({ stateStr }) => stateStr);
      return states.every((state) => state === "PRIMARY" || state === "SECONDARY") ? true : undefined;
    });
  }

  /** Asks the primary to give way to another node. */
  async stepDown(seconds = 5): Promise<void> {
    const node = await this.primary();
    await admin(node, { replSetStepDown: seconds, secondaryCatchUpPeriodSecs: 2, force: true });
  }

  /** Ends every node with kill -9, as when the power goes. */
  async killAll(): Promise<void> {
    await Promise.all(this.nodes.map((node) => node.kill()));
  }

  async startAll(): Promise<void> {
    await Promise.all(this.nodes.filter((node) => !node.running).map((node) => node.start()));
    await this.primary();
  }

  async dispose(): Promise<void> {
    await Promise.all(this.nodes.map((node) => node.dispose()));
    await this.#wires?.close();
    await rm(this.#dir, { recursive: true, force: true });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.dispose();
  }

  /** By which others know it. */
  #addressOf(node: NodeProcess): string {
    return this.#wires?.addressOf(node) ?? node.address;
  }

  async #initiate(electionTimeoutMillis: number, configsvr: boolean): Promise<void> {
    const first = this.nodes[0] as NodeProcess;
    const config = {
      _id: this.name,
      ...(configsvr && { configsvr }),
      settings: {
        electionTimeoutMillis,
        heartbeatIntervalMillis: Math.min(500, Math.floor(electionTimeoutMillis / 3)),
      },
      members: this.nodes.map((node, _id) => ({ _id, host: this.#addressOf(node) })),
    };
    await until("mongod to answer", START_DEADLINE_MS, async () => {
      for (const node of this.nodes) await admin(node, { ping: 1 });
      await admin(first, { replSetInitiate: config });
      return true;
    });
  }
}

/** A server that is no member of a replica set: no transactions, no change streams. */
export class StandaloneServer {
  readonly #dir: string;
  readonly #node: NodeProcess;

  private constructor(dir: string, node: NodeProcess) {
    this.#dir = dir;
    this.#node = node;
  }

  static async start(): Promise<StandaloneServer> {
    const dir = await mkdtemp(join(tmpdir(), "promethean-mongo-"));
    const node = new NodeProcess({ dir: join(dir, "node"), port: await freePort() });
    const server = new StandaloneServer(dir, node);
    try {
      await node.start();
      await until("mongod to answer", START_DEADLINE_MS, () => admin(node, { ping: 1 }));
      return server;
    } catch (error) {
      await server.dispose();
      throw error;
    }
  }

  get url(): string {
    return `mongodb://${this.#node.address}/`;
  }

  async dispose(): Promise<void> {
    await this.#node.dispose();
    await rm(this.#dir, { recursive: true, force: true });
  }
}

/** Runs one command on one node, whatever its role. */
export async function admin(node: NodeProcess, command: Document): Promise<Document> {
  const client = new MongoClient(`mongodb://${node.address}/?directConnection=true`, {
    serverSelectionTimeoutMS: 1_000,
    connectTimeoutMS: 1_000,
    socketTimeoutMS: 20_000,
  });
  try {
    return await client.db("admin").command(command);
  } finally {
    await client.close();
  }
}

/** Tries until it gives something; an error counts as "not yet", and the last one is told at the deadline. */
export async function until<T>(
  what: string,
  deadlineMs: number,
  attempt: () => Promise<T | undefined>,
): Promise<T> {
  const endMs = performance.now() + deadlineMs;
  let last: unknown;
  while (performance.now() < endMs) {
    try {
      const result = await attempt();
      if (result !== undefined) return result;
      last = undefined;
    } catch (error) {
      last = error;
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error(`waited ${deadlineMs} ms for ${what}`, { cause: last });
}
