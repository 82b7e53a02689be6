/**
 * What goes on right now, for people who watch: counts, rates over the last seconds, and how long handlers take, for
 * each topic and group; with a short past, so that a chart has something to show at once. Of this hub's process only.
 * Bounded: beyond MAX_SERIES names nothing more is followed one by one, and the snapshot says so (P13).
 */
import type { CancelTimer, Clock } from "../model/clock.js";
import type { Meter } from "../model/meter.js";
import { groupKey } from "../ports/groups.js";
import { DurationSketch } from "./duration-sketch.js";

const SAMPLE_MS = 1_000;
/** Rates are taken over this many samples. */
const RATE_SAMPLES = 5;
const KEPT_SAMPLES = 120;
const MAX_SERIES = 2_000;

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

const COUNTS = ["published", "delivered", "acked", "nacked", "deadLettered"] as const;
type Count = (typeof COUNTS)[number];
type Counts = Record<Count, number>;

export class LiveStats implements Meter {
  readonly #clock: Clock;
  readonly #topics = new Map<string, Series>();
  readonly #groups = new Map<string, Series & { readonly topic: string; readonly group: string }>();
  readonly #all = new Series();
  readonly #past: Sample[] = [];
  #untracked = false;
  #cancel: CancelTimer;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#cancel = this.#schedule();
  }

  close(): void {
    this.#cancel();
  }

  published(topic: string, events: number): void {
    this.#all.counts.published += events;
    const series = this.#topic(topic);
    if (series !== undefined) series.counts.published += events;
  }

  delivered(topic: string, group: string, events: number): void {
    this.#count("delivered", topic, group, events);
  }

  acked(topic: string, group: string): void {
    this.#count("acked", topic, group, 1);
  }

  nacked(topic: string, group: string): void {
    this.#count("nacked", topic, group, 1);
  }

  deadLettered(topic: string, group: string): void {
    this.#count("deadLettered", topic, group, 1);
  }

  handled(topic: string, group: string, durationMs: number): void {
    this.#all.durations.add(durationMs);
    this.#group(topic, group)?.durations.add(durationMs);
  }

  polled(): void {}

  committed(): void {}

  snapshot(): LiveSnapshot {
    return {
      atMs: this.#clock.now(),
      topics: [...this.#topics].map(([topic, series]) => ({
        topic,
        published: series.counts.published,
        publishedPerSecond: series.rate("published"),
      })),
      groups: [...this.#groups.values()].map(groupStats),
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

  #topic(topic: string): Series | undefined {
    return this.#follow(this.#topics, topic, () => new Series());
  }

  #group(topic: string, group: string): Series | undefined {
    return this.#follow(this.#groups, groupKey({ topic, group }), () =>
      Object.assign(new Series(), { topic, group }),
    );
  }

  #follow<S extends Series>(all: Map<string, S>, name: string, make: () => S): S | undefined {
    const known = all.get(name);
    if (known !== undefined) return known;
    if (all.size >= MAX_SERIES) {
      this.#untracked = true;
      return undefined;
    }
    const series = make();
    all.set(name, series);
    return series;
  }

  #schedule(): CancelTimer {
    return this.#clock.setTimer(SAMPLE_MS, () => {
      const nowMs = this.#clock.steady();
      for (const series of [this.#all, ...this.#topics.values(), ...this.#groups.values()])
        series.sample(nowMs);
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

  sample(atMs: number): void {
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

/** The rates, under the names of the counts. */
function sampleOf(series: Series, atMs: number): Sample {
  const rates = Object.fromEntries(COUNTS.map((count) => [count, series.rate(count)])) as Counts;
  return { atMs, ...rates, handlerP99Ms: series.durations.quantile(0.99) };
}

function groupStats(series: Series & { readonly topic: string; readonly group: string }): GroupStats {
  const { topic, group, durations } = series;
  const { published: _, ...counts } = series.counts;
  return {
    topic,
    group,
    ...counts,
    inFlight: Math.max(0, counts.delivered - counts.acked - counts.nacked),
    deliveredPerSecond: series.rate("delivered"),
    ackedPerSecond: series.rate("acked"),
    nackedPerSecond: series.rate("nacked"),
    handlerP50Ms: durations.quantile(0.5),
    handlerP99Ms: durations.quantile(0.99),
  };
}
