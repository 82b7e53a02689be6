/** Units: documents of any views and the cursor that accounts for them, all or nothing (P9), under an epoch (P7). */
import { describe, expect, it } from "vitest";
import type { Unit } from "../../ports/documents.js";
import type { Epoch, GroupPartition } from "../../ports/groups.js";
import { increment, readDocument, remove, upsert } from "./document-writes.js";
import { claimed, leaseOf, started } from "./group-leases.js";
import type { Harness } from "./harness.js";
import { cursorAt, failsWith, now, openMember, range, unique } from "./samples.js";

export function describeUnits(harness: Harness): void {
  describe("transact", () => {
    describeCommits(harness);
    describeFencedUnits(harness);
    describeExpectedFloors(harness);
    describeUnitsInOrder(harness);
    describeExpectations(harness);
    describeUnitRaces(harness);
  });
}

/** A case for stores with transactions. One without must refuse every unit and change nothing. */
function itTransacts(harness: Harness, title: string, run: () => Promise<void>): void {
  it(title, () => (harness.store.capabilities.transactions ? run() : refusesUnits(harness)));
}

async function refusesUnits(harness: Harness): Promise<void> {
  const view = unique("view");
  const { ref, epoch } = await owned(harness);
  const unit = { writes: [{ view, writes: [upsert("a", {})] }], cursor: { ref, epoch, cursor: cursorAt(1) } };
  await failsWith("UNSUPPORTED", harness.store.documents.transact(unit));
  expect(await readDocument(harness, view, "a")).toBeUndefined();
  expect((await leaseOf(harness.store, ref))?.cursor).toEqual(cursorAt(0));
}

async function owned(harness: Harness): Promise<{ ref: GroupPartition; epoch: Epoch }> {
  const ref = await started(harness.store);
  const claim = await claimed(harness.store, ref, await openMember(harness.store));
  return { ref, epoch: claim.epoch };
}

function describeCommits(harness: Harness): void {
  itTransacts(harness, "P9: documents of several views and the cursor are one commit", async () => {
    const [v1, v2] = [unique("view"), unique("view")];
    const { ref, epoch } = await owned(harness);
    await harness.store.documents.write(v1, [upsert("stale", { n: 1 }, { version: 1 })]);
    const result = await harness.store.documents.transact({
      writes: [
        { view: v1, writes: [upsert("a", { n: 1 }), upsert("stale", { n: 0 }, { version: 1 })] },
        { view: v2, writes: [increment("b", { n: 2 }), remove("c", { version: 4 })] },
        { view: v1, writes: [increment("a", { n: 5 })] },
      ],
      cursor: { ref, epoch, cursor: cursorAt(12) },
    });
    expect(result).toEqual({ applied: 4, stale: 1 });
    expect((await readDocument(harness, v1, "a"))?.fields).toEqual({ n: 6 });
    expect((await readDocument(harness, v2, "b"))?.fields).toEqual({ n: 2 });
    expect((await leaseOf(await harness.second(), ref))?.cursor).toEqual(cursorAt(12));
  });

  itTransacts(
    harness,
    "P9: without a cursor, documents alone; without documents, the cursor alone",
    async () => {
      const { documents } = harness.store;
      const view = unique("view");
      const { ref, epoch } = await owned(harness);
      const alone = await documents.transact({ writes: [{ view, writes: [upsert("a", { n: 1 })] }] });
      expect(alone).toEqual({ applied: 1, stale: 0 });
      expect(await documents.transact({ writes: [], cursor: { ref, epoch, cursor: cursorAt(3) } })).toEqual({
        applied: 0,
        stale: 0,
      });
      expect((await leaseOf(harness.store, ref))?.cursor).toEqual(cursorAt(3));
    },
  );

  itTransacts(harness, "P9: a unit of hundreds of documents", async () => {
    const view = unique("view");
    const { ref, epoch } = await owned(harness);
    const writes = range(1, 500).map((n) => upsert(`k${n}`, { n }));
    const cursor = { ref, epoch, cursor: cursorAt(500) };
    expect(await harness.store.documents.transact({ writes: [{ view, writes }], cursor })).toEqual({
      applied: 500,
      stale: 0,
    });
    expect((await harness.store.documents.views()).find((v) => v.view === view)?.documents).toBe(500);
  });
}

