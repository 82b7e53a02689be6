/** Where groups stand: first positions, what a cursor keeps, who has one, and what changed. */
import { describe, expect, it } from "vitest";
import { nextTurn } from "../../model/next-turn.js";
import type { Cursor, GroupRef } from "../../ports/groups.js";
import type { Store } from "../../ports/store.js";
import { claimed, leaseOf, started } from "./group-leases.js";
import type { Harness } from "./harness.js";
import { cursorAt, defineTopic, now, openMember, range, unique } from "./samples.js";

export function describeCursors(harness: Harness): void {
  describe("start", () => describeStart(harness));
  describe("cursors", () => describeContent(harness));
  describe("list and changes", () => {
    describeList(harness);
    describeChanges(harness);
  });
}

function describeStart(harness: Harness): void {
  const floors = async (ref: GroupRef): Promise<number[][] | undefined> =>
    (await harness.store.groups.state(ref, now()))?.leases.map((l) => [l.partition, l.cursor.floor]);

  it("sets the first position of each partition: nothing below it was handed out, nobody owns it", async () => {
    const ref = { topic: await defineTopic(harness.store, 2), group: unique("group") };
    await harness.store.groups.start(ref, [5, 0]);
    expect(await harness.store.groups.state(ref, now())).toStrictEqual({
      ...ref,
      members: [],
      leases: [5, 0].map((floor, partition) => ({
        partition,
        epoch: 0,
        owner: null,
        alive: false,
        cursor: cursorAt(floor),
      })),
    });
  });

  it("leaves partitions that have a cursor as they are", async () => {
    const { groups } = harness.store;
    const ref = { topic: await defineTopic(harness.store, 4), group: unique("group") };
    await groups.start(ref, [1, 2]);
    const { epoch } = await claimed(harness.store, { ...ref, partition: 0 }, await openMember(harness.store));
    await groups.commit({ ...ref, partition: 0 }, epoch, cursorAt(9));
    await groups.start(ref, [7, 7, 7, 7]);
    expect(await floors(ref)).toEqual([
      [0, 9],
      [1, 2],
      [2, 7],
      [3, 7],
    ]);
    await groups.commit({ ...ref, partition: 0 }, epoch, cursorAt(10));
    await groups.start(ref, []);
    expect(await floors(ref)).toHaveLength(4);
  });

  it("of two who start a group at once, each partition has the position of one", async () => {
    const second = await harness.second();
    const ref = { topic: await defineTopic(harness.store, 4), group: unique("group") };
    await Promise.all([
      harness.store.groups.start(ref, [1, 1, 1, 1]),
      second.groups.start(ref, [2, 2, 2, 2]),
    ]);
    const first = await floors(ref);
    expect(first?.map(([partition]) => partition)).toEqual([0, 1, 2, 3]);
    for (const [, floor] of first ?? []) expect([1, 2]).toContain(floor);
    await second.groups.start(ref, [3, 3, 3, 3]);
    expect(await floors(ref)).toEqual(first);
  });
}

function describeContent(harness: Harness): void {
  const full: Cursor = {
    floor: 120,
    settled: [
      [122, 122],
      [125, 140],
    ],
    attempts: [
      { seq: 121, delivered: 3, failures: 2, error: 'żółć: "$set" failed\n🙂', retryAtMs: 1_700_000_123_456 },
      { seq: 123, delivered: 1, failures: 0 },
      { seq: 124, delivered: 2, failures: 1, error: "" },
    ],
    mark: 1_120,
    unclean: 2,
    suspect: 121,
    held: [
      { key: "order 7", after: 90, last: 118, depth: 3, sinceMs: 1_700_000_000_000 },
      { key: 'żółć "$set".\ud800', after: 0, last: 2 ** 40, depth: 1, sinceMs: 0 },
    ],
  };

  it("keeps every field of a cursor, and invents none", async () => {
    const { groups } = harness.store;
    const second = await harness.second();
    const ref = await started(harness.store);
    const member = await openMember(harness.store);
    const { epoch } = await claimed(harness.store, ref, member);
    await groups.commit(ref, epoch, full);
    expect((await leaseOf(second, ref))?.cursor).toStrictEqual(full);
    await groups.commit(ref, epoch, cursorAt(full.floor));
    expect((await leaseOf(second, ref))?.cursor).toStrictEqual(cursorAt(full.floor));
    await groups.release(ref, epoch, full);
    expect((await leaseOf(second, ref))?.cursor).toStrictEqual(full);
    expect((await claimed(second, ref, member)).cursor).toStrictEqual(full);
    await groups.move(ref, { ...full, floor: 2 ** 40, mark: 2 ** 40 });
    expect((await leaseOf(second, ref))?.cursor).toStrictEqual({ ...full, floor: 2 ** 40, mark: 2 ** 40 });
  });

  it("keeps a cursor with thousands of ranges and attempts", async () => {
    const ref = await started(harness.store);
    const { epoch } = await claimed(harness.store, ref, await openMember(harness.store));
    const large = cursorAt(0, {
      settled: range(1, 5_000).map((n) => [3 * n, 3 * n] as const),
      attempts: range(1, 2_000).map((n) => ({
        seq: 3 * n + 1,
        delivered: 1,
        failures: 1,
        error: "e".repeat(80),
      })),
      mark: 20_000,
    });
    await harness.store.groups.commit(ref, epoch, large);
    expect((await leaseOf(await harness.second(), ref))?.cursor).toStrictEqual(large);
  });

  it("what the caller does to its cursor afterwards does not reach the store", async () => {
    const ref = await started(harness.store);
    const { epoch } = await claimed(harness.store, ref, await openMember(harness.store));
    const settled: [number, number][] = [[2, 3]];
    const attempts = [{ seq: 1, delivered: 1, failures: 0 }];
    await harness.store.groups.commit(ref, epoch, cursorAt(0, { settled, attempts, mark: 5 }));
    settled[0] = [2, 4];
    attempts.pop();
    expect((await leaseOf(harness.store, ref))?.cursor).toEqual(
      cursorAt(0, { settled: [[2, 3]], attempts: [{ seq: 1, delivered: 1, failures: 0 }], mark: 5 }),
    );
  });
}

