/** Schemas in memory: registered where the program starts, at once. */
import { SchemaCatalog } from "./catalog.js";
import { decideRegistration, type TopicSchema, topicOf } from "./registration.js";
import type { SchemaVersion } from "./schema-version.js";

/**
 * The schemas of topics, by version.
 *
 * @example
 * const reg = new SchemaRegistry();
 * reg.register({ topic: "orders.placed", version: 1, compat: "backward", schema: z.object({ order: z.number() }) });
 * reg.validate("orders.placed", { order: "seven" });  // throws SCHEMA_VIOLATION: payload.order: …
 */
export class SchemaRegistry extends SchemaCatalog {
  /**
   * Adds a version. The same version again changes nothing. Throws, and changes nothing: SCHEMA_INCOMPATIBLE if it
   * breaks its `compat`, SCHEMA_CONFLICT if another schema has that version or a newer one is there.
   */
  register<T>(schema: TopicSchema<T>): SchemaVersion {
    const wanted = schema as TopicSchema;
    const topic = topicOf(wanted);
    const decision = decideRegistration(this.versions(topic), wanted, topic);
    this.adopt(decision.version);
    return decision.version;
  }
}