function describeFencedUnits(harness: Harness): void {
  itTransacts(harness, "P7, P9: under an older epoch nothing of a unit happens: LEASE_LOST", async () => {
    const [view, fresh] = [unique("view"), unique("view")];
    const { ref, epoch } = await owned(harness);
    await harness.store.documents.write(view, [upsert("a", { n: 1 })]);
    await harness.store.groups.move(ref, cursorAt(5));
    const unit: Unit = {
      writes: [
        { view, writes: [upsert("a", { n: 2 }), upsert("b", { n: 2 })] },
        { view: fresh, writes: [upsert("c", { n: 2 })] },
      ],
      cursor: { ref, epoch, cursor: cursorAt(9) },
    };
    await failsWith("LEASE_LOST", harness.store.documents.transact(unit));
    const found = await harness.store.documents.get(view, ["a", "b"]);
    expect([...found.values()].map((d) => d.fields)).toEqual([{ n: 1 }]);
    expect((await harness.store.documents.get(fresh, ["c"])).size).toBe(0);
    expect((await leaseOf(harness.store, ref))?.cursor).toEqual(cursorAt(5));
  });

  itTransacts(harness, "P7, P9: after release nothing of a unit happens: LEASE_LOST", async () => {
    const view = unique("view");
    const { ref, epoch } = await owned(harness);
    await harness.store.groups.release(ref, epoch, cursorAt(1));
    const unit: Unit = {
      writes: [{ view, writes: [upsert("a", { n: 2 })] }],
      cursor: { ref, epoch, cursor: cursorAt(9) },
    };
    await failsWith("LEASE_LOST", harness.store.documents.transact(unit));
    expect(await readDocument(harness, view, "a")).toBeUndefined();
    expect((await leaseOf(harness.store, ref))?.cursor).toEqual(cursorAt(1));
  });
}

function describeExpectedFloors(harness: Harness): void {
  itTransacts(
    harness,
    "P9: a unit that is sent twice takes effect once: WRITE_CONFLICT by `expectedFloor`",
    async () => {
      const { documents, groups } = harness.store;
      const view = unique("view");
      const { ref, epoch } = await owned(harness);
      const unit: Unit = {
        writes: [{ view, writes: [increment("n", { n: 1 })] }],
        cursor: { ref, epoch, cursor: cursorAt(5), expectedFloor: 0 },
      };
      expect(await documents.transact(unit)).toEqual({ applied: 1, stale: 0 });
      await failsWith("WRITE_CONFLICT", documents.transact(unit));
      expect((await readDocument(harness, view, "n"))?.fields).toEqual({ n: 1 });
      expect((await leaseOf(harness.store, ref))?.cursor).toEqual(cursorAt(5));
      await groups.commit(ref, epoch, cursorAt(6));
      await failsWith(
        "WRITE_CONFLICT",
        documents.transact({ writes: [], cursor: { ref, epoch, cursor: cursorAt(7), expectedFloor: 5 } }),
      );
      await groups.move(ref, cursorAt(0));
      await failsWith("LEASE_LOST", documents.transact(unit));
      expect((await readDocument(harness, view, "n"))?.fields).toEqual({ n: 1 });
    },
  );

  itTransacts(harness, "P9: a unit that adds beyond the largest number is refused as a whole", async () => {
    const { documents } = harness.store;
    const view = unique("view");
    const { ref, epoch } = await owned(harness);
    await documents.write(view, [upsert("n", { n: 1e308 })]);
    const unit: Unit = {
      writes: [{ view, writes: [increment("other", { n: 1 }), increment("n", { n: 1e308 })] }],
      cursor: { ref, epoch, cursor: cursorAt(5), expectedFloor: 0 },
    };
    await failsWith("INVALID_PAYLOAD", documents.transact(unit));
    expect(await readDocument(harness, view, "other")).toBeUndefined();
    expect((await readDocument(harness, view, "n"))?.fields).toEqual({ n: 1e308 });
    expect((await leaseOf(harness.store, ref))?.cursor).toEqual(cursorAt(0));
  });

  itTransacts(harness, "P9: of copies of a unit that are sent at once, one takes effect", async () => {
    const second = await harness.second();
    const view = unique("view");
    const { ref, epoch } = await owned(harness);
    const unit: Unit = {
      writes: [{ view, writes: [increment("n", { n: 1 })] }],
      cursor: { ref, epoch, cursor: cursorAt(3), expectedFloor: 0 },
    };
    const copies = await Promise.allSettled(
      range(1, 6).map((n) => (n % 2 === 0 ? harness.store : second).documents.transact(unit)),
    );
    expect(copies.filter((copy) => copy.status === "fulfilled")).toHaveLength(1);
    for (const copy of copies) {
      if (copy.status === "rejected") expect(copy.reason).toMatchObject({ code: "WRITE_CONFLICT" });
    }
    expect((await readDocument(harness, view, "n"))?.fields).toEqual({ n: 1 });
  });
}

