/** What counts as newer than a letter that goes to a compacted topic. */
import { expect, it } from "vitest";
import { useBench } from "../../../test/support/bus-bench.js";
import type { Bus } from "../../bus/bus.js";
import { Fatal } from "../../model/errors.js";
import { deadLetters } from "./dead-letters.js";
import { redrive } from "./redrive.js";

const bench = useBench();

/** The newest event of the topic, given up. */
async function letterOf(bus: Bus, topic: string): Promise<{ letter: string; event: string }> {
  const refuse = (): Promise<never> => Promise.reject(new Fatal("no"));
  const stop = await bus.subscribe(topic, "g", refuse, { from: "latest" });
  await bus.publish(topic, `of ${topic}`, { key: "k" });
  await bench().advance(1_000);
  void stop();
  await bench().advance(1_000);
  const { value } = await deadLetters(bus, topic).next();
  return { letter: value?.id as string, event: value?.event.id as string };
}

it("P11: an event that somebody made of a letter is no letter that came back, and stays the newest", async () => {
  const bus = await bench().bus();
  await bus.defineTopic({ name: "latest", compaction: true });
  const { letter, event } = await letterOf(bus, "orders");
  await bus.publish("latest", "theirs", { key: "k", caused_by: [letter, event] });
  expect(await redrive(bus, { topic: "orders", to: "latest" })).toMatchObject({ redriven: 0, superseded: 1 });
  expect((await bus.latestByKey("latest", ["k"])).k?.payload).toBe("theirs");
});

it("P11: nor is a letter of another topic one of this: what came back of it stays the newest", async () => {
  const bus = await bench().bus();
  await bus.defineTopic({ name: "latest", compaction: true });
  await letterOf(bus, "mails");
  await bus.publish("orders", "older", { key: "other" });
  await letterOf(bus, "orders");
  expect(await redrive(bus, { topic: "mails", to: "latest" })).toMatchObject({ redriven: 1 });
  expect(await redrive(bus, { topic: "orders", to: "latest" })).toMatchObject({ redriven: 0, superseded: 1 });
  expect((await bus.latestByKey("latest", ["k"])).k?.payload).toBe("of mails");
});
