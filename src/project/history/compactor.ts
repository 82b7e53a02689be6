/**
 * The compactor: keeps `<topic>.snapshot` up to date (snapshotter.ts) and compacts the logs of topics with
 * `compaction: true` (P11). It works in bounded pieces with a pause after each page, keeps its place in the store, and
 * can be stopped or killed after any of them: what it has removed was superseded, what it has not is found again.
 */

import { pause } from "../../model/clock.js";
import { BusError } from "../../model/errors.js";
import { FirstFailure } from "../../model/first-failure.js";
import { checkOptionNames, namesOf } from "../../model/known-options.js";
import type { Mutable } from "../../model/mutable.js";
import type { Handle } from "../../model/task.js";
import { isSnapshotTopic, snapshotTopic, type TopicConfig, type TopicRef } from "../../model/topic.js";
import { checkHost, type Host } from "../host.js";
import { checkList, checkObject, checkRange } from "../option-checks.js";
import { WorkSession } from "../partition-lease.js";
import { roundsTask } from "../running-task.js";
import { namedTopics } from "../topic-choice.js";
import { compactPartition, type PartitionCompaction } from "./log-compactor.js";
import { snapshotTopicOnce } from "./snapshotter.js";

/** Which topics to compact, and what to keep nevertheless. */
export interface CompactionOptions {
  readonly topic?: TopicRef;
  /** Default: every topic with `compaction: true`. */
  readonly topics?: readonly TopicRef[];
  /** Write `<topic>.snapshot`. Default true. */
  readonly snapshot?: boolean;
  /** Superseded events stay for this long after the one that superseded them, for time travel. Default 0. */
  readonly keepHistoryMs?: number;
  /** The same for superseded entries of snapshots. Default one day. */
  readonly keepSnapshotsMs?: number;
  /** Events read at once, and removed at once. Default 2,000. */
  readonly batchSize?: number;
  /** Wait between batches. Default 1. */
  readonly pauseMs?: number;
  /** Keys held in memory at once; more take more rounds. Default 100,000. */
  readonly maxKeys?: number;
}

/** What compaction is told, and how often it looks. */
export interface CompactorOptions extends CompactionOptions {
  /** Default 60,000. */
  readonly everyMs?: number;
}

const OPTIONS = namesOf<CompactorOptions & { signal: AbortSignal }>({
  topic: true,
  topics: true,
  snapshot: true,
  keepHistoryMs: true,
  keepSnapshotsMs: true,
  batchSize: true,
  pauseMs: true,
  maxKeys: true,
  everyMs: true,
  signal: true,
});

/** What a compactor has done since it began. */
export interface CompactorStats {
  readonly [name: string]: number;
  readonly rounds: number;
  /** Events looked at. */
  readonly scanned: number;
  readonly snapshotEntries: number;
  /** Superseded events that were removed. */
  readonly removed: number;
  readonly tombstonesRemoved: number;
}

const DAY_MS = 86_400_000;
const STRETCH_BYTES = 32 * 1_048_576;

/**
 * Keeps the newest event of each key of compacted topics, again and again (P11).
 *
 * @example
 * const compactor = startCompactor(bus, { everyMs: 60_000 });
 */
export function startCompactor(host: Host, options: CompactorOptions = {}): Handle<CompactorStats> {
  checkHost(host);
  checkOptions(options);
  const counts = newCounts();
  const { clock, tasks } = host;
  const named = namedTopics(options);
  const name = `compactor ${named === null ? "*" : named.join(", ")}`;
  return roundsTask(
    { kind: "compactor", name, clock, board: tasks, stats: () => ({ ...counts }) },
    {
      everyMs: options.everyMs ?? 60_000,
      round: async (signal) => {
        const failures = new FirstFailure();
        const more = await compactionRound(host, { options, counts, signal, failures });
        failures.throwIfAny();
        return more;
      },
    },
  );
}

/** One run over everything there is to do now. */
export async function compactNow(
  host: Host,
  options: CompactionOptions & { readonly signal?: AbortSignal } = {},
): Promise<CompactorStats> {
  checkHost(host);
  checkOptions(options);
  const counts = newCounts();
  const signal = options.signal ?? new AbortController().signal;
  const work = { options, counts, signal, failures: new FirstFailure() };
  while ((await compactionRound(host, work)) && !signal.aborted);
  work.failures.throwIfAny();
  return counts;
}

type Counts = Mutable<CompactorStats>;

