/** Leases and cursors: one owner at a time, under an epoch that fences those before it (P7). */
import { describe, expect, it } from "vitest";
import type { Claim, GroupPartition, Lease } from "../../ports/groups.js";
import type { Store } from "../../ports/store.js";
import type { Harness } from "./harness.js";
import {
  cursorAt,
  defineTopic,
  eventually,
  failsWith,
  LONG_TTL_MS,
  now,
  openMember,
  SHORT_TTL_MS,
  unique,
} from "./samples.js";

export function describeLeases(harness: Harness): void {
  describe("claim", () => {
    describeClaims(harness);
    describeCleanliness(harness);
  });
}

/** A group on a topic of its own, started at 0 in every partition. */
export async function started(store: Store, partitions = 1): Promise<GroupPartition> {
  const ref = { topic: await defineTopic(store, partitions), group: unique("group"), partition: 0 };
  await store.groups.start(
    ref,
    Array.from({ length: partitions }, () => 0),
  );
  return ref;
}

export async function claimed(store: Store, ref: GroupPartition, member: string): Promise<Claim> {
  const claim = await store.groups.claim(ref, member, now());
  if (claim === null) throw new Error(`${member} was to get ${ref.topic}/${ref.group}/${ref.partition}`);
  return claim;
}

export async function leaseOf(store: Store, ref: GroupPartition): Promise<Lease | undefined> {
  const state = await store.groups.state(ref, now());
  return state?.leases.find((lease) => lease.partition === ref.partition);
}

function describeClaims(harness: Harness): void {
  it("P7: grants a free partition, with its cursor, under epoch 1", async () => {
    const { groups } = harness.store;
    const ref = { topic: await defineTopic(harness.store), group: unique("group"), partition: 0 };
    await groups.start(ref, [7]);
    const member = await openMember(harness.store);
    expect(await groups.claim(ref, member, now())).toStrictEqual({
      epoch: 1,
      cursor: cursorAt(7),
      clean: true,
    });
    expect(await leaseOf(await harness.second(), ref)).toStrictEqual({
      partition: 0,
      epoch: 1,
      owner: member,
      alive: true,
      cursor: cursorAt(7),
    });
  });

  it("grants nothing where there is no cursor", async () => {
    const ref = await started(harness.store, 2);
    const member = await openMember(harness.store);
    expect(await harness.store.groups.claim({ ...ref, partition: 2 }, member, now())).toBeNull();
    expect(await harness.store.groups.claim({ ...ref, group: unique("group") }, member, now())).toBeNull();
  });

  it("P7: while the owner's session lives, nobody else gets it, and nothing changes", async () => {
    const second = await harness.second();
    const ref = await started(harness.store);
    const [owner, other] = [await openMember(harness.store), await openMember(second)];
    await claimed(harness.store, ref, owner);
    expect(await second.groups.claim(ref, other, now())).toBeNull();
    expect(await leaseOf(second, ref)).toMatchObject({ epoch: 1, owner, alive: true });
    expect(await claimed(second, { ...(await started(second)), partition: 0 }, other)).toMatchObject({
      epoch: 1,
    });
  });

  it("P7: of members who claim at once, one gets it", async () => {
    const second = await harness.second();
    const ref = await started(harness.store, 6);
    const claimants = await Promise.all(
      Array.from({ length: 6 }, async (_, i) => {
        const store = i % 2 === 0 ? harness.store : second;
        return { store, member: await openMember(store) };
      }),
    );
    for (let partition = 0; partition < 6; partition++) {
      const claims = await Promise.all(
        claimants.map(({ store, member }) => store.groups.claim({ ...ref, partition }, member, now())),
      );
      expect(claims.filter((claim) => claim !== null)).toEqual([
        { epoch: 1, cursor: cursorAt(0), clean: true },
      ]);
      const winner = claimants[claims.findIndex((claim) => claim !== null)]?.member;
      expect(await leaseOf(second, { ...ref, partition })).toMatchObject({ epoch: 1, owner: winner });
    }
  });

  it("P15: an owner that never heard of its grant may claim again; that fences its first claim", async () => {
    const { groups } = harness.store;
    const ref = await started(harness.store);
    const member = await openMember(harness.store);
    const first = await claimed(harness.store, ref, member);
    const again = await claimed(harness.store, ref, member);
    expect([again.epoch, again.clean]).toEqual([first.epoch + 1, false]);
    await failsWith("LEASE_LOST", groups.commit(ref, first.epoch, cursorAt(1)));
    await groups.commit(ref, again.epoch, cursorAt(2));
  });
}

function describeCleanliness(harness: Harness): void {
  it("clean: it was never owned, or its owner released it", async () => {
    const { groups } = harness.store;
    const ref = await started(harness.store);
    const [a, b] = [await openMember(harness.store), await openMember(harness.store)];
    const first = await claimed(harness.store, ref, a);
    expect(first.clean).toBe(true);
    await groups.release(ref, first.epoch, cursorAt(3));
    expect(await leaseOf(harness.store, ref)).toMatchObject({ epoch: 1, owner: null, alive: false });
    expect(await claimed(harness.store, ref, b)).toEqual({ epoch: 2, cursor: cursorAt(3), clean: true });
  });

  it("not clean: its owner's session was closed while it held the partition", async () => {
    const { groups } = harness.store;
    const ref = await started(harness.store);
    const [a, b] = [await openMember(harness.store), await openMember(harness.store)];
    await groups.commit(ref, (await claimed(harness.store, ref, a)).epoch, cursorAt(4));
    await groups.close(a, now());
    expect(await leaseOf(harness.store, ref)).toMatchObject({ epoch: 1, alive: false });
    expect(await claimed(harness.store, ref, b)).toEqual({ epoch: 2, cursor: cursorAt(4), clean: false });
  });

  it("not clean: its owner's session ran out; until then nobody gets it", async () => {
    const ref = await started(harness.store);
    const a = await openMember(harness.store, SHORT_TTL_MS);
    const b = await openMember(harness.store);
    await claimed(harness.store, ref, a);
    const claim = await eventually(() => claimed(harness.store, ref, b));
    expect(claim).toEqual({ epoch: 2, cursor: cursorAt(0), clean: false });
    expect(await leaseOf(harness.store, ref)).toMatchObject({ epoch: 2, owner: b, alive: true });
  });

  it("a lease whose owner ran out shows as not alive, and as alive again after a beat", async () => {
    const ref = await started(harness.store);
    const owner = await openMember(harness.store, SHORT_TTL_MS);
    await claimed(harness.store, ref, owner);
    await eventually(async () =>
      expect(await leaseOf(harness.store, ref)).toMatchObject({ epoch: 1, owner, alive: false }),
    );
    await harness.store.groups.beat(owner, { ...now(), ttlMs: LONG_TTL_MS });
    expect(await leaseOf(harness.store, ref)).toMatchObject({ epoch: 1, owner, alive: true });
    expect(await harness.store.groups.claim(ref, await openMember(harness.store), now())).toBeNull();
  });

  it("not clean: the cursor was moved while it was owned; clean: while it was free", async () => {
    const { groups } = harness.store;
    const ref = await started(harness.store);
    const [a, b] = [await openMember(harness.store), await openMember(harness.store)];
    await groups.move(ref, cursorAt(9));
    const first = await claimed(harness.store, ref, a);
    expect([first.clean, first.cursor]).toEqual([true, cursorAt(9)]);
    await groups.move(ref, cursorAt(2));
    const second = await claimed(harness.store, ref, b);
    expect([second.clean, second.cursor]).toEqual([false, cursorAt(2)]);
  });
}
