/** P1, P2, P3, P8, P9 as far as the logs and views show them: what was published is there, once, and nothing else. */
import type { JsonObject } from "../../model/json.js";
import { canonicalText } from "../../model/json.js";
import type { Report } from "./anomaly.js";
import { type EndState, eventName, type Located, logName } from "./end-state.js";
import type { HistoryEvent } from "./history.js";

/** What a view must hold, given the logs. */
export type Fold = (logs: EndState["logs"]) => Readonly<Record<string, JsonObject>>;

interface Publish {
  readonly topic: string;
  readonly id: string;
  outcome: "open" | "ok" | "failed" | "unknown";
}

export function checkPublishes(history: readonly HistoryEvent[], end: EndState, report: Report): void {
  const ops = new Map<number, Publish>();
  const acked = new Map<string, number>();
  for (const event of history) {
    if (event.type === "publish-asked") {
      ops.set(event.op, { topic: event.topic, id: event.id, outcome: "open" });
    } else if (event.type === "publish-failed" || event.type === "publish-unknown") {
      const op = ops.get(event.op);
      if (op !== undefined) op.outcome = event.type === "publish-failed" ? "failed" : "unknown";
    } else if (event.type === "publish-ok") {
      const op = ops.get(event.op);
      if (op === undefined) continue;
      op.outcome = "ok";
      const { topic, id } = op;
      const { partition, seq } = event;
      // Whether it should have gone is for checkRemovals to say.
      if (seq <= (end.removed.get(logName(topic, partition)) ?? 0)) continue;
      checkAcked({ topic, id, partition, seq }, end, report);
      if (event.duplicate) continue;
      acked.set(id, (acked.get(id) ?? 0) + 1);
      if (acked.get(id) === 2) report("id-twice", `${id} was acked as new twice`);
    }
  }
  checkStrangers([...ops.values()], end, report);
}

function checkAcked(place: Omit<Located, "key">, end: EndState, report: Report): void {
  const there = end.byId.get(place.id) ?? [];
  const asTold = (e: Located): boolean =>
    e.topic === place.topic && e.partition === place.partition && e.seq === place.seq;
  if (there.some(asTold)) return;
  const instead = there.map(eventName).join(", ");
  report(
    "lost",
    `the publish of ${eventName(place)} was acked, and ${instead ? `it is at ${instead}` : "it is in no log"}`,
  );
}

/** Events in a log that nobody asked for, or that were reported as failed. */
function checkStrangers(ops: readonly Publish[], end: EndState, report: Report): void {
  const asked = new Map<string, Publish[]>();
  for (const op of ops) asked.set(op.id, [...(asked.get(op.id) ?? []), op]);
  for (const [id, places] of end.byId) {
    const [first] = places;
    if (first === undefined || first.deadLetter !== undefined) continue;
    const mine = asked.get(id);
    if (mine === undefined) report("phantom", `${eventName(first)} is in the log, and nobody published it`);
    else if (mine.every((op) => op.outcome === "failed"))
      report(
        "phantom",
        `${eventName(first)} is in the log, and its publisher was told that nothing happened`,
      );
    else if (!mine.some((op) => op.topic === first.topic))
      report("phantom", `${eventName(first)} was published to ${mine[0]?.topic}`);
  }
}

/** Whoever publishes after another was told ok comes after it. */
export function checkOrder(history: readonly HistoryEvent[], end: EndState, report: Report): void {
  const ids = new Map<number, string>();
  const asked = new Map<string, number>();
  const acked = new Map<string, number>();
  history.forEach((event, at) => {
    if (event.type === "publish-asked") {
      ids.set(event.op, event.id);
      if (!asked.has(event.id)) asked.set(event.id, at);
    } else if (event.type === "publish-ok") {
      const id = ids.get(event.op) ?? "";
      if (!acked.has(id)) acked.set(id, at);
    }
  });
  for (const events of end.logs.values()) {
    let first: { readonly event: Located; readonly at: number } | undefined;
    for (const event of [...events].reverse()) {
      if (first !== undefined && first.at < (asked.get(event.id) ?? -1))
        report(
          "log-order",
          `${eventName(event)} was asked for after ${eventName(first.event)} was acked, and stands before it`,
        );
      const at = acked.get(event.id) ?? Number.POSITIVE_INFINITY;
      if (first === undefined || at < first.at) first = { event, at };
    }
  }
}

export function checkLogs(end: EndState, report: Report): void {
  for (const [name, events] of end.logs) {
    events.forEach(({ seq, id }, index) => {
      const before = events[index - 1]?.seq ?? end.removed.get(name) ?? 0;
      if (seq !== before + 1) report("seq-gap", `${name}: seq ${seq} (${id}) comes right after ${before}`);
    });
  }
  for (const [id, places] of end.byId) {
    if (places.length > 1) report("id-twice", `${id} is at ${places.map(eventName).join(" and ")}`);
  }
  checkOnce(
    end,
    (e) => e.deadLetter && `${e.deadLetter.group}'s dead letter of ${e.deadLetter.id}`,
    (what) => report("dlq-double", what),
  );
  checkOnce(
    end,
    (e) => e.effect && `effect ${e.effect.index} of ${e.effect.source} in ${e.effect.group}`,
    (what) => report("effect-twice", what),
  );
}

function checkOnce(
  end: EndState,
  nameOf: (event: Located) => string | undefined,
  tell: (what: string) => void,
): void {
  const seen = new Map<string, Located[]>();
  for (const event of [...end.byId.values()].flat()) {
    const name = nameOf(event);
    if (name !== undefined) seen.set(name, [...(seen.get(name) ?? []), event]);
  }
  for (const [name, events] of seen) {
    if (events.length > 1)
      tell(`${name} is there ${events.length} times: ${events.map(eventName).join(", ")}`);
  }
}

export function checkViews(
  history: readonly HistoryEvent[],
  end: EndState,
  folds: Readonly<Record<string, Fold>>,
  report: Report,
): void {
  if (!end.drained) return;
  for (const event of history) {
    const fold = event.type === "view" ? folds[event.view] : undefined;
    if (event.type !== "view" || fold === undefined) continue;
    const wanted = fold(end.logs);
    for (const key of new Set([...Object.keys(wanted), ...Object.keys(event.documents)])) {
      const [is, should] = [event.documents[key], wanted[key]].map((fields) => canonicalText(fields ?? null));
      if (is !== should)
        report("effect-twice", `view ${event.view}, ${key}: it is ${is}, its log says ${should}`);
    }
  }
}