function newCounts(): Counts {
  return { rounds: 0, scanned: 0, snapshotEntries: 0, removed: 0, tombstonesRemoved: 0 };
}

interface Work {
  readonly options: CompactionOptions;
  readonly counts: Counts;
  readonly signal: AbortSignal;
  readonly failures: FirstFailure;
}

/** True if there is more to do at once. */
async function compactionRound(host: Host, work: Work): Promise<boolean> {
  const { options, counts, signal, failures } = work;
  let more = false;
  const snapshots = options.snapshot !== false;
  const session = snapshots ? await WorkSession.open(host.store.groups, host.clock, "compactor") : null;
  try {
    for (const topic of await chosenTopics(host, options)) {
      if (signal.aborted) break;
      if (session !== null && !isSnapshot(topic)) await failures.note(snapshot(host, topic, session, work));
      more = (await failures.note(compact(host, topic, work))) === true || more;
    }
  } finally {
    await session?.close();
  }
  counts.rounds++;
  return more;
}

function snapshot(host: Host, topic: TopicConfig, session: WorkSession, work: Work): Promise<void> {
  const { counts, signal } = work;
  const { pageSize, maxKeys, breathe } = paceOf(host, work);
  const bounds = { maxKeys: Math.min(maxKeys, 20_000), maxBytes: STRETCH_BYTES };
  return snapshotTopicOnce(host, topic, session, { ...bounds, pageSize, breathe, signal }, counts);
}

async function compact(host: Host, topic: TopicConfig, work: Work): Promise<boolean> {
  if (topic.compaction !== true) return false;
  const { options, counts, signal } = work;
  const keepMs = isSnapshot(topic) ? (options.keepSnapshotsMs ?? DAY_MS) : (options.keepHistoryMs ?? 0);
  const { log } = host.store;
  const hasKeyIndex = (await log.hasKeyIndex?.(topic.name)) ?? true;
  const pace = paceOf(host, work);
  const compaction: PartitionCompaction = { host, topic, hasKeyIndex, keepMs, ...pace, signal, counts };
  let more = false;
  for (const head of await log.heads(topic.name)) {
    if (signal.aborted) return false;
    more = (await unlessTaken(compactPartition(compaction, head))) || more;
  }
  return more;
}

type Pace = Pick<PartitionCompaction, "pageSize" | "maxKeys" | "breathe">;

function paceOf({ clock }: Host, { options, signal }: Work): Pace {
  const { pauseMs = 1, batchSize = 2_000, maxKeys = 100_000 } = options;
  return { pageSize: batchSize, maxKeys, breathe: () => pause(clock, pauseMs, signal) };
}

/** Another compactor that moved the progress on does the rest, too. */
async function unlessTaken(compacting: Promise<boolean>): Promise<boolean> {
  try {
    return await compacting;
  } catch (error) {
    if (BusError.is(error, "WRITE_CONFLICT")) return false;
    throw error;
  }
}

/** Those that were named, with their snapshots, or all that are compacted. Sources come before their snapshots. */
async function chosenTopics(host: Host, options: CompactionOptions): Promise<TopicConfig[]> {
  const named = namedTopics(options);
  const all = await host.topics();
  if (named === null) {
    return [...all.filter((t) => t.compaction && !isSnapshot(t)), ...all.filter(isSnapshot)];
  }
  const missing = named.find((name) => !all.some((topic) => topic.name === name));
  if (missing !== undefined) throw new BusError("NOT_FOUND", `there is no topic ${missing}`);
  const wanted = new Set([...named, ...named.map(snapshotTopic)]);
  return all.filter((topic) => wanted.has(topic.name));
}

/** A topic may have such a name without being one. */
function isSnapshot({ name, compaction }: TopicConfig): boolean {
  return compaction === true && isSnapshotTopic(name);
}

function checkOptions(options: CompactorOptions): void {
  checkObject("a compactor", options);
  checkOptionNames("a compactor", options, OPTIONS);
  checkList("topics", options.topics);
  checkRange("everyMs", options.everyMs, 1);
  checkRange("keepHistoryMs", options.keepHistoryMs, 0);
  checkRange("keepSnapshotsMs", options.keepSnapshotsMs, 0);
  checkRange("batchSize", options.batchSize, 1, 10_000);
  checkRange("pauseMs", options.pauseMs, 0);
  checkRange("maxKeys", options.maxKeys, 1);
}