/** Units that are sent behind others before those are answered; each expects the floor that the one before it leaves. */
function describeUnitsInOrder(harness: Harness): void {
  const following = (
    view: string,
    { ref, epoch }: { ref: GroupPartition; epoch: Epoch },
    n: number,
  ): Unit => ({
    writes: [{ view, writes: [increment("n", { n: 1 }), upsert(`u${n}`, { n })] }],
    cursor: { ref, epoch, cursor: cursorAt(n), expectedFloor: n - 1 },
  });

  itTransacts(
    harness,
    "P9: units that are sent at once take effect in order, as far as that is promised",
    async () => {
      const view = unique("view");
      const lease = await owned(harness);
      const units = range(1, 20).map((n) => following(view, lease, n));
      const ends = await Promise.allSettled(units.map((unit) => harness.store.documents.transact(unit)));
      const taken = ends.filter(({ status }) => status === "fulfilled").length;
      if (harness.store.capabilities.transactsInOrder) expect(taken).toBe(20);
      expect(ends.map(({ status }) => status === "fulfilled")).toEqual(range(1, 20).map((n) => n <= taken));
      for (const end of ends)
        if (end.status === "rejected") expect(end.reason).toMatchObject({ code: "WRITE_CONFLICT" });
      expect((await readDocument(harness, view, "n"))?.fields).toEqual({ n: taken });
      expect((await leaseOf(harness.store, lease.ref))?.cursor).toEqual(cursorAt(taken));
    },
  );

  itTransacts(harness, "P9: a unit that is refused takes those along that were sent behind it", async () => {
    const view = unique("view");
    const lease = await owned(harness);
    const refused = following(view, lease, 3);
    const units = [
      following(view, lease, 1),
      following(view, lease, 2),
      { ...refused, writes: [...refused.writes, { view, writes: [upsert("n", {}, { expected: 7 })] }] },
      following(view, lease, 4),
      following(view, lease, 5),
    ];
    const ends = await Promise.allSettled(units.map((unit) => harness.store.documents.transact(unit)));
    const taken = ends.filter(({ status }) => status === "fulfilled").length;
    if (harness.store.capabilities.transactsInOrder) expect(taken).toBe(2);
    expect(ends.slice(2).map(({ status }) => status)).toEqual(["rejected", "rejected", "rejected"]);
    expect((await readDocument(harness, view, "n"))?.fields.n ?? 0).toBe(taken);
    expect((await leaseOf(harness.store, lease.ref))?.cursor).toEqual(cursorAt(taken));
    const next = following(view, lease, taken + 1);
    expect(await harness.store.documents.transact(next)).toEqual({ applied: 2, stale: 0 });
  });
}

