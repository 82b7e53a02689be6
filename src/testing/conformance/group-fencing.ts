/** Fencing: after a newer epoch was granted, no write under an older one succeeds (P7). */
import { describe, expect, it } from "vitest";
import { BusError } from "../../model/errors.js";
import type { Fence } from "../../ports/groups.js";
import type { Store } from "../../ports/store.js";
import { claimed, leaseOf, started } from "./group-leases.js";
import type { Harness } from "./harness.js";
import {
  cursorAt,
  defineTopic,
  draft,
  drafts,
  eventually,
  failsWith,
  now,
  openMember,
  range,
  readAll,
  SHORT_TTL_MS,
  seqs,
  unique,
} from "./samples.js";

export function describeFences(harness: Harness): void {
  describe("commit, release and move", () => {
    describeFencing(harness);
    describeMoves(harness);
    describeRaces(harness);
  });
  describe("an append with a fence", () => describeFencedAppends(harness));
}

function describeFencing(harness: Harness): void {
  it("P7: a commit under an older epoch changes nothing and answers LEASE_LOST", async () => {
    const second = await harness.second();
    const ref = await started(harness.store);
    const [a, b] = [await openMember(harness.store), await openMember(second)];
    const old = await claimed(harness.store, ref, a);
    await harness.store.groups.commit(ref, old.epoch, cursorAt(5));
    await harness.store.groups.close(a, now());
    const newer = await claimed(second, ref, b);
    await second.groups.commit(ref, newer.epoch, cursorAt(8));
    await failsWith("LEASE_LOST", harness.store.groups.commit(ref, old.epoch, cursorAt(6)));
    await failsWith("LEASE_LOST", harness.store.groups.release(ref, old.epoch, cursorAt(6)));
    expect(await leaseOf(harness.store, ref)).toMatchObject({ epoch: 2, owner: b, cursor: cursorAt(8) });
  });

  it("P9: a cursor that arrives behind a newer one of the same owner changes nothing", async () => {
    const { groups } = harness.store;
    const ref = await started(harness.store);
    const { epoch } = await claimed(harness.store, ref, await openMember(harness.store));
    await groups.commit(ref, epoch, cursorAt(8));
    await groups.commit(ref, epoch, cursorAt(5));
    expect((await leaseOf(harness.store, ref))?.cursor).toEqual(cursorAt(8));
    await groups.release(ref, epoch, cursorAt(6));
    expect(await leaseOf(harness.store, ref)).toMatchObject({ owner: null, cursor: cursorAt(8) });
  });

  it("P7: neither an epoch to come nor one that was never granted may commit or release", async () => {
    const { groups } = harness.store;
    const ref = await started(harness.store, 2);
    const { epoch } = await claimed(harness.store, ref, await openMember(harness.store));
    const never = { ...ref, partition: 1 };
    const unknown = { ...ref, group: unique("group") };
    for (const write of [groups.commit.bind(groups), groups.release.bind(groups)]) {
      await failsWith("LEASE_LOST", write(ref, epoch + 1, cursorAt(1)));
      await failsWith("LEASE_LOST", write(never, 0, cursorAt(1)));
      await failsWith("LEASE_LOST", write(never, 1, cursorAt(1)));
      await failsWith("LEASE_LOST", write(unknown, 1, cursorAt(1)));
    }
    expect((await leaseOf(harness.store, ref))?.cursor).toEqual(cursorAt(0));
    expect(await leaseOf(harness.store, never)).toMatchObject({ epoch: 0, owner: null, cursor: cursorAt(0) });
    expect(await groups.state(unknown, now())).toBeNull();
  });

  it("P7: after release nothing can be committed or released under that epoch", async () => {
    const { groups } = harness.store;
    const ref = await started(harness.store);
    const { epoch } = await claimed(harness.store, ref, await openMember(harness.store));
    await groups.release(ref, epoch, cursorAt(3));
    await failsWith("LEASE_LOST", groups.commit(ref, epoch, cursorAt(4)));
    await failsWith("LEASE_LOST", groups.release(ref, epoch, cursorAt(4)));
    expect((await leaseOf(harness.store, ref))?.cursor).toEqual(cursorAt(3));
  });

  it("P7: time alone never fences: a silent owner may commit as long as nobody took over", async () => {
    const ref = await started(harness.store);
    const owner = await openMember(harness.store, SHORT_TTL_MS);
    const { epoch } = await claimed(harness.store, ref, owner);
    await eventually(async () => expect((await leaseOf(harness.store, ref))?.alive).toBe(false));
    await harness.store.groups.commit(ref, epoch, cursorAt(11));
    expect((await leaseOf(harness.store, ref))?.cursor).toEqual(cursorAt(11));
  });

  it("P7: partitions of a group are fenced one by one", async () => {
    const { groups } = harness.store;
    const ref = await started(harness.store, 3);
    const member = await openMember(harness.store);
    for (let partition = 0; partition < 3; partition++) {
      await claimed(harness.store, { ...ref, partition }, member);
    }
    await groups.move({ ...ref, partition: 1 }, cursorAt(5));
    await groups.commit({ ...ref, partition: 0 }, 1, cursorAt(1));
    await failsWith("LEASE_LOST", groups.commit({ ...ref, partition: 1 }, 1, cursorAt(1)));
    await groups.commit({ ...ref, partition: 2 }, 1, cursorAt(2));
    const state = await groups.state(ref, now());
    expect(state?.leases.map((l) => [l.partition, l.epoch, l.owner, l.cursor.floor])).toEqual([
      [0, 1, member, 1],
      [1, 2, null, 5],
      [2, 1, member, 2],
    ]);
  });
}

