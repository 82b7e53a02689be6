/** A store whose topics all have one layout, while nobody who uses it says or sees so. */
import type { TopicConfig, TopicLayout } from "../../../src/model/topic.js";
import type { Registry } from "../../../src/ports/registry.js";
import type { Store } from "../../../src/ports/store.js";

export function withLayout(store: Store, layout: TopicLayout): Store {
  const { registry } = store;
  const own: Pick<Registry, "defineTopic" | "topic" | "topics"> = {
    defineTopic: async (config, o) => unsaid(await registry.defineTopic({ ...config, layout }, o)),
    topic: async (name) => {
      const config = await registry.topic(name);
      return config === null ? null : unsaid(config);
    },
    topics: async () => (await registry.topics()).map(unsaid),
  };
  return replacing(store, { registry: replacing(registry, own) });
}

function unsaid({ layout: _, ...config }: TopicConfig): TopicConfig {
  return config;
}

/** `target` with some of its members replaced; its methods stay methods of `target`. */
function replacing<T extends object>(target: T, own: Partial<T>): T {
  return new Proxy(target, {
    get(_target, name) {
      const value: unknown = Reflect.get(Object.hasOwn(own, name) ? own : target, name);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}
