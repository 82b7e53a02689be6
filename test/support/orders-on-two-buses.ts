/** Two buses on one store in memory, with ten orders in two partitions. */
import type { Bus } from "../../src/bus/bus.js";
import { createBus } from "../../src/bus/create-bus.js";
import { memoryStore } from "../../src/stores/memory/index.js";

export async function ordersOnTwoBuses(): Promise<{ readonly bus: Bus; readonly other: Bus }> {
  const store = memoryStore();
  const bus = await createBus({ store });
  const other = await createBus({ store });
  await bus.defineTopic({ name: "orders", partitions: 2 });
  for (let n = 0; n < 10; n++) await bus.publish("orders", { n }, { key: `k${n}` });
  return { bus, other };
}