function describeMoves(harness: Harness): void {
  it("P7: a move fences the owner, raises the epoch by one, and leaves the partition to nobody", async () => {
    const { groups } = harness.store;
    const ref = await started(harness.store);
    const member = await openMember(harness.store);
    const { epoch } = await claimed(harness.store, ref, member);
    await groups.move(ref, cursorAt(40));
    expect(await leaseOf(harness.store, ref)).toEqual({
      partition: 0,
      epoch: epoch + 1,
      owner: null,
      alive: false,
      cursor: cursorAt(40),
    });
    await failsWith("LEASE_LOST", groups.commit(ref, epoch, cursorAt(1)));
    await failsWith("LEASE_LOST", groups.release(ref, epoch, cursorAt(1)));
    await failsWith("LEASE_LOST", groups.commit(ref, epoch + 1, cursorAt(1)));
    const again = await claimed(harness.store, ref, member);
    expect([again.epoch, again.cursor]).toEqual([epoch + 2, cursorAt(40)]);
  });

  it("a move sets the cursor of a partition that had none", async () => {
    const ref = { topic: await defineTopic(harness.store, 3), group: unique("group"), partition: 2 };
    await harness.store.groups.move(ref, cursorAt(6));
    const state = await harness.store.groups.state(ref, now());
    expect(state?.leases.map((l) => [l.partition, l.owner, l.cursor.floor])).toEqual([[2, null, 6]]);
    expect((await claimed(harness.store, ref, await openMember(harness.store))).cursor).toEqual(cursorAt(6));
  });

  it("P7: removing a group fences its owners, and its epochs grow on when it starts again", async () => {
    const { groups } = harness.store;
    const ref = await started(harness.store, 2);
    const member = await openMember(harness.store);
    const { epoch } = await claimed(harness.store, ref, member);
    await groups.remove(ref);
    expect(await groups.state(ref, now())).toBeNull();
    await failsWith("LEASE_LOST", groups.commit(ref, epoch, cursorAt(1)));
    expect(await groups.claim(ref, member, now())).toBeNull();
    await groups.remove(ref);
    await groups.start(ref, [20, 30]);
    // So that a look tells whoever held it.
    expect((await leaseOf(harness.store, ref))?.epoch).toBeGreaterThan(epoch);
    await failsWith("LEASE_LOST", groups.commit(ref, epoch, cursorAt(1)));
    await failsWith("LEASE_LOST", groups.release(ref, epoch, cursorAt(1)));
    const again = await claimed(harness.store, ref, member);
    expect(again).toMatchObject({ cursor: cursorAt(20), clean: true });
    expect(again.epoch).toBeGreaterThan(epoch);
    await failsWith("LEASE_LOST", groups.commit(ref, epoch, cursorAt(1)));
  });
}

