/**
 * Whether a store file keeps what is promised of a topic that comes and goes: no seq is given twice (P2), what was acknowledged since
 * the topic came back is there (P1), one whose removal was answered is gone, and one whose removal was not can be removed.
 */
import type { Bus } from "../../src/bus/bus.js";
import { BusError } from "../../src/model/errors.js";
import { storedLog } from "../support/kept-history.js";
import {
  type AckLine,
  type DiskLine,
  isPassing,
  PASSING,
  PASSING_GROUP,
  PASSING_LETTERS,
  PASSING_PARTITIONS,
} from "./disk-names.js";
import type { FaultAnomaly, Tally } from "./report.js";

/** What the lines say of the topic. */
class Told {
  /** By place: the events that are there, those that may be, and those that went with a removal that was answered. */
  readonly sure = new Map<string, AckLine>();
  readonly maybe = new Map<string, AckLine>();
  readonly gone = new Map<string, AckLine>();
  /** By partition: the highest seq that was given away. */
  readonly heads = Array.from({ length: PASSING_PARTITIONS }, () => 0);
  readonly anomalies: FaultAnomaly[] = [];
  /** Its removal was answered, and nobody has asked for anything since. */
  isGone = false;
  removals = 0;
  #isRemoving = false;
  /** Somebody asked for something while it was removed. */
  #wasAsked = false;
  #beside: [string, AckLine][] = [];

  constructor(lines: readonly DiskLine[]) {
    for (const line of lines) {
      if (isPassing(line)) this.#take(line);
      // What was given up may take effect late.
      else if ("failed" in line) this.isGone = false;
    }
  }

  #take(line: Extract<DiskLine, { passing: string }>): void {
    switch (line.passing) {
      case "asked":
        this.isGone = false;
        this.#wasAsked = true;
        return;
      case "acked":
        this.#acked(line);
        return;
      case "removing":
        this.#isRemoving = true;
        this.#wasAsked = false;
        for (const [place, ack] of this.sure) this.maybe.set(place, ack);
        this.sure.clear();
        return;
      case "kept":
        this.#isRemoving = false;
        this.#beside = [];
        return;
      case "removed":
        this.removals++;
        this.#removed();
    }
  }

  #removed(): void {
    this.#isRemoving = false;
    this.isGone = !this.#wasAsked;
    for (const [place, ack] of this.maybe) this.gone.set(place, ack);
    this.maybe.clear();
    // Before it, or after it: both is right.
    for (const [place, ack] of this.#beside) {
      this.gone.delete(place);
      this.maybe.set(place, ack);
    }
    this.#beside = [];
  }

  #acked(ack: AckLine): void {
    const { id, partition, seq } = ack;
    const place = `${partition}:${seq}`;
    const before = this.gone.get(place) ?? this.maybe.get(place) ?? this.sure.get(place);
    if (this.gone.has(place) || (before !== undefined && before.id !== id))
      this.anomalies.push({
        class: "seq-twice",
        says: `${place} was given to ${id}, and before to ${before?.id}`,
      });
    this.heads[partition] = Math.max(this.heads[partition] ?? 0, seq);
    if (this.#isRemoving) {
      this.maybe.set(place, ack);
      this.#beside.push([place, ack]);
    } else this.sure.set(place, ack);
  }
}

/** On a bus that has just opened the file. */
export async function judgePassing(bus: Bus, lines: readonly DiskLine[], tally: Tally): Promise<void> {
  const told = new Told(lines);
  const report = (name: string, says: string): void => tally.anomaly(name, `${PASSING}: ${says}`);
  for (const { class: name, says } of told.anomalies) report(name, says);
  tally.checked("removals answered", told.removals);
  tally.checked("events that came after a removal looked for", told.removals > 0 ? told.sure.size : 0);
  try {
    const wasThere = await judgeFound(bus, told, report);
    if (wasThere === undefined) return;
    await judgeRemoving(bus, wasThere, report);
    await judgeComeback(bus, told, report);
  } catch (error) {
    const { code, message } = BusError.from(error);
    report("does-not-read", `${code}: ${message}`);
  }
}

