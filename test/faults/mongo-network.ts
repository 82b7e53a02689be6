/**
 * A bad wire between buses and MongoDB: cut, reset, half open, mute (carried out, but never answered), slow, while events
 * are published, consumed and projected. Publishing must go on by itself after each (P15), and nothing be lost or doubled.
 */
import { seededRandom } from "../../src/model/manual-clock.js";
import { ReplicaSet } from "../support/mongo/replica-set.js";
import { pause } from "./bus-load.js";
import { startMongoLoad } from "./mongo-load.js";
import { goesOn, type PartOptions, type PartReport, Tally } from "./report.js";
import { TcpProxy } from "./tcp-proxy.js";

const FAULTS = ["cut", "reset", "half-open", "mute", "slow"] as const;
/** Short, so that a run meets many: the driver gives a silent connection up after two seconds. */
const TIMEOUTS =
  "connectTimeoutMS=1000&socketTimeoutMS=2000&heartbeatFrequencyMS=500&serverSelectionTimeoutMS=8000";

export async function runMongoNetwork(options: PartOptions): Promise<PartReport> {
  const tally = new Tally();
  const random = seededRandom(options.seed);
  await using set = await ReplicaSet.start();
  const proxy = await TcpProxy.start(set.nodes[0]?.port ?? 0);
  try {
    const url = `mongodb://127.0.0.1:${proxy.port}/?directConnection=true&${TIMEOUTS}`;
    const { load, finish } = await startMongoLoad(url, "network");
    await load.progress(50);
    for (let round = 0; goesOn(options, round); round++) {
      const fault = FAULTS[round % FAULTS.length] ?? "cut";
      tally.fault(`wire: ${fault}`);
      await strike(proxy, fault, random);
      proxy.mend();
      await load.progress(40);
    }
    await finish(tally);
  } finally {
    await proxy.close();
  }
  return tally.report();
}

async function strike(proxy: TcpProxy, fault: (typeof FAULTS)[number], random: () => number): Promise<void> {
  switch (fault) {
    case "cut":
      proxy.cut();
      return pause(200 + random() * 1_800);
    case "reset":
      for (let times = 0; times < 5; times++) {
        proxy.reset();
        await pause(random() * 200);
      }
      return;
    case "half-open":
      proxy.silence();
      return pause(500 + random() * 3_000);
    case "mute":
      proxy.mute();
      return pause(500 + random() * 3_000);
    case "slow":
      proxy.slow(10 + random() * 90);
      return pause(1_000 + random() * 1_000);
  }
}
