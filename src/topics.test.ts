import { describe, expect, it } from "vitest";
import { z } from "zod";
import { createBus } from "./bus/create-bus.js";
import { heartbeatSchema } from "./project/process/process-topics.js";
import { memoryStore } from "./stores/memory/index.js";
import { exampleSchemas, HeartbeatReceived, KvSetTopic, ProcessStateTopic, Topics } from "./topics.js";

const heartbeat = { pid: 12345, name: "stt", host: "dev", cpu_pct: 12.3, mem_mb: 256 };
const state = { processId: "dev:stt:12345", ...heartbeat, last_seen_ts: 1, status: "alive" as const };

describe("the topics of the worked example", () => {
  it("have schemas that take their payloads", () => {
    const schemas = exampleSchemas();
    expect(schemas.topics()).toEqual(["heartbeat.received", "kv.set", "process.state"]);
    expect(schemas.validate("heartbeat.received", heartbeat)?.version).toBe(1);
    expect(schemas.validate("process.state", state)?.version).toBe(1);
    expect(schemas.validate("kv.set", { path: "a/b", value: { any: [1, null] } })?.version).toBe(1);
    expect(() => schemas.validate("process.state", { ...state, status: "gone" })).toThrow(/payload.status/);
  });

  it("say their keys, retention and compaction, and a bus checks them", async () => {
    expect(HeartbeatReceived.retentionDays).toBe(3);
    expect([ProcessStateTopic.compaction, KvSetTopic.compaction]).toEqual([true, true]);
    const bus = await createBus({
      store: memoryStore(),
      topics: [HeartbeatReceived, ProcessStateTopic, KvSetTopic],
    });
    expect(await bus.publish(HeartbeatReceived, heartbeat)).toMatchObject({ key: "dev:stt:12345" });
    expect(await bus.publish(ProcessStateTopic, state)).toMatchObject({ key: "dev:stt:12345" });
    expect(await bus.publish(KvSetTopic, { path: "a", value: 1 })).toMatchObject({ key: "a" });
    await expect(bus.publish(HeartbeatReceived, { ...heartbeat, pid: -1 })).rejects.toMatchObject({
      code: "SCHEMA_VIOLATION",
      details: { issues: [{ path: "payload.pid", value: "-1" }] },
    });
    await bus.close();
  });

  it("take null as a tombstone where they are compacted, and nowhere else", async () => {
    const bus = await createBus({ store: memoryStore(), topics: Object.values(Topics) });
    expect(await bus.publish(ProcessStateTopic, null, { key: "dev:stt:12345" })).toMatchObject({
      key: "dev:stt:12345",
      payload: null,
    });
    expect(await bus.publish("kv.set", null, { key: "a" })).toMatchObject({ payload: null });
    await expect(bus.publish("heartbeat.received", null, { key: "k" })).rejects.toMatchObject({
      code: "SCHEMA_VIOLATION",
    });
    await bus.close();
  });

  it("may grow by what is optional, and not by what is required", () => {
    const schemas = exampleSchemas();
    const topic = "heartbeat.received";
    const more = heartbeatSchema.extend({ net_rx_kbs: z.number().optional() });
    expect(schemas.check({ topic, version: 2, compat: "full", schema: more })[0]?.report.verdict).toBe(
      "compatible",
    );
    const needed = heartbeatSchema.extend({ net_rx_kbs: z.number() });
    expect(schemas.check({ topic, version: 2, schema: needed })[0]?.report.verdict).toBe("incompatible");
  });
});
