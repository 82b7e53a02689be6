/** The topics of the worked example, by the names of the first days. */
import { defineTopic } from "./model/topic.js";
import { heartbeatTopic, processStateTopic } from "./project/process/process-topics.js";

export const Topics = {
  /** Keyed by `host:name:pid`. */
  HeartbeatReceived: heartbeatTopic,
  /** Keyed by `host:name:pid`. */
  ProcessState: processStateTopic,
  /** Keyed by path. */
  KvSet: defineTopic("kv.set", { compaction: true }),
} as const;
