/** Pages of the log as they come from a server: cut where a reply is full, asked for again when a connection breaks. */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Store } from "../../../src/ports/store.js";
import { draft, drafts, seqs } from "../../../src/testing/conformance/samples.js";
import { TestDatabase } from "../../support/mongo/database.js";
import { FailPoint } from "../../support/mongo/fail-point.js";

const TOPIC = "orders";
let database: TestDatabase;
let store: Store;
const failPoint = new FailPoint(() => database.client);

beforeEach(async () => {
  database = await TestDatabase.create();
  store = await database.open();
  await store.registry.defineTopic({ name: TOPIC, partitions: 1 });
});
afterEach(async () => {
  await failPoint.release();
  await database.dispose();
});

describe("a page of the log", () => {
  it("is whole although its events fill more than one reply of the server", async () => {
    const large = Array.from({ length: 22 }, () => draft({ payload: "x".repeat(1_000_000) }));
    for (const one of large) await store.log.append(TOPIC, 0, [one]);
    const { events, through } = await store.log.read(TOPIC, 0, { after: 0, limit: 100 });
    expect(seqs(events)).toEqual(large.map((_, i) => i + 1));
    expect(through).toBe(22);
  });

  it("stops at the bytes that were asked for, and goes on from there", async () => {
    const large = Array.from({ length: 8 }, () => draft({ payload: "x".repeat(1_000_000) }));
    for (const one of large) await store.log.append(TOPIC, 0, [one]);
    const first = await store.log.read(TOPIC, 0, { after: 0, limit: 100, maxBytes: 2_500_000 });
    expect(seqs(first.events)).toEqual([1, 2, 3]);
    const rest = await store.log.read(TOPIC, 0, { after: first.through, limit: 100 });
    expect(seqs(rest.events)).toEqual([4, 5, 6, 7, 8]);
  });

  it("comes although the connection breaks on the way", async () => {
    await store.log.append(TOPIC, 0, drafts(3));
    await failPoint.set(1, {
      failCommands: ["find"],
      closeConnection: true,
      namespace: `${database.name}.events`,
    });
    const { events } = await store.log.read(TOPIC, 0, { after: 0, limit: 10 });
    expect(seqs(events)).toEqual([1, 2, 3]);
  });

  it("has events with headers, tags and causes beside plain ones", async () => {
    const meta = { headers: { "a.b": "$c" }, tags: ["t"], caused_by: ["x"], sid: "s" };
    const some = [draft({ key: "k" }), draft({ meta }), draft({ id: "half \ud800", key: "\udc00" })];
    const appended = await store.log.append(TOPIC, 0, some);
    const { events } = await store.log.read(TOPIC, 0, { after: 0, limit: 10 });
    expect(events.map((event) => event.record)).toEqual(appended.events.map((event) => event.record));
  });
});
