/** Wherever a topic is given by its name, its definition will do. */
import { expect, it } from "vitest";
import { recorder, useBench } from "../../test/support/bus-bench.js";
import { settled } from "../../test/support/eventually.js";
import { PartitionCoordinator } from "../consume/coordinator.js";
import { subscribePartitioned } from "../consume/partitioned.js";
import { defineTopic } from "../model/topic.js";

const bench = useBench();
const Jobs = defineTopic("jobs", { partitions: 2 });
const REF = { topic: Jobs, group: "g" };

it("the cursor of a group is set and told by the topic's definition, which counts as it does where one subscribes", async () => {
  const bus = await bench().bus();
  await bus.setCursor(Jobs, "g", "earliest");
  expect(await bus.topics()).toMatchObject([{ name: "jobs", partitions: 2 }]);
  await bus.publish(Jobs, 1, { partition: 1 });
  const position = await bus.getCursor(Jobs, "g");
  expect(position).toMatchObject({ topic: "jobs", partitions: [{ head: 0 }, { head: 1, floor: 0 }] });
  expect(await bus.getCursor("jobs", "g")).toEqual(position);
});

it("P6: an event is acked and given back by the definition of its topic", async () => {
  const bus = await bench().bus();
  const { handler } = recorder();
  await bus.subscribe(Jobs, "g", handler, { manualAck: true });
  const [first, second] = await bus.publishMany(Jobs, [{ payload: 1 }, { payload: 2 }]);
  await settled();
  expect(bus.owned(Jobs, "g")).toHaveLength(2);
  expect(await bus.ack(Jobs, "g", first?.id ?? "")).toMatchObject({ ok: true });
  expect(await bus.nack(Jobs, "g", second?.id ?? "")).toMatchObject({ ok: true });
});

it("groups and topics are looked after by definitions, and told of by name", async () => {
  const bus = await bench().bus();
  await bus.setCursor(Jobs, "g", "earliest");
  await bus.publish(Jobs, 1);
  expect(await bus.admin.lag({ topic: Jobs })).toMatchObject([{ topic: "jobs", group: "g", lag: 1 }]);
  expect(await bus.admin.pause(REF)).toBe(true);
  expect(await bus.admin.why(REF)).toMatchObject({ topic: "jobs", paused: { by: "bus" } });
  expect(await bus.admin.resume(REF)).toBe(true);
  expect(await bus.admin.remove(REF)).toMatchObject({ topic: "jobs", removed: true });
  expect(await bus.admin.removeTopic(Jobs)).toMatchObject({ topic: "jobs", removed: true });
});

it("a topic is followed, and worked on in shares, by its definition", async () => {
  const bus = await bench().bus();
  const { handler, payloads } = recorder();
  const coordinator = new PartitionCoordinator({ clock: bench().clock });
  const member = { group: "g", memberId: "a", partitions: 4, clock: bench().clock };
  await subscribePartitioned(bus, Jobs, handler, coordinator, member);
  await bus.publish(Jobs, 1);
  await bench().advance(3_000);
  expect(payloads()).toEqual([1]);
  const following = bus.follow(Jobs, [0, 0], new AbortController().signal);
  expect((await following.next()).value?.record).toMatchObject({ topic: "jobs", payload: 1 });
  await following.return(undefined);
});

it("what is neither a topic nor a group is refused by a code", async () => {
  const bus = await bench().bus();
  for (const none of [null, undefined] as unknown as never[]) {
    for (const asked of [bus.positions(none), bus.defineTopic(none), bus.setCursor(none, "g", "latest")])
      await expect(asked).rejects.toMatchObject({ code: "INVALID_TOPIC" });
    const { admin } = bus;
    for (const asked of [admin.why(none), admin.pause(none), admin.resume(none), admin.remove(none)])
      await expect(asked).rejects.toMatchObject({ code: "INVALID_OPTION" });
  }
});
