/** The bus as a hub of the command line offers it: what is published must fit the schemas that its store holds. */
import type { Bus } from "../bus/bus.js";
import { openSchemas } from "../schema/registry/schema-following.js";
import { withSchemaValidation } from "../schema/registry/validation-layer.js";

/** A version that another process registers counts here within seconds. */
export async function checkedBus(bus: Bus): Promise<Bus> {
  return withSchemaValidation(bus, await openSchemas(bus));
}
