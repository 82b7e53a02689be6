/** A schema grows: a breaking version is refused with a counter-example, a compatible one is read by new code alone. */
import {
  BusError,
  createBus,
  memoryStore,
  SchemaRegistry,
  subscribeNormalized,
  UpcastChain,
  withSchemaValidation,
} from "promethean";
import { z } from "zod";

const V1 = z.object({ pid: z.number() });
const V2 = z.object({ pid: z.number(), host: z.string().optional() });

const schemas = new SchemaRegistry();
schemas.register({ topic: "heartbeat", version: 1, schema: V1 });
const plain = await createBus({ store: memoryStore() });
await withSchemaValidation(plain, schemas).publish("heartbeat", { pid: 1 });

try {
  schemas.register({
    topic: "heartbeat",
    version: 2,
    schema: z.object({ pid: z.number(), host: z.string() }),
  });
} catch (error) {
  if (!BusError.is(error, "SCHEMA_INCOMPATIBLE")) throw error;
  console.log("refused:", error.message);
}

schemas.register({ topic: "heartbeat", version: 2, schema: V2 });
const bus = withSchemaValidation(plain, schemas);
await bus.publish("heartbeat", { pid: 2, host: "b" });
await bus
  .publish("heartbeat", { pid: "three" })
  .catch((error: BusError) => console.log("rejected:", error.code));

const upcasts = new UpcastChain();
upcasts.add<{ pid: number }, z.infer<typeof V2>>("heartbeat", 1, (old) => ({ ...old, host: "unknown" }));
const seen: string[] = [];
await subscribeNormalized<z.infer<typeof V2>>(
  bus,
  "heartbeat",
  "reader",
  ({ payload, headers }) =>
    void seen.push(`${payload.pid} on ${payload.host} (v${headers?.["x-schema-version"]})`),
  { schemas, upcasts, from: "earliest" },
);
while (seen.length < 2) await new Promise((resolve) => setImmediate(resolve));
console.log(seen.join("\n"));
await plain.close();
