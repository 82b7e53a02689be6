/** The composition root: a bus from its options. */
import { Bus } from "./bus.js";
import { BusCore } from "./core.js";
import { type BusInternals, type BusOptions, settingsOf } from "./options.js";

/**
 * Opens the store, defines the topics, and returns the bus.
 *
 * @example
 * const bus = await createBus({ store: memoryStore(), topics: [defineTopic("orders.placed", { partitions: 4 })] });
 */
export async function createBus(options: BusOptions, internals: BusInternals = {}): Promise<Bus> {
  const core = new BusCore(settingsOf(options, internals));
  try {
    await core.open();
  } catch (error) {
    await core.close();
    throw error;
  }
  return new Bus(core);
}