function describeRaces(harness: Harness): void {
  it("P7: commits that race with a takeover: what the new owner was given is what stands", async () => {
    const second = await harness.second();
    for (let round = 0; round < 5; round++) {
      const ref = await started(harness.store);
      const [a, b] = [await openMember(harness.store), await openMember(second)];
      const { epoch } = await claimed(harness.store, ref, a);
      await harness.store.groups.close(a, now());
      const commits = [1, 2, 3, 4, 5, 6].map((floor) =>
        harness.store.groups.commit(ref, epoch, cursorAt(floor)).then(
          () => true,
          () => false,
        ),
      );
      const [claim] = await Promise.all([claimed(second, ref, b), ...commits]);
      expect(claim.epoch).toBe(epoch + 1);
      expect(await leaseOf(harness.store, ref)).toMatchObject({
        epoch: claim.epoch,
        owner: b,
        cursor: claim.cursor,
      });
    }
  });

  it("P7: moves, claims and releases at once: every grant has an epoch of its own", async () => {
    const second = await harness.second();
    const ref = await started(harness.store);
    const granted: number[] = [];
    const contend = async (store: Store): Promise<void> => {
      const member = await openMember(store);
      for (let i = 0; i < 8; i++) {
        const claim = await store.groups.claim(ref, member, now());
        if (claim === null) continue;
        granted.push(claim.epoch);
        await store.groups.release(ref, claim.epoch, cursorAt(i)).catch(() => undefined);
      }
    };
    const move = async (): Promise<void> => {
      for (let i = 0; i < 4; i++) await harness.store.groups.move(ref, cursorAt(i));
    };
    await Promise.all([contend(harness.store), contend(second), contend(second), move()]);
    expect(granted.length).toBeGreaterThan(0);
    expect(new Set(granted).size).toBe(granted.length);
    expect((await leaseOf(second, ref))?.epoch).toBe(granted.length + 4);
  });
}

function describeFencedAppends(harness: Harness): void {
  const owned = async (): Promise<Fence> => {
    const ref = await started(harness.store);
    return { ref, epoch: (await claimed(harness.store, ref, await openMember(harness.store))).epoch };
  };

  it("P7: adds while the lease is held", async () => {
    const topic = await defineTopic(harness.store);
    const { ref, epoch } = await owned();
    const [once, more] = [draft(), draft()];
    const first = await harness.store.log.append(topic, 0, [once], { ref, epoch });
    const again = await harness.store.log.append(topic, 0, [once, more], { ref, epoch });
    expect([seqs(first.events), seqs(again.events), [...again.duplicates]]).toEqual([[1], [1, 2], [0]]);
  });

  it("P7: adds nothing and answers LEASE_LOST once the lease was released, taken, moved or removed", async () => {
    const { groups, log } = harness.store;
    const topic = await defineTopic(harness.store);
    const present = draft();
    await log.append(topic, 0, [present]);
    const losses: ((fence: Fence) => Promise<unknown>)[] = [
      ({ ref, epoch }) => groups.release(ref, epoch, cursorAt(0)),
      ({ ref }) => groups.move(ref, cursorAt(0)),
      ({ ref }) => groups.remove(ref),
      async ({ ref }) => {
        const owner = (await leaseOf(harness.store, ref))?.owner ?? "";
        await groups.close(owner, now());
        await claimed(harness.store, ref, await openMember(harness.store));
      },
    ];
    for (const lose of losses) {
      const fence = await owned();
      await lose(fence);
      await failsWith("LEASE_LOST", log.append(topic, 0, [draft()], fence));
      await failsWith("LEASE_LOST", log.append(topic, 0, [present], fence));
      await failsWith("LEASE_LOST", log.append(topic, 0, [draft()], { ...fence, epoch: fence.epoch + 7 }));
    }
    const unknown = { topic, group: unique("group"), partition: 0 };
    await failsWith("LEASE_LOST", log.append(topic, 0, [draft()], { ref: unknown, epoch: 1 }));
    expect(seqs(await readAll(harness.store, topic))).toEqual([1]);
  });

  it("P7: fenced appends that race with a takeover: each is there if and only if it was answered", async () => {
    const second = await harness.second();
    const topic = await defineTopic(harness.store);
    const answered: string[] = [];
    for (let round = 0; round < 4; round++) {
      const fence = await owned();
      const [owner, taker] = [
        (await leaseOf(harness.store, fence.ref))?.owner ?? "",
        await openMember(second),
      ];
      const append = async (): Promise<void> => {
        for (const one of drafts(6)) {
          const result = await harness.store.log
            .append(topic, 0, [one], fence)
            .catch((error: unknown) => error);
          if (BusError.is(result)) expect(result.code).toBe("LEASE_LOST");
          else answered.push(one.id);
        }
      };
      const takeOver = async (): Promise<void> => {
        await second.groups.close(owner, now());
        await claimed(second, fence.ref, taker);
      };
      await Promise.all([append(), takeOver()]);
      await failsWith("LEASE_LOST", harness.store.log.append(topic, 0, drafts(1), fence));
    }
    const stored = await readAll(second, topic);
    expect(stored.map((e) => e.id)).toEqual(answered);
    expect(seqs(stored)).toEqual(range(1, answered.length));
  });
}