function describeList(harness: Harness): void {
  it("lists every (topic, group) that has a cursor, sorted by topic, then group", async () => {
    const { groups } = harness.store;
    const topics = [await defineTopic(harness.store), await defineTopic(harness.store)].sort();
    const names = ["b", "a", "Z", "a.b", "é", "10", "9"].map((name) => unique(name));
    const refs = topics.flatMap((topic) => names.map((group) => ({ topic, group })));
    for (const ref of refs.toReversed()) await groups.start(ref, [0]);
    const sorted = [...names].sort();
    const whole = await groups.list();
    expect(whole.filter((ref) => topics.includes(ref.topic))).toEqual(
      topics.flatMap((topic) => sorted.map((group) => ({ topic, group }))),
    );
    expect(whole.map((ref) => ref.topic)).toEqual(whole.map((ref) => ref.topic).sort());
    expect(await groups.list(topics[1])).toEqual(sorted.map((group) => ({ topic: topics[1], group })));
    expect(await groups.list("never.defined")).toEqual([]);
    const [first] = refs;
    if (first !== undefined) await groups.remove(first);
    expect(await groups.list(topics[0])).toHaveLength(names.length - 1);
  });

  it("odd group names are names", async () => {
    const topic = await defineTopic(harness.store);
    const names = ["__proto__", "a.b", "$g", "with blank", "ü🙂", "a/b:c"];
    for (const group of names) await harness.store.groups.start({ topic, group }, [3]);
    expect((await harness.store.groups.list(topic)).map((r) => r.group).sort()).toEqual([...names].sort());
    for (const group of names) {
      const state = await harness.store.groups.state({ topic, group }, now());
      expect([state?.group, state?.leases.length]).toEqual([group, 1]);
    }
  });
}

function describeChanges(harness: Harness): void {
  it("changes: shows a group after each kind of change, whichever handle made it", async () => {
    const second = await harness.second();
    const { groups } = harness.store;
    const ref = { topic: await defineTopic(harness.store), group: unique("group"), partition: 0 };
    const group = { topic: ref.topic, group: ref.group };
    const member = await openMember(second);
    let epoch = 0;
    const steps: [string, () => Promise<unknown>][] = [
      ["start", () => second.groups.start(ref, [0])],
      ["join", () => second.groups.join(ref, member)],
      ["claim", async () => (epoch = (await claimed(second, ref, member)).epoch)],
      ["release", () => second.groups.release(ref, epoch, cursorAt(1))],
      ["move", () => second.groups.move(ref, cursorAt(2))],
      ["leave", () => second.groups.leave(ref, member)],
      ["join again", () => groups.join(ref, member)],
      ["close", () => second.groups.close(member, now())],
      ["remove", () => second.groups.remove(ref)],
    ];
    let { version } = await groups.changes(0);
    for (const [name, change] of steps) {
      await change();
      const changes = await groups.changes(version);
      expect(changes.groups, name).toContainEqual(group);
      expect(changes.version, name).toBeGreaterThan(version);
      version = changes.version;
      expect((await groups.changes(version)).groups, `after ${name}`).not.toContainEqual(group);
    }
  });

  it("changes: nothing is new when nothing changed, and from 0 everything is", async () => {
    const { groups } = harness.store;
    const { topic, group } = await started(harness.store);
    const { version } = await groups.changes(0);
    expect(await groups.changes(version)).toEqual({ version, groups: [] });
    expect((await groups.changes(0)).groups).toContainEqual({ topic, group });
  });

  it("changes: misses no group while two handles make changes at once", async () => {
    const second = await harness.second();
    const topic = await defineTopic(harness.store);
    const { version } = await harness.store.groups.changes(0);
    const seen = new Set<string>();
    let done = false;
    const make = async (store: Store, names: readonly string[]): Promise<void> => {
      for (const group of names) await store.groups.start({ topic, group }, [0]);
    };
    const follow = async (): Promise<void> => {
      for (let since = version, last = false; !last; ) {
        last = done;
        const changes = await harness.store.groups.changes(since);
        for (const ref of changes.groups) if (ref.topic === topic) seen.add(ref.group);
        since = changes.version;
        await nextTurn();
      }
    };
    const names = range(1, 40).map((n) => unique(`g${n}`));
    const following = follow();
    const making = Promise.all([
      make(harness.store, names.slice(0, 20)),
      make(second, names.slice(20, 30)),
      make(second, names.slice(30)),
    ]).finally(() => {
      done = true;
    });
    await Promise.all([making, following]);
    expect([...seen].sort()).toEqual([...names].sort());
  });
}