type Report = (name: string, says: string) => void;

/** Whether the topic is there; undefined if it has never been. */
async function judgeFound(bus: Bus, told: Told, report: Report): Promise<boolean | undefined> {
  const { registry, log, groups } = bus.store;
  const names = (await registry.topics()).map(({ name }) => name);
  const isThere = names.includes(PASSING);
  const heads = await log.heads(PASSING);
  if (!isThere && told.sure.size > 0) report("lost", "the topic is gone, and was written to");
  if (heads.length === 0) {
    if (told.heads.some((head) => head > 0)) report("lost", "nothing is known of where it ended");
    return undefined;
  }
  for (const { partition, head, low } of heads) {
    if (head < (told.heads[partition] ?? 0))
      report("seq-twice", `partition ${partition} ends at ${head}, and ${told.heads[partition]} was given`);
    const events = await storedLog(bus.store, PASSING, partition);
    for (const [i, { seq, id }] of events.entries()) {
      const place = `${partition}:${seq}`;
      if (seq !== low + i) report("seq-gap", `${place} comes where ${low + i} should be`);
      if (told.gone.has(place)) report("back", `${place} (${id}) is there, and was removed`);
      const known = told.sure.get(place) ?? told.maybe.get(place);
      if (known !== undefined && known.id !== id) report("lost", `${place} is ${id}, not ${known.id}`);
    }
    if (low + events.length !== head + 1) report("seq-gap", `partition ${partition} ends before ${head}`);
    const seqs = new Set(events.map(({ seq }) => seq));
    for (const ack of told.sure.values())
      if (ack.partition === partition && !seqs.has(ack.seq))
        report("lost", `${ack.id} was acknowledged at ${partition}:${ack.seq} and is not there`);
  }
  if (told.isGone) {
    const left = names.filter((name) => name === PASSING || name === PASSING_LETTERS);
    for (const name of left) report("back", `${name} is there, and its removal was answered`);
    for (const { group } of await groups.list(PASSING)) report("back", `group ${group} is there`);
  }
  return isThere;
}

/** Begun before or not: it goes. */
async function judgeRemoving(bus: Bus, wasThere: boolean, report: Report): Promise<void> {
  const { registry, groups } = bus.store;
  const outcome = await bus.admin.removeTopic(PASSING).then(
    () => "removed",
    (error: unknown) => BusError.from(error).code,
  );
  if (outcome !== (wasThere ? "removed" : "NOT_FOUND")) report("stalled", `its removal says ${outcome}`);
  const left = (await registry.topics()).filter(({ name }) => name.endsWith(PASSING));
  // Whoever was interrupted before the topic itself went has left nothing that belongs to it.
  if (wasThere && left.length > 0) report("back", `${left.map(({ name }) => name)} left by a removal`);
  if (wasThere && (await groups.list(PASSING)).length > 0) report("back", "a group is left by a removal");
}

/** Its next events go behind all that were ever given a seq, and are all it has. */
async function judgeComeback(bus: Bus, told: Told, report: Report): Promise<void> {
  const before = await bus.store.log.heads(PASSING);
  const news = Array.from({ length: 2 * PASSING_PARTITIONS }, (_, n) => n + 1);
  await Promise.all(news.map((n) => bus.publish(PASSING, { n }, { id: `p${n}`, key: `k${n}` })));
  const cursor = await bus.getCursor(PASSING, PASSING_GROUP);
  if (cursor !== null) report("back", `${PASSING_GROUP} stands on the new topic`);
  let events = 0;
  for (const [partition, { head }] of before.entries()) {
    const log = await storedLog(bus.store, PASSING, partition);
    events += log.length;
    if (log.length > 0 && log[0]?.seq !== Math.max(head, told.heads[partition] ?? 0) + 1)
      report("seq-twice", `partition ${partition} goes on with ${log[0]?.seq} after ${head}`);
  }
  if (events !== news.length) report("lost", `it has ${events} events after it came back`);
}