function describeExpectations(harness: Harness): void {
  itTransacts(harness, "P9: an `expected` that fails undoes the whole unit: WRITE_CONFLICT", async () => {
    const [v1, v2] = [unique("view"), unique("view")];
    const { ref, epoch } = await owned(harness);
    await harness.store.documents.write(v1, [
      upsert("a", { n: 1 }, { version: 3 }),
      upsert("c", { n: 0 }),
      remove("gone", { version: 8 }),
    ]);
    for (const failing of [
      upsert("a", { n: 9 }, { expected: 2 }),
      upsert("a", { n: 9 }, { expected: null }),
      remove("nobody", { expected: 1 }),
      increment("gone", { n: 1 }, { expected: 8 }),
    ]) {
      const unit: Unit = {
        writes: [
          { view: v2, writes: [upsert("b", { n: 1 })] },
          { view: v1, writes: [upsert("c", { n: 1 }), upsert("c", { n: 2 }), failing] },
        ],
        cursor: { ref, epoch, cursor: cursorAt(9) },
      };
      await failsWith("WRITE_CONFLICT", harness.store.documents.transact(unit));
    }
    expect(await readDocument(harness, v1, "a")).toMatchObject({ version: 3, fields: { n: 1 } });
    expect(await readDocument(harness, v2, "b")).toBeUndefined();
    expect(await readDocument(harness, v1, "c")).toMatchObject({ version: 1, fields: { n: 0 } });
    expect((await leaseOf(harness.store, ref))?.cursor).toEqual(cursorAt(0));
    await harness.store.groups.commit(ref, epoch, cursorAt(1));
  });

  itTransacts(
    harness,
    "P9: an `expected` holds against what stands, the unit's own writes included",
    async () => {
      const view = unique("view");
      await harness.store.documents.write(view, [upsert("a", { n: 1 }), remove("gone", { version: 4 })]);
      const writes = [
        upsert("a", { n: 2 }, { expected: 1, version: 7 }),
        increment("a", { n: 1 }, { expected: 7 }),
        upsert("new", { n: 1 }, { expected: null }),
        remove("new", { expected: 1 }),
        upsert("gone", { n: 1 }, { expected: null }),
      ];
      expect(await harness.store.documents.transact({ writes: [{ view, writes }] })).toEqual({
        applied: 5,
        stale: 0,
      });
      expect(await readDocument(harness, view, "a")).toMatchObject({ version: 8, fields: { n: 3 } });
      expect(await readDocument(harness, view, "new")).toBeUndefined();
      expect(await readDocument(harness, view, "gone")).toMatchObject({ version: 5 });
    },
  );

  itTransacts(
    harness,
    "P9: a unique index that a unit violates undoes the whole unit: WRITE_CONFLICT",
    async () => {
      const view = unique("view");
      const { ref, epoch } = await owned(harness);
      await harness.store.documents.define(view, [{ keys: { email: 1 }, unique: true }]);
      await harness.store.documents.write(view, [upsert("a", { email: "x" })]);
      const writes = [upsert("b", { email: "y" }), upsert("c", { email: "x" })];
      const cursor = { ref, epoch, cursor: cursorAt(9) };
      await failsWith(
        "WRITE_CONFLICT",
        harness.store.documents.transact({ writes: [{ view, writes }], cursor }),
      );
      expect((await harness.store.documents.find(view, { limit: 10 })).documents.map((d) => d.key)).toEqual([
        "a",
      ]);
      expect((await leaseOf(harness.store, ref))?.cursor).toEqual(cursorAt(0));
      await harness.store.documents.write(view, [upsert("b", { email: "y" })]);
    },
  );
}

function describeUnitRaces(harness: Harness): void {
  itTransacts(harness, "P9: of units that expect the same version at once, one commits", async () => {
    const second = await harness.second();
    const view = unique("view");
    await harness.store.documents.write(view, [upsert("a", { n: 0 })]);
    const attempts = await Promise.allSettled(
      range(1, 6).map((n) =>
        (n % 2 === 0 ? harness.store : second).documents.transact({
          writes: [{ view, writes: [upsert("a", { n }, { expected: 1 }), upsert(`k${n}`, { n })] }],
        }),
      ),
    );
    expect(attempts.filter((a) => a.status === "fulfilled")).toHaveLength(1);
    for (const attempt of attempts) {
      if (attempt.status === "rejected") expect(attempt.reason).toMatchObject({ code: "WRITE_CONFLICT" });
    }
    const { documents } = await second.documents.find(view, { limit: 10 });
    const winner = documents.find((d) => d.key === "a")?.fields.n;
    expect(documents.map((d) => d.key)).toEqual(["a", `k${winner}`]);
  });

  itTransacts(
    harness,
    "P7, P9: a unit that races with a takeover is there as a whole or not at all",
    async () => {
      const second = await harness.second();
      for (let round = 0; round < 4; round++) {
        const view = unique("view");
        const ref = await started(harness.store);
        const [a, b] = [await openMember(harness.store), await openMember(second)];
        const { epoch } = await claimed(harness.store, ref, a);
        await harness.store.groups.close(a, now());
        const unit: Unit = {
          writes: [{ view, writes: [increment("n", { n: 1 })] }],
          cursor: { ref, epoch, cursor: cursorAt(1) },
        };
        const transacted = harness.store.documents.transact(unit).then(
          () => true,
          () => false,
        );
        const [claim, committed] = await Promise.all([claimed(second, ref, b), transacted]);
        const n = (await readDocument(harness, view, "n"))?.fields.n ?? 0;
        expect([claim.cursor.floor, n]).toEqual(committed ? [1, 1] : [0, 0]);
        expect((await leaseOf(second, ref))?.cursor).toEqual(claim.cursor);
      }
    },
  );
}
