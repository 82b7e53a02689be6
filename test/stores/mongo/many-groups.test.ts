/** Calls about many groups at once, which the store sends together: each gets the answer that it would get alone. */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { GroupRef } from "../../../src/ports/groups.js";
import type { Store } from "../../../src/ports/store.js";
import { claimed } from "../../../src/testing/conformance/group-leases.js";
import { cursorAt, now, openMember } from "../../../src/testing/conformance/samples.js";
import { TestDatabase } from "../../support/mongo/database.js";

let database: TestDatabase;
let store: Store;
beforeEach(async () => {
  database = await TestDatabase.create();
  store = await database.open();
});
afterEach(() => database.dispose());

/** Names that a query might take for something else, and the same group on several topics. */
const REFS: readonly GroupRef[] = ["a", "a.b", "b"].flatMap((topic) =>
  ["g", "$g", "g/0", "$$NOW"].map((group) => ({ topic, group })),
);

describe("many groups at once", () => {
  it("are started, joined, looked at and claimed, each by itself", async () => {
    const [member, other] = [await openMember(store), await openMember(store)];
    const startedRefs = REFS.slice(1);
    await Promise.all(startedRefs.map((ref, n) => store.groups.start(ref, [n, n + 1])));
    await Promise.all(
      startedRefs.flatMap((ref, n) => [
        store.groups.join(ref, member),
        ...(n % 2 === 0 ? [store.groups.join(ref, other)] : []),
      ]),
    );
    await Promise.all(
      startedRefs.map((ref, n) => claimed(store, { ...ref, partition: n % 2 }, n % 3 ? member : other)),
    );
    const states = await Promise.all(REFS.map((ref) => store.groups.state(ref, now())));
    expect(states[0]).toBeNull();
    for (const [n, ref] of startedRefs.entries()) {
      const owner = n % 3 ? member : other;
      expect(states[n + 1], `${ref.topic}/${ref.group}`).toMatchObject({
        ...ref,
        members: n % 2 === 0 ? [member, other].sort() : [member],
        leases: [0, 1].map((partition) => ({
          partition,
          cursor: { floor: n + partition },
          ...(partition === n % 2
            ? { owner, alive: true, epoch: 1 }
            : { owner: null, alive: false, epoch: 0 }),
        })),
      });
    }
    expect((await store.groups.changes(0)).groups).toHaveLength(startedRefs.length);
  });

  it("P7: of many who claim the same one at once, one is granted it", async () => {
    const ref = { topic: "t", group: "g", partition: 0 };
    const second = await database.open();
    await Promise.all([store, second].map((handle) => handle.groups.start(ref, [0])));
    const members = await Promise.all(Array.from({ length: 6 }, () => openMember(store)));
    const claims = await Promise.all(
      members.map((member, n) => (n % 2 ? store : second).groups.claim(ref, member, now())),
    );
    expect(claims.filter((claim) => claim !== null)).toMatchObject([{ epoch: 1, clean: true }]);
  });

  it("P7: cursors of many partitions are written, each under its own lease", async () => {
    const member = await openMember(store);
    const other = await openMember(store);
    const ref = { topic: "t", group: "g" };
    const partitions = Array.from({ length: 12 }, (_, partition) => partition);
    await store.groups.start(
      ref,
      partitions.map(() => 0),
    );
    const claims = await Promise.all(
      partitions.map((partition) => claimed(store, { ...ref, partition }, member)),
    );
    const commitAll = (floor: number): Promise<PromiseSettledResult<void>[]> =>
      Promise.allSettled(
        partitions.map((partition) =>
          store.groups.commit({ ...ref, partition }, claims[partition]?.epoch ?? 0, cursorAt(floor)),
        ),
      );
    expect((await commitAll(5)).every(({ status }) => status === "fulfilled")).toBe(true);
    // One is given back, and another's by now; one has come further.
    await store.groups.release({ ...ref, partition: 3 }, claims[3]?.epoch ?? 0, cursorAt(5));
    await claimed(store, { ...ref, partition: 3 }, other);
    await store.groups.commit({ ...ref, partition: 8 }, claims[8]?.epoch ?? 0, cursorAt(9));
    const outcomes = await commitAll(7);
    for (const [partition, outcome] of outcomes.entries()) {
      if (partition === 3) expect(outcome).toMatchObject({ reason: { code: "LEASE_LOST" } });
      else expect(outcome.status, String(partition)).toBe("fulfilled");
    }
    const state = await store.groups.state(ref, now());
    expect(state?.leases.map(({ cursor }) => cursor.floor)).toEqual(
      partitions.map((partition) => ({ 3: 5, 8: 9 })[partition] ?? 7),
    );
  });

  it("heads of topics of both layouts, and NOT_FOUND for one that is none, asked at once", async () => {
    for (const n of [0, 1, 2, 3])
      await store.registry.defineTopic({
        name: `t${n}`,
        partitions: n + 1,
        layout: n % 2 ? "batches" : "documents",
      });
    const asked = [0, 1, 2, 3, 4].map((n) => store.log.heads(`t${n}`));
    const [, , , , none, ...rest] = await Promise.allSettled(asked);
    expect(rest).toEqual([]);
    expect(none).toMatchObject({ status: "rejected", reason: { code: "NOT_FOUND" } });
    for (const n of [0, 1, 2, 3]) expect(await asked[n]).toHaveLength(n + 1);
  });
});
