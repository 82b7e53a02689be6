/** Judges a history: pure, the same answer for the same history, and every finding says in words what happened. */
import type { Anomaly, AnomalyClass } from "./anomaly.js";
import { checkLogs, checkOrder, checkPublishes, checkViews, type Fold } from "./check-logs.js";
import { checkRemovals } from "./check-removals.js";
import { type EndState, endState, logName, placeName } from "./end-state.js";
import type { GroupPlace, HistoryEvent } from "./history.js";
import { type GroupRules, Ledger } from "./ledger.js";

/** What the checker should compare views with. */
export interface CheckOptions {
  /** By view: what it must hold, given the logs. */
  readonly views?: Readonly<Record<string, Fold>>;
}

/**
 * Everything that is wrong with a history, in the order in which it shows.
 *
 * @example
 * expect(checkHistory(recorder.events)).toEqual([]);
 */
export function checkHistory(
  history: readonly HistoryEvent[],
  options: CheckOptions = {},
): readonly Anomaly[] {
  const anomalies: Anomaly[] = [];
  const report = (anomaly: AnomalyClass, says: string): void => {
    anomalies.push({ class: anomaly, says });
  };
  const end = endState(history);
  checkPublishes(history, end, report);
  checkLogs(end, report);
  checkOrder(history, end, report);
  checkRemovals(history, end, report);
  checkViews(history, end, options.views ?? {}, report);
  new Groups(end, report).check(history);
  for (const event of history) if (event.type === "stalled") report("stalled", event.waiting);
  return anomalies;
}

class Groups {
  readonly #end: EndState;
  readonly #report: (anomaly: AnomalyClass, says: string) => void;
  readonly #ledgers = new Map<string, Ledger>();
  readonly #rules = new Map<string, GroupRules>();
  /** Acks that were answered with ok. */
  readonly #accepted = new Set<number>();
  readonly #subscribed = new Map<string, Set<string>>();

  constructor(end: EndState, report: (anomaly: AnomalyClass, says: string) => void) {
    this.#end = end;
    this.#report = report;
  }

  check(history: readonly HistoryEvent[]): void {
    const refused = new Set(history.map((e) => (e.type === "answered" && !e.ok ? e.op : undefined)));
    for (const event of history) if (event.type === "answered" && event.ok) this.#accepted.add(event.op);
    for (const event of history) {
      if (event.type === "settled" && event.op !== undefined && refused.has(event.op)) continue;
      this.#follow(event);
    }
    if (this.#end.drained) this.#finish();
  }

  #follow(event: HistoryEvent): void {
    switch (event.type) {
      case "subscribed":
        this.#rules.set(event.group, event);
        this.#subscribed.set(event.group, (this.#subscribed.get(event.group) ?? new Set()).add(event.topic));
        return;
      case "started":
        this.#ledger(event).started(event);
        break;
      case "granted":
        this.#ledger(event).granted(event);
        break;
      case "committed":
        this.#ledger(event).committed(event);
        break;
      case "moved":
        this.#ledger(event).moved(event);
        break;
      case "dead-lettered":
        this.#ledger(event).deadLettered(event);
        break;
      case "delivered":
        this.#ledger(event).delivered(event);
        break;
      case "failed":
        this.#ledger(event).failed(event);
        break;
      case "filtered":
      case "covered":
        this.#ledger(event).filtered(event);
        break;
      case "settled":
        this.#ledger(event).settled(event, event.op !== undefined && this.#accepted.has(event.op));
        break;
      default:
        break;
    }
  }

  #finish(): void {
    for (const [group, topics] of this.#subscribed) {
      for (const events of this.#end.logs.values()) {
        const [first] = events;
        if (first === undefined || !topics.has(first.topic)) continue;
        const place = { group, topic: first.topic, partition: first.partition };
        this.#ledger(place).finished(this.#end.cursors.get(placeName(place)));
      }
    }
  }

  #ledger(place: GroupPlace): Ledger {
    const name = placeName(place);
    let ledger = this.#ledgers.get(name);
    if (ledger === undefined) {
      const { group, topic, partition } = place;
      const log = this.#end.logs.get(logName(topic, partition)) ?? [];
      const rules = (): GroupRules => this.#rules.get(group) ?? { ordering: "key", maxAttempts: 1 };
      ledger = new Ledger({ group, topic, partition }, log, rules, this.#report);
      this.#ledgers.set(name, ledger);
    }
    return ledger;
  }
}
