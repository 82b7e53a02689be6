/**
 * What goes on in this hub's process: counts, rates over the last seconds, and how long things take, for each topic and
 * group; with a short past, so that a chart has something to show at once. The one meter of a hub: /stats and /metrics both
 * read it. Bounded: beyond MAX_SERIES names nothing more is followed one by one, and the snapshot says so (P13). Names that nothing
 * happened under for long make room then, and topics and groups that were removed go anyway: a hub lives longer than many of them. What comes
 * back counts from 0, as after a restart.
 */
import type { CancelTimer, Clock } from "../../model/clock.js";
import type { Meter, ValidationOutcome } from "../../model/meter.js";
import { type GroupRef, groupKey } from "../../ports/groups.js";
import type { Watch } from "../watch.js";
import { Buckets } from "./buckets.js";
import { bucketOf, DurationSketch } from "./duration-sketch.js";
import { SchemaSeries } from "./schema-series.js";

const SAMPLE_MS = 1_000;
/** Rates are taken over this many samples. */
const RATE_SAMPLES = 5;
const KEPT_SAMPLES = 120;
const MAX_SERIES = 2_000;
/** Silent for so long, a name makes room for others. */
const SILENT_MS = 600_000;
/** So long after its last event a group that is not in the store was removed, and is not only about to begin. */
const GONE_MS = 60_000;
/** A topic is in the store before its first event is counted: what is not there so long after its last was removed. */
const TOPIC_GONE_MS = 10_000;

export interface TopicStats {
  readonly topic: string;
  readonly published: number;
  readonly publishedPerSecond: number;
}

export interface GroupStats {
  readonly topic: string;
  readonly group: string;
  readonly delivered: number;
  readonly acked: number;
  readonly nacked: number;
  readonly deadLettered: number;
  readonly inFlight: number;
  readonly deliveredPerSecond: number;
  readonly ackedPerSecond: number;
  readonly nackedPerSecond: number;
  /** From hand-out to settlement over the last minute or so; null if there was none. */
  readonly handlerP50Ms: number | null;
  readonly handlerP99Ms: number | null;
}

/** One second of the whole hub. */
export interface Sample {
  readonly atMs: number;
  readonly published: number;
  readonly delivered: number;
  readonly acked: number;
  readonly nacked: number;
  readonly deadLettered: number;
  readonly handlerP99Ms: number | null;
}

export interface LiveSnapshot {
  readonly atMs: number;
  readonly topics: readonly TopicStats[];
  readonly groups: readonly GroupStats[];
  readonly totals: Sample;
  /** Names that were too many to be followed. */
  readonly untracked: boolean;
}

const HANDLER_BUCKETS_MS = [1, 2, 5, 10, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 30_000];
const QUICK_BUCKETS_MS = [0.1, 0.25, 0.5, 1, 2, 5, 10, 25, 50, 100, 250, 1_000, 5_000];

const COUNTS = ["published", "delivered", "acked", "nacked", "deadLettered"] as const;
type Count = (typeof COUNTS)[number];
export type Counts = Record<Count, number>;

