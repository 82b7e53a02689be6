/** A name that is misspelt must not count as not given: what was to be looked at would be removed. */
import { expect, it } from "vitest";
import { useBench } from "../../test/support/bus-bench.js";

const bench = useBench();

/** As plain JavaScript would say it. */
const misspelt: object = { dryrun: true };

it("the removal of a group or a topic refuses an option that it does not know, and removes nothing", async () => {
  const bus = await bench().bus();
  await bus.publish("t.a", 1);
  await bus.setCursor("t.a", "g", "earliest");
  const refused = { code: "INVALID_OPTION", message: expect.stringContaining('no option "dryrun"') };
  await expect(bus.admin.remove({ topic: "t.a", group: "g" }, misspelt)).rejects.toMatchObject(refused);
  await expect(bus.admin.removeTopic("t.a", misspelt)).rejects.toMatchObject(refused);
  await expect(bus.admin.lag(misspelt)).rejects.toMatchObject(refused);
  expect(await bus.getCursor("t.a", "g")).toMatchObject({ partitions: [{ head: 1 }] });
});

it("latestByKey refuses keys that are none", async () => {
  const bus = await bench().bus();
  await bus.publish("t.a", 1, { key: "k" });
  for (const keys of ["k", null, undefined, [5], { k: 1 }])
    await expect(bus.latestByKey("t.a", keys as never)).rejects.toMatchObject({ code: "INVALID_OPTION" });
  expect((await bus.latestByKey("t.a", ["k"]))["k"]).toMatchObject({ payload: 1 });
});
