/** A sharded cluster on loopback: its configuration, two shards of one node each, and a router, through which everybody goes. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort, NodeProcess } from "./node-process.js";
import { admin, ReplicaSet, until } from "./replica-set.js";

const START_DEADLINE_MS = 40_000;

export class ShardedCluster {
  readonly router: NodeProcess;
  readonly shards: readonly ReplicaSet[];
  readonly #sets: readonly ReplicaSet[];
  readonly #dir: string;

  private constructor(dir: string, router: NodeProcess, sets: readonly ReplicaSet[]) {
    this.#dir = dir;
    this.router = router;
    this.#sets = sets;
    this.shards = sets.slice(1);
  }

  /** The caller disposes of it. */
  static async start(): Promise<ShardedCluster> {
    const begun = await Promise.allSettled([
      ReplicaSet.start({ name: "config", role: "configsvr" }),
      ReplicaSet.start({ name: "shard1", role: "shardsvr" }),
      ReplicaSet.start({ name: "shard2", role: "shardsvr" }),
    ]);
    const sets = begun.flatMap((set) => (set.status === "fulfilled" ? [set.value] : []));
    const dir = await mkdtemp(join(tmpdir(), "promethean-router-"));
    const routes = sets[0]?.seeds ?? "";
    const router = new NodeProcess({ dir: join(dir, "node"), port: await freePort(), routes });
    const cluster = new ShardedCluster(dir, router, sets);
    try {
      for (const set of begun) if (set.status === "rejected") throw set.reason;
      await cluster.startRouter();
      for (const { seeds } of cluster.shards) await admin(router, { addShard: seeds });
      return cluster;
    } catch (error) {
      await cluster.dispose();
      throw error;
    }
  }

  get url(): string {
    return `mongodb://${this.router.address}/`;
  }

  /** The shard that keeps a database, as far as it is whole. */
  async shardOf(database: string): Promise<ReplicaSet> {
    const { databases } = await admin(this.router, { listDatabases: 1, filter: { name: database } });
    const name = Object.keys(databases[0]?.shards ?? {})[0];
    const shard = this.shards.find((set) => set.name === name);
    if (shard === undefined) throw new Error(`no shard keeps ${database}`);
    return shard;
  }

  async startRouter(): Promise<void> {
    await this.router.start();
    await until("the router to answer", START_DEADLINE_MS, () => admin(this.router, { ping: 1 }));
  }

  async dispose(): Promise<void> {
    await this.router.dispose();
    await Promise.all(this.#sets.map((set) => set.dispose()));
    await rm(this.#dir, { recursive: true, force: true });
  }
}
