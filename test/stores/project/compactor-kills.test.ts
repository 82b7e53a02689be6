import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { MongoClient } from "mongodb";
import { describe, it } from "vitest";
import { compileProgram } from "../../../scripts/embedded-sources.mjs";
import { embeddedStore } from "../../../src/stores/embedded/index.js";
import { mongoStore } from "../../../src/stores/mongo/index.js";
import { ReplicaSet } from "../../support/mongo/replica-set.js";
import { killCompactors } from "./compactor-kills.js";

/** More for a longer run. */
const KILLS = Number(process.env.PROMETHEAN_KILLS ?? 5);

describe("compactors, killed over and over", () => {
  const program = compileProgram(new URL("./compactor-process.ts", import.meta.url));

  it(
    "P11: on the embedded store no key's newest value is lost, in the log or in its snapshot",
    async () => {
      const folder = await mkdtemp(join(tmpdir(), "promethean-compactor-"));
      const path = join(folder, "bus.db");
      try {
        await killCompactors({
          store: embeddedStore({ path }),
          program,
          place: [path, ""],
          kills: KILLS,
          seed: 3,
        });
      } finally {
        await rm(folder, { recursive: true, force: true });
      }
    },
    120_000 + KILLS * 10_000,
  );

  it(
    "P11: on MongoDB no key's newest value is lost, in the log or in its snapshot",
    async () => {
      await using server = await ReplicaSet.start();
      await endTransactionsSoon(server.url);
      await killCompactors({
        store: mongoStore({ url: server.url, db: "kills" }),
        program,
        place: [server.url, "kills"],
        kills: KILLS,
        seed: 4,
      });
    },
    120_000 + KILLS * 10_000,
  );
});

/** A server gives the transactions of the dead a minute, during which nobody else may touch what they touched. */
async function endTransactionsSoon(url: string): Promise<void> {
  const client = new MongoClient(url);
  try {
    await client.db("admin").command({ setParameter: 1, transactionLifetimeLimitSeconds: 2 });
  } finally {
    await client.close();
  }
}
