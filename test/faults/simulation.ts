/** Many seeds of the simulator: none may show an anomaly, and a seed run again must go the same way, event by event. */
import { simulate } from "../../src/testing/simulator/index.js";
import { goesOn, type PartOptions, type PartReport, Tally } from "./report.js";

/** One seed in so many is run twice. */
const REPEAT_EVERY = 50;
const FAULTS: ReadonlySet<string> = new Set(["crashed", "froze"]);

export async function runSimulation(options: PartOptions): Promise<PartReport> {
  const tally = new Tally();
  for (let round = 0; goesOn(options, round); round++) {
    const seed = options.seed + round;
    const { anomalies, history, hash } = await simulate({ seed });
    tally.checked("seeds");
    tally.checked("events of histories judged", history.length);
    for (const { type } of history) if (FAULTS.has(type)) tally.fault(`simulated process ${type}`);
    for (const { class: name, says } of anomalies) tally.anomaly(name, `seed ${seed}: ${says}`);
    if (round % REPEAT_EVERY !== 0) continue;
    tally.checked("seeds run twice");
    if ((await simulate({ seed })).hash !== hash)
      tally.anomaly("not-repeatable", `seed ${seed} went another way when it was run again`);
  }
  return tally.report();
}
