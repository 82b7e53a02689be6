/** Audit entries on MongoDB that are added together: a command for many, and a number for each. */
import { afterEach, beforeEach, expect, it } from "vitest";
import type { Registry } from "../../../src/ports/registry.js";
import { TestDatabase } from "../../support/mongo/database.js";
import { NotedClient } from "../../support/mongo/noted-client.js";

const MANY = 100;
const ROUND = { action: "topic.define", target: "t" };

let database: TestDatabase;
let noted: NotedClient;
let registry: Registry;

beforeEach(async () => {
  database = await TestDatabase.create();
  noted = new NotedClient(database.url, { appName: database.name });
  registry = (await database.open({ client: noted.client })).registry;
  noted.forget();
});
afterEach(async () => {
  await noted.close();
  await database.dispose();
});

const addMany = (to: Registry, actor: string): Promise<unknown> =>
  Promise.all(Array.from({ length: MANY }, (_, atMs) => to.audit({ ...ROUND, actor, atMs })));

it("go in one command, each under the next number, in the order in which they were added", async () => {
  await addMany(registry, "ada");
  const entries = await registry.audits({ limit: 2 * MANY });
  expect(entries.map(({ number, atMs }) => [number, atMs])).toEqual(
    Array.from({ length: MANY }, (_, n) => [MANY - n, MANY - n - 1]),
  );
  expect(noted.named("insert")).toHaveLength(1);
});

it("of two processes are all kept, and neither keeps the other waiting for each", async () => {
  const other = (await database.open()).registry;
  await Promise.all([addMany(registry, "ada"), addMany(other, "bob")]);
  const entries = await registry.audits({ limit: 3 * MANY });
  expect(entries.map(({ number }) => number)).toEqual(
    Array.from({ length: 2 * MANY }, (_, n) => 2 * MANY - n),
  );
  for (const actor of ["ada", "bob"])
    expect(entries.filter((entry) => entry.actor === actor).map(({ atMs }) => atMs)).toEqual(
      Array.from({ length: MANY }, (_, n) => MANY - n - 1),
    );
  expect(noted.named("insert").length).toBeLessThan(MANY / 2);
});

it("that cannot be kept fail alone", async () => {
  const large = { ...ROUND, actor: "eve", atMs: 1, details: { text: "x".repeat(17 * 1_048_576) } };
  const outcomes = await Promise.allSettled([
    registry.audit({ ...ROUND, actor: "ada", atMs: 0 }),
    registry.audit(large),
    registry.audit({ ...ROUND, actor: "bob", atMs: 2 }),
  ]);
  expect(outcomes.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
  const kept = await registry.audits({ limit: 9 });
  expect(kept.map(({ actor }) => actor).toSorted()).toEqual(["ada", "bob"]);
});
