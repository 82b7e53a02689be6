/** Short forms; `npm run test:faults -- --only mongo-network,mongo-failpoints` runs the long ones. */
import { describe, expect, it } from "vitest";
import { runMongoFailpoints } from "./mongo-failpoints.js";
import { runMongoNetwork } from "./mongo-network.js";

describe("MongoDB behind a bad wire, and with failpoints", () => {
  it("P1, P4, P5, P9, P15: cut, reset, half open, mute, slow: nothing is lost or doubled, and it goes on", async () => {
    const { anomalies, faults } = await runMongoNetwork({ count: 5, seed: 1 });
    expect(anomalies).toEqual([]);
    expect(Object.keys(faults)).toHaveLength(5);
  });

  it("P1, P4, P5, P9, P12: retryable errors, unknown commits, lost change streams", async () => {
    const { anomalies, faults, checked } = await runMongoFailpoints({ count: 12, seed: 1 });
    expect(anomalies).toEqual([]);
    expect(faults["commands that a failpoint struck"]).toBeGreaterThan(12);
    expect(checked["changes of a collection followed"]).toBe(24);
  });
});
