import { expect, it } from "vitest";
import { runHubFuzz } from "../support/hub-fuzz.js";

it("P13: a hub survives 2,000 frames and requests that no client would send, without a 500, in bounded memory", async () => {
  const run = await runHubFuzz({ count: 2_000, seed: 7 });
  expect(run.failures).toEqual([]);
  expect(run.frames + run.requests).toBe(2_000);
  // It was not refused at the door: some of each kind got through, some was turned down.
  expect(Object.keys(run.statuses)).toEqual(expect.arrayContaining(["200", "400", "404", "415"]));
  expect(Object.keys(run.codes)).toEqual(expect.arrayContaining(["OK", "BAD_REQUEST", "4400"]));
  expect(run.heapGrowthMiB).toBeLessThan(200);
});
