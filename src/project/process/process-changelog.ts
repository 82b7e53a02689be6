/** The view `processes`: one document for each process, as `process.state` last told it; gone when it is forgotten. */
import type { Handle } from "../../model/task.js";
import type { Host } from "../host.js";
import { type ChangelogStats, startChangelogProjector } from "../views/changelog.js";
import { type ProcessState, processStateTopic } from "./process-topics.js";

/**
 * Of the worked example: the newest state of each process as the view `processes`.
 *
 * @example
 * await startProcessChangelog(bus);
 * await bus.view("processes").find({ where: { status: "stale" } });
 */
export function startProcessChangelog(host: Host): Promise<Handle<ChangelogStats>> {
  return startChangelogProjector<ProcessState | null>(host, {
    topic: processStateTopic,
    view: "processes",
    keyOf: ({ key, payload }) => payload?.processId ?? key,
    indexes: [{ keys: { host: 1, name: 1 } }, { keys: { status: 1 } }],
  });
}
