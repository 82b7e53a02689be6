/** Events that are spread over topics and partitions, on MongoDB: what each of them costs when hardly two go the same way. */
import { createBus } from "../../src/bus/create-bus.js";
import { mongoStore } from "../../src/stores/mongo/index.js";
import { countdown, keyOf, payloadOf, perSecond, windowed } from "../events.js";

const WINDOW = 1_024;
const WARM = 5_000;
const EVENTS = 20_000;

export interface Spread {
  readonly topics: number;
  readonly partitions: number;
}

/** Events a second from their publish until they are handled, one of each topic in turn. */
export async function spreadOver(url: string, db: string, { topics, partitions }: Spread): Promise<number> {
  const names = Array.from({ length: topics }, (_, n) => `bench.t${n}`);
  const bus = await createBus({
    store: mongoStore({ url, db }),
    topics: names.map((name) => ({ name, partitions })),
  });
  try {
    let handled = countdown(WARM);
    await bus.subscribe(names, "bench", () => handled.one());
    const send = async (events: number): Promise<void> => {
      handled = countdown(events);
      await windowed(events, WINDOW, (n) =>
        bus.publish(names[n % topics] as string, payloadOf(n), { key: keyOf(n) }),
      );
      await handled.all;
    };
    await send(WARM);
    return await perSecond(EVENTS, () => send(EVENTS));
  } finally {
    await bus.close();
  }
}
