/**
 * What a schema costs a publisher: the same events on the embedded store, each awaited until it is durable, without a
 * schema, with one in the topic's definition, and through the registry, which also stamps the version.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { z } from "zod";
import type { Bus } from "../../src/bus/bus.js";
import { createBus } from "../../src/bus/create-bus.js";
import { defineTopic, type TopicRef } from "../../src/model/topic.js";
import { toJsonSchema } from "../../src/schema/reading/normalize.js";
import type { SchemaInput } from "../../src/schema/reading/schema-input.js";
import { SchemaRegistry } from "../../src/schema/registry/registry.js";
import { withSchemaValidation } from "../../src/schema/registry/validation-layer.js";
import { embeddedStore } from "../../src/stores/embedded/index.js";
// The compiler must emit the threads' modules too, although nothing here calls them.
import type {} from "../../src/stores/embedded/threads/reader-worker.js";
import type {} from "../../src/stores/embedded/threads/writer-worker.js";
import { keyOf, payloadOf } from "../events.js";
import type { Case, Suite } from "../suite.js";

const TOPIC = "bench.events";
const EVENTS = 30_000;
/** Until the code is compiled: what is compared runs for weeks. */
const WARM_UP = 40_000;
const WINDOW = 1_024;
const KEYS = 1_000;

const schema = z.object({
  host: z.string().max(250),
  name: z.string().max(250),
  pid: z.int().nonnegative(),
  status: z.enum(["alive", "stale"]),
  cpu_pct: z.number(),
  mem_mb: z.number().min(0),
  last_seen_ts: z.number(),
  labels: z.record(z.string(), z.string()),
  tags: z.array(z.string()),
  note: z.string().optional(),
  parent: z.object({ pid: z.int(), name: z.string() }).nullable(),
});
type Payload = z.infer<typeof schema>;

/** The events of all suites, and what a schema has more to do with; about 350 bytes of JSON each. */
const payloads = Array.from({ length: KEYS }, (_, n) => ({
  ...payloadOf(n),
  parent: n % 3 === 0 ? null : { pid: n, name: "supervisor" },
})) as Payload[];

const folder = mkdtempSync(join(tmpdir(), "promethean-bench-"));
process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
let files = 0;

type Target = (bus: Bus) => { readonly bus: Bus; readonly topic: TopicRef<Payload> };

const plain: Target = (bus) => ({ bus, topic: TOPIC });
const defined: Target = (bus) => ({ bus, topic: defineTopic<Payload>(TOPIC, { schema }) });
const registered =
  (input: SchemaInput): Target =>
  (bus) => {
    const schemas = new SchemaRegistry();
    schemas.register({ topic: TOPIC, version: 1, schema: input });
    return { bus: withSchemaValidation(bus, schemas), topic: TOPIC };
  };

/** One by one, each awaited only when `WINDOW` others have been sent after it. */
async function publish({ bus, topic }: ReturnType<Target>, events: number): Promise<void> {
  const sent: Promise<unknown>[] = new Array(WINDOW);
  for (let n = 0; n < events; n++) {
    if (n >= WINDOW) await sent[n % WINDOW];
    sent[n % WINDOW] = bus.publish(topic, payloads[n % KEYS] as Payload, { key: keyOf(n) });
  }
  await Promise.all(sent);
}

async function measure(target: Target): Promise<readonly number[]> {
  const path = join(folder, `${++files}`);
  const bus = await createBus({ store: embeddedStore({ path }) });
  const used = target(bus);
  await publish(used, WARM_UP);
  const cpuBefore = process.cpuUsage();
  const startMs = performance.now();
  await publish(used, EVENTS);
  const tookMs = performance.now() - startMs;
  const { user, system } = process.cpuUsage(cpuBefore);
  await bus.close();
  for (const end of ["", "-wal", "-shm"]) rmSync(path + end, { force: true });
  return [(1_000 * EVENTS) / tookMs, (user + system) / EVENTS];
}

const cpu = (name: string): string => `${name}, processor time`;
const timed = (name: string, target: Target): Case => ({
  name,
  unit: "events/s",
  also: [{ name: cpu(name), unit: "µs/event" }],
  measure: () => measure(target),
});

const WITHOUT = "publish without a schema";
const DEFINED = "publish with the schema of a definition";
const ZOD = "publish through the registry, Zod";
const JSON_SCHEMA = "publish through the registry, JSON Schema";

export const suite: Suite = {
  name: "schema",
  cases: [
    timed(WITHOUT, plain),
    timed(DEFINED, defined),
    timed(ZOD, registered(schema)),
    timed(JSON_SCHEMA, registered(toJsonSchema(schema))),
  ],
  ratios: [DEFINED, ZOD, JSON_SCHEMA].map((name) => ({
    name: `${name} / without`,
    of: name,
    to: WITHOUT,
    atLeast: 0.7,
  })),
};
