/**
 * A network that falls apart between the nodes of a replica set while clients still reach all of them: the primary is on
 * its own, does not know it yet, and takes writes that no majority will ever have. Publishing must go on with the new
 * primary while the old one is still cut off (P15), and nothing that was acknowledged may be among what the old one
 * throws away when it comes back (P1).
 */
import { seededRandom } from "../../src/model/manual-clock.js";
import { ReplicaSet } from "../support/mongo/replica-set.js";
import { pause } from "./bus-load.js";
import { startMongoLoad } from "./mongo-load.js";
import { goesOn, type PartOptions, type PartReport, Tally } from "./report.js";

export async function runMongoPartitions(options: PartOptions): Promise<PartReport> {
  const tally = new Tally();
  const random = seededRandom(options.seed);
  await using set = await ReplicaSet.start({ nodes: 3, wired: true });
  const { load, finish } = await startMongoLoad(`${set.url}&serverSelectionTimeoutMS=8000`, "partitions");
  await load.progress(50);
  const resumedMs: string[] = [];
  for (let round = 0; goesOn(options, round); round++) {
    const how = round % 2 === 0 ? "cut" : "silent";
    const primary = await set.primary();
    set.wires.isolate(primary, how);
    tally.fault(`primary isolated: ${how}`);
    await pause(random() * 4_000);
    resumedMs.push(`${how} ${await load.progress(30)}`);
    set.wires.mend();
    await set.whole();
    await load.progress(30);
  }
  await finish(tally);
  tally.note(`ms until 30 more events while the old primary was cut off: ${resumedMs.join(", ")}`);
  return tally.report();
}
