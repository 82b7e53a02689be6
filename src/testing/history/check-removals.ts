/** P1, P2 of topics that are removed: what came later stays, and no seq is given twice. */
import type { Report } from "./anomaly.js";
import { type EndState, logName } from "./end-state.js";
import type { HistoryEvent } from "./history.js";

interface Asked {
  readonly topic: string;
  readonly id: string;
  /** By "topic/partition": what was removed before it was asked for. */
  readonly removed: ReadonlyMap<string, number>;
}

export function checkRemovals(history: readonly HistoryEvent[], end: EndState, report: Report): void {
  const asked = new Map<number, Asked>();
  let removed: ReadonlyMap<string, number> = new Map();
  for (const event of history) {
    if (event.type === "topic-removed" && event.events > 0)
      report("lost", `${event.topic} was removed with ${event.events} events that nobody took away`);
    else if (event.type === "trimmed") {
      const log = logName(event.topic, event.partition);
      const through = Math.max(event.through, removed.get(log) ?? 0);
      if (event.low > through + 1)
        report(
          "lost",
          `${log}: all below ${event.low} is gone, and only what is through ${through} was to go`,
        );
      removed = new Map(removed).set(log, through);
    } else if (event.type === "publish-asked") asked.set(event.op, { ...event, removed });
    else if (event.type === "publish-ok") {
      const op = asked.get(event.op);
      const log = logName(op?.topic ?? "", event.partition);
      const through = op?.removed.get(log) ?? 0;
      if (event.seq <= through)
        report(
          "seq-gap",
          `${op?.id} got ${log}:${event.seq} again, after all through ${through} was removed`,
        );
    }
  }
  for (const topic of goneTopics(history))
    if ([...end.logs.values()].some((events) => events.some((event) => event.topic === topic)))
      report("phantom", `${topic} has events, was removed, and nobody published to it since`);
}

/** Those whose last removal was answered, and to which nobody publishes any more. */
function goneTopics(history: readonly HistoryEvent[]): Set<string> {
  const gone = new Set<string>();
  const removals = new Map<number, string>();
  const open = new Map<number, string>();
  for (const event of history) {
    switch (event.type) {
      case "removal-asked":
        removals.set(event.op, event.topic);
        break;
      case "publish-asked":
        open.set(event.op, event.topic);
        gone.delete(event.topic);
        break;
      // What is of unknown outcome may happen yet.
      case "publish-ok":
      case "publish-failed":
        open.delete(event.op);
        break;
      case "removal-ok": {
        const topic = removals.get(event.op) ?? "";
        if (![...open.values()].includes(topic)) gone.add(topic);
        break;
      }
      default:
        break;
    }
  }
  return gone;
}
