/** Sessions and members: who is alive. Time comes from the caller or the store's own clock: cases allow for both. */
import { describe, expect, it } from "vitest";
import type { GroupRef } from "../../ports/groups.js";
import type { Store } from "../../ports/store.js";
import type { Harness } from "./harness.js";
import {
  defineTopic,
  eventually,
  LONG_TTL_MS,
  now,
  openMember,
  SHORT_TTL_MS,
  session,
  unique,
} from "./samples.js";

export function describeSessions(harness: Harness): void {
  describe("sessions", () => {
    describeLiving(harness);
    describeRunningOut(harness);
  });
  describe("members", () => describeMembers(harness));
}

async function living(store: Store): Promise<string[]> {
  return (await store.groups.sessions(now())).map((s) => s.member);
}

function describeLiving(harness: Harness): void {
  it("a session that was opened lives, as it was given, for every handle", async () => {
    const given = session();
    await harness.store.groups.open(given, { ...now(), ttlMs: LONG_TTL_MS });
    const seen = await (await harness.second()).groups.sessions(now());
    expect(seen).toContainEqual(given);
  });

  it("a beat renews it; closing ends it for good", async () => {
    const { groups } = harness.store;
    const member = await openMember(harness.store);
    expect(await groups.beat(member, { ...now(), ttlMs: LONG_TTL_MS })).toBe(true);
    await groups.close(member, now());
    expect(await living(harness.store)).not.toContain(member);
    expect(await groups.beat(member, { ...now(), ttlMs: LONG_TTL_MS })).toBe(false);
    expect(await living(harness.store)).not.toContain(member);
  });

  it("a beat of a session that never was: false; closing it is harmless, and so is closing twice", async () => {
    const { groups } = harness.store;
    const stranger = unique("stranger");
    expect(await groups.beat(stranger, { ...now(), ttlMs: LONG_TTL_MS })).toBe(false);
    await groups.close(stranger, now());
    const member = await openMember(harness.store);
    await groups.close(member, now());
    await groups.close(member, now());
    expect(await living(harness.store)).not.toContain(stranger);
  });
}

function describeRunningOut(harness: Harness): void {
  it("a session that is not renewed runs out; a beat brings it back", async () => {
    const { groups } = harness.store;
    const member = await openMember(harness.store, SHORT_TTL_MS);
    await eventually(async () => expect(await living(harness.store)).not.toContain(member));
    expect(await groups.beat(member, { ...now(), ttlMs: LONG_TTL_MS })).toBe(true);
    expect(await living(harness.store)).toContain(member);
  });

  it("a session that beats in time lives on beyond its first ttl", async () => {
    const { groups } = harness.store;
    const silent = await openMember(harness.store, SHORT_TTL_MS);
    const beating = await openMember(harness.store, SHORT_TTL_MS);
    await groups.beat(beating, { ...now(), ttlMs: LONG_TTL_MS });
    await eventually(async () => expect(await living(harness.store)).not.toContain(silent));
    expect(await living(harness.store)).toContain(beating);
  });
}

async function startedGroup(store: Store, partitions = 1): Promise<GroupRef> {
  const ref = { topic: await defineTopic(store, partitions), group: unique("group") };
  await store.groups.start(
    ref,
    Array.from({ length: partitions }, () => 0),
  );
  return ref;
}

function describeMembers(harness: Harness): void {
  const members = async (ref: GroupRef): Promise<readonly string[] | undefined> =>
    (await harness.store.groups.state(ref, now()))?.members;

  it("members are those who joined and live, sorted", async () => {
    const second = await harness.second();
    const ref = await startedGroup(harness.store);
    expect(await members(ref)).toEqual([]);
    const joined = ["b", "ab", "a", "B", "10", "9"].map((name) => session(unique(name)));
    for (const [i, one] of joined.entries()) {
      const store = i % 2 === 0 ? harness.store : second;
      await store.groups.open(one, { ...now(), ttlMs: LONG_TTL_MS });
      await store.groups.join(ref, one.member);
      await store.groups.join(ref, one.member);
    }
    expect(await members(ref)).toEqual(joined.map((one) => one.member).sort());
  });

  it("who leaves is no member; leaving without having joined is harmless", async () => {
    const ref = await startedGroup(harness.store);
    const other = await startedGroup(harness.store);
    const [a, b] = [await openMember(harness.store), await openMember(harness.store)];
    for (const member of [a, b]) await harness.store.groups.join(ref, member);
    await harness.store.groups.join(other, a);
    await harness.store.groups.leave(ref, a);
    await harness.store.groups.leave(ref, unique("stranger"));
    await harness.store.groups.leave({ topic: ref.topic, group: unique("group") }, a);
    expect(await members(ref)).toEqual([b]);
    expect(await members(other)).toEqual([a]);
    await harness.store.groups.join(ref, a);
    expect(await members(ref)).toEqual([a, b].sort());
  });

  it("closing a session leaves every group", async () => {
    const refs = [await startedGroup(harness.store), await startedGroup(harness.store)];
    const member = await openMember(harness.store);
    for (const ref of refs) await harness.store.groups.join(ref, member);
    await harness.store.groups.close(member, now());
    for (const ref of refs) expect(await members(ref)).toEqual([]);
  });

  it("a member whose session ran out is not shown, and is again after a beat", async () => {
    const ref = await startedGroup(harness.store);
    const member = await openMember(harness.store, SHORT_TTL_MS);
    await harness.store.groups.join(ref, member);
    await eventually(async () => expect(await members(ref)).toEqual([]));
    await harness.store.groups.beat(member, { ...now(), ttlMs: LONG_TTL_MS });
    expect(await members(ref)).toEqual([member]);
  });

  it("a group without a cursor has no state, whoever joined", async () => {
    const ref = { topic: await defineTopic(harness.store), group: unique("group") };
    await harness.store.groups.join(ref, await openMember(harness.store));
    expect(await harness.store.groups.state(ref, now())).toBeNull();
    expect(await harness.store.groups.list(ref.topic)).toEqual([]);
  });
}
