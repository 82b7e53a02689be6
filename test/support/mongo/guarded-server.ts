/** A real server that asks for users, as in production: a replica set of one node, with a key file. */
import { randomBytes } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Document, MongoClient } from "mongodb";
import { freePort, NodeProcess } from "./node-process.js";
import { admin, until } from "./replica-set.js";

const DEADLINE_MS = 40_000;

/** In every address that is given out; must show up nowhere else. */
export const PASSWORD = "s3cret/of:a@test";

export interface Rights {
  /** Roles of MongoDB's own. */
  readonly roles?: readonly Document[];
  /** Privileges, of which a role is made. */
  readonly privileges?: readonly Document[];
}

export class GuardedServer {
  readonly #dir: string;
  readonly #node: NodeProcess;
  #root: MongoClient | undefined;
  #users = 0;

  private constructor(dir: string, node: NodeProcess) {
    this.#dir = dir;
    this.#node = node;
  }

  static async start(): Promise<GuardedServer> {
    const dir = await mkdtemp(join(tmpdir(), "promethean-mongo-"));
    const keyFile = join(dir, "key");
    await writeFile(keyFile, randomBytes(96).toString("base64"), { mode: 0o600 });
    const node = new NodeProcess({ dir: join(dir, "node"), port: await freePort(), replSet: "rs0", keyFile });
    const server = new GuardedServer(dir, node);
    try {
      await node.start();
      await server.#initiate();
      return server;
    } catch (error) {
      await server.dispose();
      throw error;
    }
  }

  /** Without a user. */
  get openUrl(): string {
    return `mongodb://${this.#node.address}/?replicaSet=rs0`;
  }

  /** Of one who may do everything. */
  get rootUrl(): string {
    return this.urlOf("root");
  }

  urlOf(user: string, password = PASSWORD): string {
    const signIn = `${user}:${encodeURIComponent(password)}`;
    return `mongodb://${signIn}@${this.#node.address}/?replicaSet=rs0&authSource=admin`;
  }

  /** A new user, by name. */
  async addUser({ roles = [], privileges }: Rights): Promise<string> {
    const name = `user${++this.#users}`;
    const made = privileges === undefined ? [] : [`of_${name}`];
    for (const role of made) await this.command({ createRole: role, privileges, roles: [] });
    await this.command({ createUser: name, pwd: PASSWORD, roles: [...roles, ...made] });
    return name;
  }

  /** The address of a new user with readWrite on one database, and nothing else. */
  async writerUrl(db: string): Promise<string> {
    return this.urlOf(await this.addUser({ roles: [{ role: "readWrite", db }] }));
  }

  async command(command: Document): Promise<Document> {
    this.#root ??= new MongoClient(this.rootUrl);
    return await this.#root.db("admin").command(command);
  }

  async dispose(): Promise<void> {
    await this.#root?.close();
    await this.#node.dispose();
    await rm(this.#dir, { recursive: true, force: true });
  }

  /** Whoever comes from this machine may do this much before there is a user. */
  async #initiate(): Promise<void> {
    const members = [{ _id: 0, host: this.#node.address }];
    await until("mongod to answer", DEADLINE_MS, () =>
      admin(this.#node, { replSetInitiate: { _id: "rs0", members } }),
    );
    await until("a primary", DEADLINE_MS, async () => {
      const { isWritablePrimary } = await admin(this.#node, { hello: 1 });
      return isWritablePrimary === true ? true : undefined;
    });
    await admin(this.#node, { createUser: "root", pwd: PASSWORD, roles: ["root"] });
  }
}
