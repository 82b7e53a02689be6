/** The topics of the worked example, and the first version of the schema of each. */
import { z } from "zod";
import { defineTopic } from "./model/topic.js";
import {
  heartbeatSchema,
  heartbeatTopic,
  processStateSchema,
  processStateTopic,
} from "./project/process/process-topics.js";
import { SchemaRegistry } from "./schema/registry/registry.js";

/** A value under a path; the newest counts. */
const kvSetSchema = z.object({ path: z.string().min(1), value: z.json() });
/** The payload of `kvSetTopic`. */
export type KvSet = z.infer<typeof kvSetSchema>;

/** What a process says of itself every few seconds; keyed by `host:name:pid`. */
export const HeartbeatReceived = heartbeatTopic;
/** What is known of a process, keyed by `host:name:pid`; `null` once it is forgotten. */
export const ProcessStateTopic = processStateTopic;
/** Keyed by path; `null` removes it. */
export const KvSetTopic = defineTopic<KvSet | null>("kv.set", {
  schema: kvSetSchema,
  compaction: true,
  key: (set) => set?.path,
});

/** The same, by the names of the first days. */
export const Topics = { HeartbeatReceived, ProcessState: ProcessStateTopic, KvSet: KvSetTopic } as const;

/** A registry with the first version of each. */
export function exampleSchemas(): SchemaRegistry {
  const registry = new SchemaRegistry();
  registry.register({ topic: HeartbeatReceived, version: 1, compat: "backward", schema: heartbeatSchema });
  registry.register({ topic: ProcessStateTopic, version: 1, compat: "backward", schema: processStateSchema });
  registry.register({ topic: KvSetTopic, version: 1, compat: "backward", schema: kvSetSchema });
  return registry;
}
