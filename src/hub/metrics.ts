/** The hub's metrics, behind a small interface of our own: what is measured is decided here, how it is told is prom-client's. */
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from "prom-client";
import type { GroupLag } from "../bus/admin.js";
import type { Bus } from "../bus/bus.js";
import type { Meter } from "../model/meter.js";
import { schemaMeter } from "./schema-metrics.js";
import type { Watch } from "./watch.js";

const HANDLER_BUCKETS = [1, 2, 5, 10, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 30_000];
const QUICK_BUCKETS = [0.1, 0.25, 0.5, 1, 2, 5, 10, 25, 50, 100, 250, 1_000, 5_000];

export interface HubMetrics {
  /** The text that a scraper reads. */
  text(): Promise<string>;
  readonly contentType: string;
  readonly counters: {
    readonly published: number;
    readonly delivered: number;
    readonly acked: number;
    readonly nacked: number;
    readonly deadLettered: number;
  };
  close(): void;
}

export interface Measured {
  readonly connections: () => number;
  readonly watch: Watch;
}

export function createMetrics(bus: Bus, { connections, watch }: Measured): HubMetrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry, prefix: "promethean_" });
  const registers = [registry];
  const byTopic = ["topic"];
  const byGroup = ["topic", "group"];
  const published = new Counter({
    name: "events_published_total",
    help: "Events published",
    labelNames: byTopic,
    registers,
  });
  const delivered = new Counter({
    name: "events_delivered_total",
    help: "Events handed to handlers",
    labelNames: byGroup,
    registers,
  });
  const acked = new Counter({
    name: "events_acked_total",
    help: "Events acknowledged",
    labelNames: byGroup,
    registers,
  });
  const nacked = new Counter({
    name: "events_nacked_total",
    help: "Failed deliveries",
    labelNames: byGroup,
    registers,
  });
  const dead = new Counter({
    name: "events_dead_lettered_total",
    help: "Events given up",
    labelNames: byGroup,
    registers,
  });
  const inFlight = new Gauge({
    name: "events_inflight",
    help: "Events being handled",
    labelNames: byGroup,
    registers,
  });
  const handling = new Histogram({
    name: "delivery_handler_duration_ms",
    help: "From hand-out to settlement",
    labelNames: byGroup,
    buckets: HANDLER_BUCKETS,
    registers,
  });
  const polling = new Histogram({
    name: "subscribe_poll_duration_ms",
    help: "Reads of the log",
    labelNames: byGroup,
    buckets: QUICK_BUCKETS,
    registers,
  });
  const committing = new Histogram({
    name: "events_commit_duration_ms",
    help: "Appends to the log",
    labelNames: byTopic,
    buckets: QUICK_BUCKETS,
    registers,
  });
  new Gauge({
    name: "ws_connections",
    help: "Open WebSocket connections",
    registers,
    collect() {
      this.set(connections());
    },
  });
  addLagGauges(registers, watch);
  const counters = { published: 0, delivered: 0, acked: 0, nacked: 0, deadLettered: 0 };
  const meter: Meter = {
    published(topic, events) {
      counters.published += events;
      published.inc({ topic }, events);
    },
    delivered(topic, group, events) {
      counters.delivered += events;
      delivered.inc({ topic, group }, events);
      inFlight.inc({ topic, group }, events);
    },
    acked(topic, group) {
      counters.acked++;
      acked.inc({ topic, group });
      inFlight.dec({ topic, group });
    },
    nacked(topic, group) {
      counters.nacked++;
      nacked.inc({ topic, group });
      inFlight.dec({ topic, group });
    },
    deadLettered(topic, group) {
      counters.deadLettered++;
      dead.inc({ topic, group });
    },
    handled: (topic, group, ms) => handling.observe({ topic, group }, ms),
    polled: (topic, group, ms) => polling.observe({ topic, group }, ms),
    committed: (topic, ms) => committing.observe({ topic }, ms),
    ...schemaMeter(registers),
  };
  const stop = bus.observe(meter);
  return { text: () => registry.metrics(), contentType: registry.contentType, counters, close: stop };
}

/** Worked out when a scraper asks. If the store is away they are left out, and the rest is told all the same. */
function addLagGauges(registers: Registry[], watch: Watch): void {
  const labelNames = ["topic", "group"];
  const lags = (): Promise<readonly GroupLag[]> => watch.lag().catch(() => []);
  new Gauge({
    name: "events_lag",
    help: "Events that a group has not settled",
    labelNames,
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
    labelNames,
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
    labelNames: ["topic"],
    registers,
    async collect() {
      const { topics } = await watch.letters().catch(() => ({ topics: {} }));
      this.reset();
      for (const [topic, open] of Object.entries(topics)) this.set({ topic }, open);
    },
  });
}
