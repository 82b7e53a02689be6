import { expect, it } from "vitest";
import { gate, settled } from "../../../test/support/eventually.js";
import { hubFixture } from "../../../test/support/hub-fixture.js";
import { startChangelogProjector } from "../../project/views/changelog.js";
import { readPointer } from "../../project/views/view-pointer.js";
import { memoryStore } from "../../stores/memory/index.js";
import { faultyStore } from "../../testing/faulty-store/index.js";
import { interceptStore } from "../../testing/store-calls.js";

it("a rebuild whose job cannot be written down does not go on behind the back of whoever was told that it failed", async () => {
  const building = gate();
  const refused = gate();
  const held = interceptStore(memoryStore(), {
    around: async (call, proceed) => {
      if (call.name === "documents.write" && call.args[0] === "sales__2") await building.passed;
      return proceed();
    },
  });
  const store = faultyStore(held, {
    call: (call) => {
      if (call.name !== "registry.putToken" || !call.args[0].startsWith("hub-job:")) return null;
      refused.open();
      return { type: "error-before" };
    },
  });
  const f = await hubFixture({ bus: { store } });
  await startChangelogProjector(f.bus, { topic: "t.sales", view: "sales" });
  await f.bus.publish("t.sales", { n: 1 }, { key: "k" });
  await expect.poll(() => f.bus.view("sales").get("k")).toMatchObject({ n: 1 });
  const asking = f.post("/views/sales/rebuild", {});
  await refused.passed;
  await settled();
  building.open();
  expect((await asking).status).toBe(503);
  expect(f.bus.tasks.reports().filter(({ kind }) => kind === "rebuild")).toEqual([]);
  expect(await readPointer(store.registry, "sales")).toMatchObject({ current: "sales" });
  await f.close();
});
