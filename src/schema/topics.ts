/** The topics of the worked example: machines report their processes, a projection keeps the state of each. */
import { z } from "zod";
import { defineTopic } from "../model/topic.js";
import { SchemaRegistry } from "./registry.js";

/** What a process says of itself every few seconds. */
export const heartbeatSchema = z.object({
  pid: z.number(),
  name: z.string(),
  host: z.string(),
  cpu_pct: z.number(),
  mem_mb: z.number(),
  sid: z.string().optional(),
});

export type Heartbeat = z.infer<typeof heartbeatSchema>;

/** What is known of a process; stale when its heartbeats stopped. */
export const processStateSchema = z.object({
  processId: z.string(),
  name: z.string(),
  host: z.string(),
  pid: z.number(),
  sid: z.string().optional(),
  cpu_pct: z.number(),
  mem_mb: z.number(),
  last_seen_ts: z.number(),
  status: z.enum(["alive", "stale"]),
});

export type ProcessState = z.infer<typeof processStateSchema>;

/** A value under a path; the newest counts. */
export const kvSetSchema = z.object({ path: z.string().min(1), value: z.json() });

export type KvSet = z.infer<typeof kvSetSchema>;

/** `host:name:pid`: the same process on the same machine. */
export function processKey({ host, name, pid }: Pick<Heartbeat, "host" | "name" | "pid">): string {
  return `${host}:${name}:${pid}`;
}

export const HeartbeatReceived = defineTopic<Heartbeat>("heartbeat.received", {
  schema: heartbeatSchema,
  retentionDays: 3,
  key: processKey,
});

export const ProcessStateTopic = defineTopic<ProcessState>("process.state", {
  schema: processStateSchema,
  compaction: true,
  key: (state) => state.processId,
});

export const KvSetTopic = defineTopic<KvSet>("kv.set", {
  schema: kvSetSchema,
  compaction: true,
  key: (set) => set.path,
});

/** A registry with the first version of each. */
export function exampleSchemas(): SchemaRegistry {
  const registry = new SchemaRegistry();
  registry.register({ topic: HeartbeatReceived, version: 1, compat: "backward", schema: heartbeatSchema });
  registry.register({ topic: ProcessStateTopic, version: 1, compat: "backward", schema: processStateSchema });
  registry.register({ topic: KvSetTopic, version: 1, compat: "backward", schema: kvSetSchema });
  return registry;
}
