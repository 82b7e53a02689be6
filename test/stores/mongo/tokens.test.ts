/** Tokens on MongoDB that are replaced together: a command for all, and a compare-and-set for each. */
import { afterEach, beforeEach, expect, it } from "vitest";
import type { Registry } from "../../../src/ports/registry.js";
import { TestDatabase } from "../../support/mongo/database.js";
import { FailPoint } from "../../support/mongo/fail-point.js";
import { NotedClient } from "../../support/mongo/noted-client.js";

const FEEDS = Array.from({ length: 16 }, (_, n) => `feed ${n}`);

let database: TestDatabase;
let noted: NotedClient;
let registry: Registry;
const failPoint = new FailPoint(() => database.client);

beforeEach(async () => {
  database = await TestDatabase.create();
  noted = new NotedClient(database.url, { appName: database.name });
  registry = (await database.open({ client: noted.client })).registry;
  for (const name of FEEDS) await registry.putToken(name, 0, { expected: 0 });
  noted.forget();
});
afterEach(async () => {
  await failPoint.release();
  await noted.close();
  await database.dispose();
});

const moveAll = (value: number, expected: number): Promise<PromiseSettledResult<number>[]> =>
  Promise.allSettled(FEEDS.map((name) => registry.putToken(name, value, { expected })));

it("go in one command", async () => {
  expect(await moveAll(1, 1)).toEqual(FEEDS.map(() => ({ status: "fulfilled", value: 2 })));
  expect(noted.names).toEqual(["update"]);
});

it("P7: are each told whether somebody else was first", async () => {
  const other = (await database.open()).registry;
  await other.putToken("feed 3", 1, { expected: 1 });
  await other.putToken("feed 5", null, { expected: 1 });
  const outcomes = await moveAll(1, 1);
  expect(outcomes.flatMap(({ status }, n) => (status === "rejected" ? [n] : []))).toEqual([3, 5]);
  expect(outcomes[3]).toMatchObject({ reason: { code: "WRITE_CONFLICT", details: { revision: 2 } } });
  expect(outcomes[5]).toMatchObject({ reason: { code: "WRITE_CONFLICT", details: { revision: 0 } } });
  expect(noted.names).toEqual(["update", "find"]);
});

it("P7: of two that expect the same revision one is told that it is there, though they say the same", async () => {
  const both = [1, 1].map(() => registry.putToken("feed 0", "same", { expected: 1 }));
  const outcomes = await Promise.allSettled(both);
  expect(outcomes.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
  expect(await registry.token("feed 0")).toEqual({ value: "same", revision: 2 });
});

it("are there, and told so, after a try of which nobody knows what it did", async () => {
  // All of it took effect; the server cannot tell whether it lasts.
  await failPoint.set(1, {
    failCommands: ["update"],
    writeConcernError: { code: 64, errmsg: "waiting for replication timed out" },
    appName: database.name,
  });
  expect(await moveAll(1, 1)).toEqual(FEEDS.map(() => ({ status: "fulfilled", value: 2 })));
  expect(noted.named("update")).toHaveLength(1 + FEEDS.length);
  for (const name of FEEDS) expect(await registry.token(name)).toEqual({ value: 1, revision: 2 });
});
