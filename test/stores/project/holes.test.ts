/** Events that vanished from a database by somebody's hand: verifyGroup names them (P2). */
import { afterEach, beforeEach, expect, it } from "vitest";
import { createBus } from "../../../src/bus/create-bus.js";
import { verifyGroup } from "../../../src/project/history/verify.js";
import { TestDatabase } from "../../support/mongo/database.js";

let database: TestDatabase;
beforeEach(async () => {
  database = await TestDatabase.create();
});
afterEach(() => database.dispose());

async function holesAfter(removed: readonly number[], lost: readonly number[]): Promise<unknown> {
  const bus = await createBus({ store: await database.open() });
  await bus.defineTopic({ name: "t", partitions: 1 });
  await bus.publishMany(
    "t",
    Array.from({ length: 12 }, (_, i) => ({ payload: i + 1 })),
  );
  await bus.setCursor("t", "g", "earliest");
  await bus.store.log.remove("t", 0, removed);
  await database.db.collection("events").deleteMany({ topic: "t", seq: { $in: [...lost] } });
  const { ok, partitions } = await verifyGroup(bus, "t", "g");
  await bus.close();
  return { ok, holes: partitions[0]?.holes.map(({ from, to }) => [from, to]) };
}

it("P2: names each seq that is gone", async () => {
  expect(await holesAfter([], [3, 4, 7])).toEqual({
    ok: false,
    holes: [
      [3, 4],
      [7, 7],
    ],
  });
});

it("P2: where some were compacted away, says between which seqs the lost ones are", async () => {
  expect(await holesAfter([4], [8])).toEqual({ ok: false, holes: [[4, 8]] });
});

it("P2: finds no hole in what was removed by the bus", async () => {
  expect(await holesAfter([2, 3, 9], [])).toEqual({ ok: true, holes: [] });
});
