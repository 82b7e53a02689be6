/** The words of the worked example: heartbeats come in, the state of each process goes out. */
import { z } from "zod";
import { defineTopic } from "../../model/topic.js";

/** One sign of life of one process. */
export const heartbeatSchema = z.object({
  pid: z.int().nonnegative(),
  name: z.string().max(250),
  host: z.string().max(250),
  cpu_pct: z.number(),
  mem_mb: z.number(),
  sid: z.string().optional(),
});
/** Of the worked example: what a process says of itself. */
export type Heartbeat = z.infer<typeof heartbeatSchema>;

/** What is known of one process: its newest heartbeat, and whether they still come. */
export const processStateSchema = heartbeatSchema.extend({
  processId: z.string(),
  last_seen_ts: z.number(),
  status: z.enum(["alive", "stale"]),
});
/** Of the worked example: how a process is. */
export type ProcessState = z.infer<typeof processStateSchema>;

/** `host:name:pid`: the key of both topics. */
export function processIdOf({ host, name, pid }: Pick<Heartbeat, "host" | "name" | "pid">): string {
  return `${host}:${name}:${pid}`;
}

export const heartbeatTopic = defineTopic<Heartbeat>("heartbeat.received", {
  schema: heartbeatSchema,
  retentionDays: 3,
  key: processIdOf,
});

/** `null` once a process is forgotten. */
export const processStateTopic = defineTopic<ProcessState | null>("process.state", {
  schema: processStateSchema,
  compaction: true,
  key: (state) => state?.processId,
});