export class LiveStats implements Meter {
  readonly #clock: Clock;
  readonly #topics = new Map<string, TopicSeries>();
  /** By topic, then group. */
  readonly #groups = new Map<string, Map<string, GroupSeries>>();
  readonly #all = new Series();
  readonly schemas = new SchemaSeries();
  readonly #past: Sample[] = [];
  #groupCount = 0;
  /** Most of what is counted is of the same group as what was counted before. */
  #lastGroup: GroupSeries | undefined;
  #untracked = false;
  #cancel: CancelTimer;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#cancel = this.#schedule();
  }

  close(): void {
    this.#cancel();
  }

  /** Since the hub began. */
  get counts(): Readonly<Counts> {
    return this.#all.counts;
  }

  get topics(): Iterable<TopicSeries> {
    return this.#topics.values();
  }

  *groups(): Generator<GroupSeries> {
    for (const groups of this.#groups.values()) yield* groups.values();
  }

  published(topic: string, events: number): void {
    this.#all.counts.published += events;
    const series = this.#topic(topic);
    if (series !== undefined) series.counts.published += events;
  }

  delivered(topic: string, group: string, events: number): void {
    this.#count("delivered", topic, group, events);
  }

  acked(topic: string, group: string, events: number): void {
    this.#count("acked", topic, group, events);
  }

  nacked(topic: string, group: string): void {
    this.#count("nacked", topic, group, 1);
  }

  deadLettered(topic: string, group: string): void {
    this.#count("deadLettered", topic, group, 1);
  }

  validated(topic: string, version: number | undefined, outcome: ValidationOutcome): void {
    this.schemas.addValidated(topic, version, outcome);
  }

  normalized(topic: string, group: string, version: number | undefined): void {
    this.schemas.addNormalized(topic, group, version);
  }

  handled(topic: string, group: string, durationMs: number, events: number): void {
    const bucket = bucketOf(durationMs);
    this.#all.durations.add(bucket, events);
    const series = this.#group(topic, group);
    if (series === undefined) return;
    series.durations.add(bucket, events);
    series.handling.add(durationMs, events);
  }

  polled(topic: string, group: string, durationMs: number): void {
    this.#group(topic, group)?.polling.add(durationMs);
  }

  committed(topic: string, durationMs: number): void {
    this.#topic(topic)?.committing.add(durationMs);
  }

  snapshot(): LiveSnapshot {
    return {
      atMs: this.#clock.now(),
      topics: [...this.topics].map((series) => ({
        topic: series.topic,
        published: series.counts.published,
        publishedPerSecond: series.rate("published"),
      })),
      groups: [...this.groups()].map(groupStats),
      totals: sampleOf(this.#all, this.#clock.now()),
      untracked: this.#untracked,
    };
  }

  /** The last seconds, oldest first. */
  get past(): readonly Sample[] {
    return this.#past;
  }

  #count(count: Exclude<Count, "published">, topic: string, group: string, events: number): void {
    this.#all.counts[count] += events;
    const series = this.#group(topic, group);
    if (series !== undefined) series.counts[count] += events;
  }

  #topic(topic: string): TopicSeries | undefined {
    let series = this.#topics.get(topic);
    if (series === undefined && this.#hasRoom(this.#topics.size)) {
      series = new TopicSeries(topic);
      this.#topics.set(topic, series);
    }
    return series;
  }

  #group(topic: string, group: string): GroupSeries | undefined {
    const last = this.#lastGroup;
    if (last !== undefined && last.group === group && last.topic === topic) return last;
    this.#lastGroup = this.#findGroup(topic, group);
    return this.#lastGroup;
  }

  #findGroup(topic: string, group: string): GroupSeries | undefined {
    let groups = this.#groups.get(topic);
    let series = groups?.get(group);
    if (series !== undefined || !this.#hasRoom(this.#groupCount)) return series;
    series = new GroupSeries(topic, group);
    groups ??= new Map();
    this.#groups.set(topic, groups.set(group, series));
    this.#groupCount++;
    return series;
  }

  #hasRoom(followed: number): boolean {
    if (followed < MAX_SERIES) return true;
    this.#untracked = true;
    return false;
  }

  /** The groups that there are in the store: those that are not among them any more are forgotten. */
  keepGroups(there: Iterable<GroupRef>): void {
    const known = new Set<string>();
    for (const ref of there) known.add(groupKey(ref));
    const nowMs = this.#clock.steady();
    this.#forgetGroups((series) => series.silentMs(nowMs) > GONE_MS && !known.has(groupKey(series)));
    this.schemas.forgetGroups((ref) => !known.has(groupKey(ref)));
  }

  /** The same of topics. */
  keepTopics(there: ReadonlySet<string>): void {
    const nowMs = this.#clock.steady();
    for (const [topic, series] of this.#topics)
      if (series.silentMs(nowMs) > TOPIC_GONE_MS && !there.has(topic)) this.#topics.delete(topic);
    this.schemas.forgetTopics((topic) => !there.has(topic) && !this.#topics.has(topic));
  }

  /** Once something found no room. */
  #makeRoom(nowMs: number): void {
    this.#untracked = false;
    for (const [topic, series] of this.#topics)
      if (series.silentMs(nowMs) > SILENT_MS) this.#topics.delete(topic);
    this.#forgetGroups((series) => series.silentMs(nowMs) > SILENT_MS);
  }

  #forgetGroups(isOver: (series: GroupSeries) => boolean): void {
    this.#lastGroup = undefined;
    for (const [topic, groups] of this.#groups) {
      for (const [group, series] of groups) {
        if (!isOver(series)) continue;
        groups.delete(group);
        this.#groupCount--;
      }
      if (groups.size === 0) this.#groups.delete(topic);
    }
  }

  #schedule(): CancelTimer {
    return this.#clock.setTimer(SAMPLE_MS, () => {
      const nowMs = this.#clock.steady();
      for (const series of [this.#all, ...this.topics, ...this.groups()]) series.sample(nowMs);
      if (this.#untracked) this.#makeRoom(nowMs);
      this.#past.push(sampleOf(this.#all, this.#clock.now()));
      if (this.#past.length > KEPT_SAMPLES) this.#past.shift();
      this.#cancel = this.#schedule();
    });
  }
}

/** Counts of one name, and what they were in the last samples. */
class Series {
  readonly counts: Counts = { published: 0, delivered: 0, acked: 0, nacked: 0, deadLettered: 0 };
  readonly durations = new DurationSketch();
  readonly #samples: { readonly atMs: number; readonly counts: Counts }[] = [];
  /** When it was last seen to have grown, by the samples; Infinity before the first of them. */
  #grewMs = Number.POSITIVE_INFINITY;

  silentMs(nowMs: number): number {
    return nowMs - this.#grewMs;
  }

  sample(atMs: number): void {
    const last = this.#samples.at(-1)?.counts;
    if (last === undefined || COUNTS.some((count) => this.counts[count] !== last[count])) this.#grewMs = atMs;
    this.#samples.push({ atMs, counts: { ...this.counts } });
    if (this.#samples.length > RATE_SAMPLES + 1) this.#samples.shift();
    this.durations.tick(atMs);
  }

  /** A second, to one decimal. */
  rate(count: Count): number {
    const [first] = this.#samples;
    const last = this.#samples.at(-1);
    if (first === undefined || last === undefined || last.atMs <= first.atMs) return 0;
    const perSecond = (last.counts[count] - first.counts[count]) / ((last.atMs - first.atMs) / 1_000);
    return Math.round(perSecond * 10) / 10;
  }
}

export class TopicSeries extends Series {
  readonly topic: string;
  readonly committing = new Buckets(QUICK_BUCKETS_MS);

  constructor(topic: string) {
    super();
    this.topic = topic;
  }
}

export class GroupSeries extends Series {
  readonly topic: string;
  readonly group: string;
  readonly handling = new Buckets(HANDLER_BUCKETS_MS);
  readonly polling = new Buckets(QUICK_BUCKETS_MS);

  constructor(topic: string, group: string) {
    super();
    this.topic = topic;
    this.group = group;
  }

  get inFlight(): number {
    const { delivered, acked, nacked } = this.counts;
    return Math.max(0, delivered - acked - nacked);
  }
}

/** The rates, under the names of the counts. */
function sampleOf(series: Series, atMs: number): Sample {
  const rates = Object.fromEntries(COUNTS.map((count) => [count, series.rate(count)])) as Counts;
  return { atMs, ...rates, handlerP99Ms: series.durations.quantile(0.99) };
}

function groupStats(series: GroupSeries): GroupStats {
  const { topic, group, durations } = series;
  const { published: _, ...counts } = series.counts;
  return {
    topic,
    group,
    ...counts,
    inFlight: series.inFlight,
    deliveredPerSecond: series.rate("delivered"),
    ackedPerSecond: series.rate("acked"),
    nackedPerSecond: series.rate("nacked"),
    handlerP50Ms: durations.quantile(0.5),
    handlerP99Ms: durations.quantile(0.99),
  };
}

/** If the store is away nobody can tell. */
export async function forgetRemovedTopics(live: LiveStats, watch: Watch): Promise<void> {
  const there = await watch.topics().catch(() => null);
  if (there !== null) live.keepTopics(there);
}
