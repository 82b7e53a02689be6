/** An export is whole, or its reader sees that it is not: what was cut off must not pass for a backup. */
import { afterEach, describe, expect, it } from "vitest";
import { type HubFixture, hubFixture } from "../../../test/support/hub-fixture.js";
import { memoryStore } from "../../stores/memory/index.js";
import { type FaultPlan, faultyStore } from "../../testing/faulty-store/index.js";

let f: HubFixture;
afterEach(() => f.close());

/** A hub whose log can be read so many times. */
async function hubThatFailsAfter(reads: number): Promise<HubFixture> {
  const plan: FaultPlan = {
    call: ({ name }) =>
      name === "log.read" && reads-- <= 0 ? { type: "error-before", code: "STORE_DAMAGED" } : null,
  };
  f = await hubFixture({ bus: { store: faultyStore(memoryStore(), plan), onTrouble: () => undefined } });
  return f;
}

async function fill(events: number, size: number): Promise<void> {
  const items = Array.from({ length: events }, (_, n) => ({ payload: `${n} ${"x".repeat(size)}` }));
  await f.bus.publishMany("orders", items);
}

describe("GET /export", () => {
  it("refuses a partition that is not there", async () => {
    f = await hubFixture();
    await fill(1, 1);
    const response = await f.get("/export?topic=orders&partition=7");
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ code: "BAD_REQUEST" });
  });

  it("P14: answers with the failure if the store fails at once", async () => {
    await hubThatFailsAfter(0);
    await fill(10, 10);
    const response = await f.get("/export?topic=orders");
    expect(response.status).toBe(503);
    expect(await response.json()).toMatchObject({ code: "STORE_DAMAGED" });
  });

  it.each([1, 2, 5])(
    "P14: breaks off if the store fails at read %d: it does not look whole",
    async (reads) => {
      await hubThatFailsAfter(reads);
      await fill(4_000, 1_000);
      const response = await f.get("/export?topic=orders");
      expect(response.status).toBe(200);
      await expect(response.text()).rejects.toThrow("terminated");
    },
  );

  it("breaks off when the hub closes: it does not look whole", async () => {
    f = await hubFixture();
    await fill(40_000, 500);
    const response = await f.get("/export?topic=orders");
    const reader = response.body?.getReader();
    await reader?.read();
    const closed = f.hub.close();
    const rest = (async () => {
      while (!(await reader?.read())?.done);
    })();
    await expect(rest).rejects.toThrow("terminated");
    await closed;
  });
});

describe("GET /events", () => {
  it("refuses a partition that is not there, rather than wait for its events for ever", async () => {
    f = await hubFixture();
    await fill(1, 1);
    const response = await f.get("/events?topic=orders&partition=7");
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ code: "BAD_REQUEST" });
  });
});
