/** What all parts of a hub share. */
import type { Logger } from "pino";
import type { Bus } from "../bus/bus.js";
import type { Seldom } from "../model/seldom.js";
import type { Authenticator } from "./auth/auth.js";
import type { HubRoll } from "./hub-roll.js";
import type { Jobs } from "./jobs.js";
import type { HubLimits } from "./limits.js";
import type { LiveStats } from "./metrics/live-stats.js";
import type { HubMetrics } from "./metrics/metrics.js";
import type { Visitors } from "./visitors.js";
import type { Watch } from "./watch.js";

export interface HubContext {
  readonly bus: Bus;
  /** For people: which installation this is. */
  readonly name: string;
  readonly auth: Authenticator;
  readonly visitors: Visitors;
  readonly limits: HubLimits;
  readonly metrics: () => Promise<HubMetrics>;
  readonly live: LiveStats;
  readonly watch: Watch;
  readonly jobs: Jobs;
  readonly roll: HubRoll;
  readonly log: Pick<Logger, "error">;
  /** Of requests that failed in ways nobody foresaw, which ones go into the log. */
  readonly failures: Seldom;
  readonly startedMs: number;
  /** False once the hub is going down. */
  readonly accepting: () => boolean;
  /** Aborts then: streams that would go on for ever end. */
  readonly closing: AbortSignal;
  readonly connections: () => number;
}
