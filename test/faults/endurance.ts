/**
 * Steady load for as long as is given, on MongoDB behind a wire that goes bad now and then: nothing is lost or doubled, and
 * neither the heap nor the number of open files grows. `count` is in seconds.
 */
import { readdirSync } from "node:fs";
import { seededRandom } from "../../src/model/manual-clock.js";
import { ReplicaSet } from "../support/mongo/replica-set.js";
import { pause } from "./bus-load.js";
import { startMongoLoad } from "./mongo-load.js";
import { type PartOptions, type PartReport, Tally } from "./report.js";
import { TcpProxy } from "./tcp-proxy.js";

/** Long runs have a fault every thirty seconds. */
const FAULT_EVERY_MS = 30_000;
/** What may come and go: buffers, connections that are being made anew. */
const HEAP_SLACK_MIB = 64;
const FILES_SLACK = 40;

export async function runEndurance({ seed, count, untilMs = 0 }: PartOptions): Promise<PartReport> {
  const tally = new Tally();
  const random = seededRandom(seed);
  await using set = await ReplicaSet.start();
  const proxy = await TcpProxy.start(set.nodes[0]?.port ?? 0);
  const endMs = Math.max(untilMs, performance.now() + count * 1_000);
  try {
    const url = `mongodb://127.0.0.1:${proxy.port}/?directConnection=true&socketTimeoutMS=5000`;
    const { load, finish } = await startMongoLoad(url, "endurance");
    const startMs = performance.now();
    await load.progress(100);
    const before = { heapMiB: heapMiB(), files: openFiles() };
    const ackedBefore = load.acked;
    while (performance.now() < endMs) {
      await pause(Math.min(FAULT_EVERY_MS, endMs - performance.now()) * (0.5 + random() / 2));
      if (random() < 0.5) proxy.reset();
      else {
        proxy.cut();
        await pause(500);
        proxy.mend();
      }
      tally.fault("wire cut or reset");
      await load.progress(50);
    }
    const seconds = (performance.now() - startMs) / 1_000;
    const after = { heapMiB: heapMiB(), files: openFiles() };
    // The load itself keeps a line for each publish and delivery: that much may grow.
    const keptMiB = ((load.acked - ackedBefore) * 1_500) / 1_048_576;
    if (after.heapMiB - before.heapMiB > HEAP_SLACK_MIB + keptMiB)
      tally.anomaly("heap-grows", `${before.heapMiB} MiB at first, ${after.heapMiB} MiB at the end`);
    if (after.files - before.files > FILES_SLACK)
      tally.anomaly("files-grow", `${before.files} open files at first, ${after.files} at the end`);
    tally.note(`${Math.round(load.acked / seconds)} publishes a second for ${Math.round(seconds)} s`);
    tally.note(`heap ${before.heapMiB} → ${after.heapMiB} MiB, open files ${before.files} → ${after.files}`);
    await finish(tally);
  } finally {
    await proxy.close();
  }
  return tally.report();
}

function heapMiB(): number {
  globalThis.gc?.();
  return Math.round(process.memoryUsage().heapUsed / 1_048_576);
}

/** Where the system does not say, none are counted. */
function openFiles(): number {
  try {
    return readdirSync("/proc/self/fd").length;
  } catch {
    return 0;
  }
}
