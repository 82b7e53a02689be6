/** A poison event: given up after its tries (P8), the others went on, and once the handler is mended it is redriven. */
import { createBus, deadLetters, defineTopic, memoryStore, redrive } from "promethean";
import { z } from "zod";

const Order = defineTopic("orders", { schema: z.object({ order: z.number() }) });

const bus = await createBus({
  store: memoryStore(),
  // Unless given, process warnings.
  onTrouble: ({ error, group, givenUp }) =>
    console.log(`trouble in ${group}: ${error.code}${givenUp ? ", given up" : ", tried again"}`),
});
const sent: number[] = [];
let broken = true;
await bus.subscribe(
  Order,
  "mailer",
  ({ payload }, { attempt }) => {
    if (payload.order === 2 && broken) throw new Error(`no address (try ${attempt})`);
    sent.push(payload.order);
  },
  { from: "earliest", maxAttempts: 3, retry: { baseMs: 1, maxMs: 5 } },
);
for (const order of [1, 2, 3]) await bus.publish(Order, { order }, { key: `customer-${order}` });

let letters = [];
do {
  await new Promise((resolve) => setTimeout(resolve, 10));
  letters = [];
  for await (const letter of deadLetters(bus, "orders")) letters.push(letter);
} while (letters.length === 0 || sent.length < 2);
for (const { origin, error, attempts } of letters)
  console.log(`${origin.group} gave up event ${origin.seq} after ${attempts} tries: ${error.message}`);
console.log("the others went on:", sent.join(", "));

broken = false;
const preview = await redrive(bus, { topic: "orders", dryRun: true });
console.log(`a redrive would bring back ${preview.redriven}`);
await redrive(bus, { topic: "orders", group: "mailer" });
while (sent.length < 3) await new Promise((resolve) => setTimeout(resolve, 10));
console.log("after the redrive:", sent.join(", "));
await bus.close();
