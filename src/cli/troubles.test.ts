import { expect, it } from "vitest";
import { BusError } from "../model/errors.js";
import { ManualClock } from "../model/manual-clock.js";
import { fewTroubles } from "./troubles.js";

it("tells few of ten thousand troubles, one with another code among them, and how many there were", async () => {
  const clock = new ManualClock();
  const told: [string, string | undefined, number][] = [];
  const onTrouble = fewTroubles(({ error, topic }, leftOut) => {
    told.push([error.code, topic, leftOut]);
  }, clock);
  const away = new BusError("STORE_UNAVAILABLE", "the store is away");
  for (let n = 0; n < 10_000; n++) onTrouble({ error: away, topic: `t.n${n}` });
  onTrouble({ error: new BusError("STORE_DAMAGED", "a batch is damaged"), topic: "t.bad" });
  await clock.advance(1_000);
  onTrouble({ error: away, topic: "t.last" });
  expect(told).toEqual([
    ["STORE_UNAVAILABLE", "t.n0", 0],
    ["STORE_DAMAGED", "t.bad", 0],
    ["STORE_UNAVAILABLE", "t.last", 9_999],
  ]);
});
