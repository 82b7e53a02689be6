/** Publish and subscribe: two groups see every event, each key in order, and a group goes on where it left off. */
import { createBus, defineTopic } from "promethean";
import { embeddedStore } from "promethean/stores/embedded";
import { z } from "zod";
import { temporaryFolder } from "./temporary-folder.js";

const Order = defineTopic("orders.placed", { schema: z.object({ order: z.number() }), partitions: 4 });
const path = `${temporaryFolder()}/bus.db`;

const bus = await createBus({ store: embeddedStore({ path }), topics: [Order] });
for (const order of [1, 2, 3]) await bus.publish(Order, { order }, { key: "ada" });

for (const group of ["mailer", "billing"]) {
  const seen: number[] = [];
  const stop = await bus.subscribe(Order, group, ({ payload }) => void seen.push(payload.order), {
    from: "earliest",
  });
  while (seen.length < 3) await new Promise((resolve) => setImmediate(resolve));
  await stop(); // waits for running handlers and commits the cursor
  console.log(`${group} saw ${seen.join(", ")}`);
}
await bus.close();

// Another process, later: nothing is delivered twice, nothing is lost.
const later = await createBus({ store: embeddedStore({ path }), topics: [Order] });
await later.publish(Order, { order: 4 }, { key: "ada" });
const next = await new Promise<number>((resolve) => {
  void later.subscribe(Order, "mailer", ({ payload }) => resolve(payload.order));
});
console.log(`mailer went on with ${next}`);
await later.close();
