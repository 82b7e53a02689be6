/**
 * Warming: fills a view from the snapshot of its topic and puts its group where the snapshot ends, so that the
 * projector goes on from there: no event is missed, none is applied twice. The group is placed before the snapshot is
 * read, and from then on keeps the tombstones it has not seen (P11).
 */
import { BusError } from "../../model/errors.js";
import type { EventRecord, Seq } from "../../model/event.js";
import { checkOptionNames, namesOf } from "../../model/known-options.js";
import { snapshotTopic } from "../../model/topic.js";
import { readMarks, sourceRecordOf } from "../history/snapshot.js";
import { knownTopic } from "../history/time-travel.js";
import type { Host } from "../host.js";
import { scanPages } from "../log-scan.js";
import { checkObject } from "../option-checks.js";
import { CHANGELOG_OPTIONS, type ChangelogOptions, groupOf, lastWrites } from "./changelog.js";
import { followsKeys } from "./past-view.js";
import { checkKeptName } from "./view.js";
import { readPointer } from "./view-pointer.js";

/** Which view to fill from a snapshot, and whether its projector goes on from there. */
export interface WarmOptions<T = unknown> extends Omit<ChangelogOptions<T>, "batchSize"> {
  /** False: the group stays where it is, or is not made. Default true. */
  readonly moveGroup?: boolean;
  readonly signal?: AbortSignal;
}

/** Those of the projector, which may be handed on as they are, and its own. */
const OPTIONS = [
  ...CHANGELOG_OPTIONS,
  ...namesOf<Omit<WarmOptions, keyof ChangelogOptions>>({ moveGroup: true, signal: true }),
];

/** What warmView has done. */
export interface Warmed {
  /** For each partition, the last event that the view accounts for. */
  readonly floors: readonly Seq[];
  /** Entries of the snapshot that were written. */
  readonly entries: number;
  /** Events after the snapshot that retention removed before anybody could read them. */
  readonly lost: number;
}

/**
 * A view with keys or versions of its own cannot be told from the newest event of each key: for it, and where there is
 * no snapshot, nothing is filled and the floors are those of the whole log.
 *
 * @example
 * await warmView(bus, { topic: "process.state", view: "processes" });
 * await startChangelogProjector(bus, { topic: "process.state", view: "processes" });
 */
export async function warmView<T>(host: Host, options: WarmOptions<T>): Promise<Warmed> {
  checkObject("warmView", options);
  checkOptionNames("warmView", options, OPTIONS);
  const view = options.view ?? options.collection;
  checkKeptName(view);
  // Of a view that was rebuilt, the build that counts; each has a group of its own.
  const { current: table } = await readPointer(host.store.registry, view);
  const group = groupOf(view, table, options.group);
  return warmTable(host, table, options.moveGroup === false ? null : group, options);
}

/** As `warmView`, for one table and the group that feeds it. */
export async function warmTable<T>(
  host: Host,
  table: string,
  group: string | null,
  options: Omit<WarmOptions<T>, "view" | "collection" | "moveGroup">,
): Promise<Warmed> {
  const { name } = await knownTopic(host, options.topic);
  const { floors, lost } = await snapshotFloors(host, name, followsKeys(options));
  await host.store.documents.define(table, options.indexes ?? []);
  if (group !== null) await host.store.groups.start({ topic: name, group }, floors);
  let entries = 0;
  if (followsKeys(options)) {
    for (const [partition, floor] of floors.entries()) {
      entries += await fill(host, { topic: name, table, partition, floor }, options);
    }
  }
  if (options.signal?.aborted) throw new BusError("ABORTED", `warming ${table} was stopped`);
  return { floors, entries, lost };
}

async function snapshotFloors(
  host: Host,
  topic: string,
  usable: boolean,
): Promise<{ floors: Seq[]; lost: number }> {
  const floors: Seq[] = [];
  let lost = 0;
  for (const { partition, low } of await host.store.log.heads(topic)) {
    const { marks } = usable ? await readMarks(host.store, topic, partition) : { marks: [] };
    const position = marks.at(-1)?.position;
    floors.push(position ?? low - 1);
    if (position !== undefined) lost += Math.max(0, low - 1 - position);
  }
  return { floors, lost };
}

interface Filling {
  readonly topic: string;
  readonly table: string;
  readonly partition: number;
  readonly floor: Seq;
}

/** Entries from beyond the floor are left to the projector: their events are still to come. */
async function fill<T>(
  host: Host,
  to: Filling,
  options: Omit<WarmOptions<T>, "view" | "collection" | "moveGroup">,
): Promise<number> {
  const { log, registry, documents } = host.store;
  const topic = snapshotTopic(to.topic);
  if ((await registry.topic(topic)) === null) return 0;
  const through = (await log.heads(topic))[to.partition]?.head ?? 0;
  const signal = options.signal === undefined ? {} : { signal: options.signal };
  let entries = 0;
  for await (const page of scanPages(log, { topic, partition: to.partition, after: 0, through }, signal)) {
    const events = page.events
      .map((entry) => sourceRecordOf<T>(entry, to.topic))
      .filter((event): event is EventRecord<T> => event !== null && event.seq <= to.floor);
    const writes = lastWrites(events, options, host.clock.now());
    if (writes.length > 0) await documents.write(to.table, writes);
    entries += events.length;
  }
  return entries;
}
