/** The group run of test/stores/mongo on a server of its own; `count` is in seconds. */

import { runGroup } from "../stores/mongo/group-run.js";
import { ReplicaSet } from "../support/mongo/replica-set.js";
import { type PartOptions, type PartReport, Tally } from "./report.js";

export interface GroupOptions extends PartOptions {
  /** group-member, compiled. */
  readonly program: URL;
}

export async function runMongoGroups({
  count,
  seed,
  untilMs = 0,
  program,
}: GroupOptions): Promise<PartReport> {
  const tally = new Tally();
  await using set = await ReplicaSet.start();
  const seconds = Math.max(count, Math.round((untilMs - performance.now()) / 1_000));
  const run = await runGroup({ program, url: set.url, db: "groups", seconds, seed });
  tally.fault("member killed", run.kills);
  tally.fault("member frozen beyond its lease", run.freezes);
  tally.fault("member came or left", run.joins + run.leaves);
  tally.checked("events delivered", run.delivered);
  tally.checked("events redelivered, marked", run.redelivered);
  for (const says of run.anomalies) tally.anomaly(says.split(":")[0] ?? "", says);
  return tally.report();
}
