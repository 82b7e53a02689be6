/** Short form; `npm run test:faults -- --only fuzz` runs the long one. */
import { expect, it } from "vitest";
import { KINDS, runFuzz } from "./fuzz.js";

it("P13: whatever is sent is taken rightly or refused with the right code", async () => {
  const { anomalies, faults, checked } = await runFuzz({ count: 2_000, seed: 1 });
  expect(anomalies).toEqual([]);
  expect(Object.keys(faults)).toHaveLength(KINDS.length);
  expect(checked.taken).toBeGreaterThan(2_000);
  expect(checked.refused).toBeGreaterThan(2_000);
});
