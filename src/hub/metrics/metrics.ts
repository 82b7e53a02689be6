/**
 * The hub's metrics as Prometheus reads them: what is measured is decided here and counted in live-stats.ts, how it is told
 * is prom-client's. Nothing is done for it but when a scraper asks.
 */
import { Counter, collectDefaultMetrics, Gauge, type Metric, Registry } from "prom-client";
import type { GroupLag } from "../../bus/admin.js";
import { mayBeBehind } from "../../project/history/expected-lag.js";
import type { Watch } from "../watch.js";
import type { Buckets } from "./buckets.js";
import {
  type Counts,
  forgetRemovedTopics,
  type GroupSeries,
  type LiveStats,
  type TopicSeries,
} from "./live-stats.js";
import { addSchemaCounters } from "./schema-metrics.js";

const BY_TOPIC = ["topic"];
const BY_GROUP = ["topic", "group"];

export interface HubMetrics {
  /** The text that a scraper reads. */
  text(): Promise<string>;
  readonly contentType: string;
}

export interface Measured {
  readonly live: LiveStats;
  readonly connections: () => number;
  /** Connections that were cut off because their clients did not read. */
  readonly cutOff: () => number;
  readonly watch: Watch;
}

export function createMetrics({ live, connections, cutOff, watch }: Measured): HubMetrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry, prefix: "promethean_" });
  const registers = [registry];
  new Counter({
    name: "events_published_total",
    help: "Events published",
    labelNames: BY_TOPIC,
    registers,
    async collect() {
      await forgetRemovedTopics(live, watch);
      this.reset();
      for (const { topic, counts } of live.topics) this.inc({ topic }, counts.published);
    },
  });
  const counted: [string, string, keyof Counts][] = [
    ["events_delivered_total", "Events handed to handlers", "delivered"],
    ["events_acked_total", "Events acknowledged", "acked"],
    ["events_nacked_total", "Failed deliveries", "nacked"],
    ["events_dead_lettered_total", "Events given up", "deadLettered"],
  ];
  for (const [name, help, count] of counted) {
    new Counter({
      name,
      help,
      labelNames: BY_GROUP,
      registers,
      collect() {
        this.reset();
        for (const { topic, group, counts } of live.groups()) this.inc({ topic, group }, counts[count]);
      },
    });
  }
  new Gauge({
    name: "events_inflight",
    help: "Events being handled",
    labelNames: BY_GROUP,
    registers,
    collect() {
      this.reset();
      for (const { topic, group, inFlight } of live.groups()) this.set({ topic, group }, inFlight);
    },
  });
  new Gauge({
    name: "ws_connections",
    help: "Open WebSocket connections",
    registers,
    collect() {
      this.set(connections());
    },
  });
  new Counter({
    name: "ws_slow_consumers_total",
    help: "WebSocket connections cut off because they did not read",
    registers,
    collect() {
      this.reset();
      this.inc(cutOff());
    },
  });
  addHistograms(registry, live);
  addLagGauges(registers, watch, live);
  addSchemaCounters(registers, live.schemas);
  return { text: () => registry.metrics(), contentType: registry.contentType };
}

function addHistograms(registry: Registry, live: LiveStats): void {
  const ofGroup = ({ topic, group }: GroupSeries) => ({ topic, group });
  const ofTopic = ({ topic }: TopicSeries) => ({ topic });
  const handling = "From hand-out to settlement";
  addHistogram(registry, "delivery_handler_duration_ms", handling, () =>
    [...live.groups()].map((series) => ({ labels: ofGroup(series), buckets: series.handling })),
  );
  addHistogram(registry, "subscribe_poll_duration_ms", "Reads of the log", () =>
    [...live.groups()].map((series) => ({ labels: ofGroup(series), buckets: series.polling })),
  );
  addHistogram(registry, "events_commit_duration_ms", "Appends to the log", () =>
    [...live.topics].map((series) => ({ labels: ofTopic(series), buckets: series.committing })),
  );
}

interface Labelled {
  readonly labels: Readonly<Record<string, string>>;
  readonly buckets: Buckets;
}

/** prom-client's own histograms cost a hash of the labels for each value; these are counted elsewhere, and only told by it. */
function addHistogram(registry: Registry, name: string, help: string, find: () => readonly Labelled[]): void {
  const get = async (): Promise<object> => ({
    name,
    help,
    type: "histogram",
    aggregator: "sum",
    values: find()
      .filter(({ buckets }) => buckets.count > 0)
      .flatMap((labelled) => valuesOf(name, labelled)),
  });
  registry.registerMetric({ name, get } as unknown as Metric);
}

function valuesOf(name: string, { labels, buckets }: Labelled): object[] {
  const { bounds, sum, count } = buckets;
  const bucket = (le: number | string, value: number): object => ({
    metricName: `${name}_bucket`,
    labels: { le, ...labels },
    value,
  });
  return [
    ...buckets.cumulated().map((value, i) => bucket(bounds[i] as number, value)),
    bucket("+Inf", count),
    { metricName: `${name}_sum`, labels, value: sum },
    { metricName: `${name}_count`, labels, value: count },
  ];
}

/** Worked out when a scraper asks. If the store is away they are left out, and the rest is told all the same. */
function addLagGauges(registers: Registry[], watch: Watch, live: LiveStats): void {
  const lags = async (): Promise<readonly GroupLag[]> => {
    const all = await watch.lag().catch(() => null);
    if (all === null) return [];
    live.keepGroups(all);
    return all.filter((group) => !mayBeBehind(group));
  };
  new Gauge({
    name: "events_lag",
    help: "Events that a group has not settled",
    labelNames: BY_GROUP,
    registers,
    async collect() {
      const found = await lags();
      this.reset();
      for (const { topic, group, lag } of found) this.set({ topic, group }, lag);
    },
  });
  new Gauge({
    name: "events_lag_seconds",
    help: "Age of the oldest event that a group has not settled",
    labelNames: BY_GROUP,
    registers,
    async collect() {
      const found = await lags();
      this.reset();
      for (const { topic, group, lagSeconds } of found) this.set({ topic, group }, lagSeconds);
    },
  });
  new Gauge({
    name: "dead_letters_open",
    help: "Dead letters that were neither redriven nor discarded",
    labelNames: BY_TOPIC,
    registers,
    async collect() {
      const { topics } = await watch.letters().catch(() => ({ topics: {} }));
      this.reset();
      for (const [topic, open] of Object.entries(topics)) this.set({ topic }, open);
    },
  });
}
