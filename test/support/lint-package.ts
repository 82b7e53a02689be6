/** What the lint's fixture uses of this package; the whole of it would take the compiler much longer to read. */
export type { Bus } from "../../src/bus/bus.js";
export type { EventBus } from "../../src/model/event-bus.js";
export { defineTopic } from "../../src/model/topic.js";
export { subscribeNormalized } from "../../src/schema/evolution/subscribe-normalized.js";
export { UpcastChain } from "../../src/schema/evolution/upcast.js";
export { SchemaRegistry } from "../../src/schema/registry/registry.js";
