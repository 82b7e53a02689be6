/** The topics of the worked example, by the names of the first days. */
import { defineTopic } from "./model/topic.js";

export const Topics = {
  HeartbeatReceived: defineTopic("heartbeat.received", { retentionDays: 3 }),
  /** Keyed by `host:name:pid`. */
  ProcessState: defineTopic("process.state", { compaction: true }),
  /** Keyed by path. */
  KvSet: defineTopic("kv.set", { compaction: true }),
} as const;
