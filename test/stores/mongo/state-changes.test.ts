/** A server that says it is no longer the primary, to one call after the other: calls go on, or say what is the matter. */
import { afterEach, beforeEach, expect, it } from "vitest";
import { BusError } from "../../../src/model/errors.js";
import { jsonBody } from "../../../src/model/json.js";
import { TestDatabase } from "../../support/mongo/database.js";
import { FailPoint } from "../../support/mongo/fail-point.js";

const NOT_PRIMARY = 10_107;

let database: TestDatabase;
const failPoint = new FailPoint(() => database.client);

beforeEach(async () => {
  database = await TestDatabase.create();
});
afterEach(async () => {
  await failPoint.release();
  await database.dispose();
});

it("P15: reads that are refused leave nothing behind that later calls trip over", async () => {
  const appName = "state-changes";
  const store = await database.open({ url: database.urlWith(`appName=${appName}`) });
  await store.registry.defineTopic({ name: "t", partitions: 1 });
  const body = jsonBody(1, { maxPayloadBytes: 100, maxPayloadDepth: 2 });
  const append = (n: number): Promise<unknown> =>
    store.log.append("t", 0, [{ id: `e${n}`, ts: n, key: undefined, meta: undefined, body, freshId: false }]);
  await append(0);
  const codes: string[] = [];
  for (let round = 1; round <= 5; round++) {
    const refused = { failCommands: ["find", "insert"], errorCode: NOT_PRIMARY, appName };
    await failPoint.set(4, refused);
    for (let call = 0; call < 4; call++) {
      await Promise.all(
        [store.log.read("t", 0, { after: 0, limit: 10 }), append(round)].map((answer) =>
          answer.catch((error: unknown) => codes.push(BusError.from(error).code)),
        ),
      );
    }
  }
  expect(codes.filter((code) => code !== "STORE_UNAVAILABLE" && code !== "OUTCOME_UNKNOWN")).toEqual([]);
  expect((await store.log.read("t", 0, { after: 0, limit: 10 })).events).toHaveLength(6);
});
