/** A process of its own that registers version 2 of a schema when it is told to, and says how that went. */
import { once } from "node:events";
import { z } from "zod";
import { BusError } from "../../../src/model/errors.js";
import { StoredSchemaRegistry } from "../../../src/schema/registry/stored-registry.js";
import { embeddedStore } from "../../../src/stores/embedded/index.js";

const [path = "", member = ""] = process.argv.slice(2);
const store = embeddedStore({ path });
await store.open();
const schemas = await StoredSchemaRegistry.open(store.registry);
console.log("ready");
await once(process.stdin, "data");
const outcome = await schemas
  .register({
    topic: "orders.placed",
    version: 2,
    schema: z.object({ order: z.number(), [member]: z.string().optional() }),
  })
  .then(
    () => "ok",
    (error: unknown) => BusError.from(error).code,
  );
console.log(outcome);
await store.close();
process.exit();
