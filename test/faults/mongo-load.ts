/** Buses on MongoDB under load, two of them with clients of their own, and what their verdict adds to a report. */
import type { Bus } from "../../src/bus/bus.js";
import { createBus } from "../../src/bus/create-bus.js";
import { mongoStore } from "../../src/stores/mongo/index.js";
import { BusLoad } from "./bus-load.js";
import type { Tally } from "./report.js";

export interface MongoLoad {
  readonly load: BusLoad;
  /** Ends the load, adds its verdict to the tally, closes the buses. */
  finish(tally: Tally): Promise<void>;
}

export async function startMongoLoad(url: string, db: string): Promise<MongoLoad> {
  const buses: Bus[] = [];
  for (let i = 0; i < 2; i++) {
    const store = mongoStore({ url, db, onWarning: () => undefined });
    buses.push(await createBus({ store, leaseMs: 3_000, onTrouble: () => undefined }));
  }
  const load = new BusLoad(buses);
  await load.start();
  const finish = async (tally: Tally): Promise<void> => {
    try {
      const verdict = await load.finish();
      tally.checked("publishes acknowledged", verdict.acked);
      tally.checked("events delivered", verdict.delivered);
      tally.checked("events redelivered, marked", verdict.redelivered);
      for (const anomaly of verdict.anomalies) tally.anomaly(anomaly.class, anomaly.says);
      tally.note(`longest pause of publishing ${verdict.longestPauseMs} ms`);
      if (Object.keys(verdict.errors).length > 0)
        tally.note(`publishers were told: ${JSON.stringify(verdict.errors)}`);
    } finally {
      for (const bus of buses) await bus.close();
    }
  };
  return { load, finish };
}
