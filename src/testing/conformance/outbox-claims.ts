/** Claims on outbox entries: in order of addition, by key one after another, each settled by its own token (P6, P10). */
import { describe, expect, it } from "vitest";
import { nextTurn } from "../../model/next-turn.js";
import type { ClaimOptions, OutboxClaim } from "../../ports/outbox.js";
import type { Store } from "../../ports/store.js";
import type { Harness } from "./harness.js";
import { entry, eventually, now, range, T0 } from "./samples.js";

export const HOUR_MS = 3_600_000;

export function describeClaims(harness: Harness): void {
  describe("claimBatch", () => {
    describeClaiming(harness);
    describeKeyOrder(harness);
  });
  describe("settling", () => {
    describeSettling(harness);
    describeFailing(harness);
    describeReasons(harness);
    describeGivingBack(harness);
    describeExpiry(harness);
  });
}

/** By the time of day: a driver may go by a clock of its own, which no case can move. */
export function claim(
  store: Store,
  count = 100,
  o: Partial<ClaimOptions> = {},
): Promise<readonly OutboxClaim[]> {
  return store.outbox.claimBatch(count, { owner: "drainer", leaseMs: HOUR_MS, ...now(), ...o });
}

export async function claimIds(store: Store, count = 100, o: Partial<ClaimOptions> = {}): Promise<string[]> {
  return (await claim(store, count, o)).map((c) => c.id);
}

/** Adds entries with these keys, one id each: "a1", "a2", "b1" …; a blank is an entry without a key. */
export async function addKeys(store: Store, letters: string): Promise<string[]> {
  const counts = new Map<string, number>();
  const ids: string[] = [];
  for (const [i, key] of [...letters].entries()) {
    const n = (counts.get(key) ?? 0) + 1;
    counts.set(key, n);
    const id = `${key === " " ? "none" : key}${n}`;
    await store.outbox.add(entry(key === " " ? { id } : { id, key }), { nowMs: T0 - 1_000 + i });
    ids.push(id);
  }
  return ids;
}

export async function claimOne(store: Store): Promise<OutboxClaim> {
  const [first] = await claim(store, 1);
  if (first === undefined) throw new Error("an entry was to be claimed");
  return first;
}

function describeClaiming(harness: Harness): void {
  it("P10: hands out pending entries in order of addition, up to the count", async () => {
    const ids = await addKeys(harness.store, "abcde fg");
    expect(await claimIds(harness.store, 3)).toEqual(ids.slice(0, 3));
    expect(await claimIds(harness.store, 3)).toEqual(ids.slice(3, 6));
    expect(await claimIds(harness.store, 100)).toEqual(ids.slice(6));
    expect(await claimIds(harness.store)).toEqual([]);
  });

  it("P10: order of addition, also within one millisecond and against the clock", async () => {
    const { outbox } = harness.store;
    const ids = range(1, 12).map((n) => `id-${(n * 7) % 12}`);
    for (const [i, id] of ids.entries()) await outbox.add(entry({ id }), { nowMs: i < 6 ? T0 : T0 - i });
    expect(await claimIds(harness.store)).toEqual(ids);
  });

  it("P10: what is claimed is handed out to nobody else", async () => {
    const second = await harness.second();
    const ids = await addKeys(harness.store, " ".repeat(30));
    const batches = await Promise.all(
      range(1, 6).map((n) => claimIds(n % 2 === 0 ? harness.store : second, 6, { owner: `drainer-${n}` })),
    );
    let claimed = batches.flat();
    expect(new Set(claimed).size).toBe(claimed.length);
    claimed = [...claimed, ...(await claimIds(harness.store))];
    expect([...claimed].sort()).toEqual([...ids].sort());
  });
}

function describeKeyOrder(harness: Harness): void {
  it("P10: entries of one key are claimed together, in order", async () => {
    await addKeys(harness.store, "aab a");
    expect(await claimIds(harness.store)).toEqual(["a1", "a2", "b1", "none1", "a3"]);
  });

  it("P10: while an entry is unsent, no later one of its key is handed out, to anybody", async () => {
    const second = await harness.second();
    await addKeys(harness.store, "abab ");
    const [a1] = await claim(harness.store, 1);
    expect(await claimIds(second, 100, { owner: "other" })).toEqual(["b1", "b2", "none1"]);
    expect(await claimIds(harness.store)).toEqual([]);
    await harness.store.outbox.markSent("a1", a1?.token ?? "", { nowMs: T0 });
    expect(await claimIds(second, 100, { owner: "other" })).toEqual(["a2"]);
  });

  it("P10: the key alone counts, whatever the topic", async () => {
    await harness.store.outbox.add(entry({ id: "1", topic: "t1", key: "k" }), { nowMs: T0 });
    await harness.store.outbox.add(entry({ id: "2", topic: "t2", key: "k" }), { nowMs: T0 });
    expect(await claimIds(harness.store, 1)).toEqual(["1"]);
    expect(await claimIds(harness.store)).toEqual([]);
  });

  it("P10: entries without a key never wait for each other", async () => {
    await addKeys(harness.store, "   ");
    await claim(harness.store, 1);
    expect(await claimIds(harness.store)).toEqual(["none2", "none3"]);
  });

  it("P10: an entry that waits for its retry blocks its key, and only that", async () => {
    const { outbox } = harness.store;
    await addKeys(harness.store, "abab");
    const a1 = await claimOne(harness.store);
    await outbox.markError(a1.id, a1.token, { error: "down", retryAfterMs: HOUR_MS, ...now() });
    expect(await claimIds(harness.store)).toEqual(["b1", "b2"]);
    expect(await claimIds(harness.store)).toEqual([]);
  });

  it("P10: once its wait is over, it is handed out, and those behind it", async () => {
    await addKeys(harness.store, "aa");
    const a1 = await claimOne(harness.store);
    await harness.store.outbox.markError(a1.id, a1.token, { error: "down", retryAfterMs: 30, ...now() });
    await eventually(async () => expect(await claimIds(harness.store)).toEqual(["a1", "a2"]));
  });

  it("P10: a dead entry blocks its key until it is requeued or discarded", async () => {
    const { outbox } = harness.store;
    await addKeys(harness.store, "aabb");
    for (const one of await claim(harness.store)) {
      if (one.id === "a1" || one.id === "b1") {
        await outbox.markError(one.id, one.token, { error: "bad", dead: true });
      } else {
        await outbox.markError(one.id, one.token, "after");
      }
    }
    expect(await claimIds(harness.store)).toEqual([]);
    expect(await outbox.requeueDead(["a1"])).toBe(1);
    expect(await claimIds(harness.store)).toEqual(["a1", "a2"]);
    expect(await outbox.discardDead(["b1"])).toBe(1);
    expect(await claimIds(harness.store)).toEqual(["b2"]);
  });

  it("P10: two drainers that send what they get keep the order of every key", async () => {
    const second = await harness.second();
    const ids = await addKeys(harness.store, "abcabcabcabcabc");
    const sent: string[] = [];
    const drain = async (store: Store, owner: string): Promise<void> => {
      for (let round = 0; sent.length < ids.length && round < 5_000; round++) {
        for (const one of await claim(store, 4, { owner })) {
          sent.push(one.id);
          expect(await store.outbox.markSent(one.id, one.token, { nowMs: T0 })).toBe(true);
        }
        await nextTurn();
      }
    };
    await Promise.all([drain(harness.store, "d1"), drain(second, "d2")]);
    expect([...sent].sort()).toEqual([...ids].sort());
    for (const key of "abc") {
      expect(sent.filter((id) => id.startsWith(key))).toEqual(range(1, 5).map((n) => `${key}${n}`));
    }
  });
}

function describeSettling(harness: Harness): void {
  it("P10: what was sent is never handed out again", async () => {
    await addKeys(harness.store, "a");
    const one = await claimOne(harness.store);
    expect(await harness.store.outbox.markSent(one.id, one.token, { nowMs: T0 })).toBe(true);
    expect(await harness.store.outbox.requeueExpired(Date.now() + 2 * HOUR_MS)).toBe(0);
    expect(await claimIds(harness.store, 100, { nowMs: Date.now() + 2 * HOUR_MS })).toEqual([]);
  });

  it("P6: a claim settles once, and only with its own token", async () => {
    const { outbox } = harness.store;
    await addKeys(harness.store, "ab");
    const [a, b] = await claim(harness.store);
    const failure = { error: "late" };
    expect(await outbox.markSent("a1", b?.token ?? "", { nowMs: T0 })).toBe(false);
    expect(await outbox.markSent("a1", "made up", { nowMs: T0 })).toBe(false);
    expect(await outbox.markError("a1", b?.token ?? "", failure)).toBe(false);
    expect(await outbox.markSent("nobody", a?.token ?? "", { nowMs: T0 })).toBe(false);
    expect(await outbox.markError("nobody", a?.token ?? "", failure)).toBe(false);
    expect((await outbox.stats()).claimed).toBe(2);
    expect(await outbox.markSent("a1", a?.token ?? "", { nowMs: T0 })).toBe(true);
    expect(await outbox.markSent("a1", a?.token ?? "", { nowMs: T0 })).toBe(false);
    expect(await outbox.markError("a1", a?.token ?? "", failure)).toBe(false);
    expect(await outbox.stats()).toMatchObject({ claimed: 1, sent: 1, pending: 0 });
  });
}

function describeFailing(harness: Harness): void {
  it("a failure is counted, kept and tried again when it is time", async () => {
    const { outbox } = harness.store;
    await addKeys(harness.store, "a");
    for (const failures of [0, 1, 2]) {
      const one = await eventually(() => claimOne(harness.store));
      const last = failures === 0 ? undefined : `$żółć ${failures - 1}`;
      expect([one.failures, one.error]).toEqual([failures, last]);
      const failure = { error: `$żółć ${failures}`, retryAfterMs: failures < 2 ? 20 : HOUR_MS, ...now() };
      expect(await outbox.markError(one.id, one.token, failure)).toBe(true);
      expect(await outbox.markSent(one.id, one.token, { nowMs: T0 })).toBe(false);
    }
    expect(await claimIds(harness.store)).toEqual([]);
    const [row] = await outbox.list({ status: "pending", limit: 10 });
    expect(row).toMatchObject({ id: "a1", failures: 3, error: "$żółć 2", status: "pending" });
  });
}

function describeReasons(harness: Harness): void {
  it("P13: of a reason, one line of 500 characters is kept", async () => {
    const { outbox } = harness.store;
    await addKeys(harness.store, "a");
    const one = await claimOne(harness.store);
    const error = `first\n${"x".repeat(2_000_000)}`;
    expect(await outbox.markError(one.id, one.token, { error, dead: true })).toBe(true);
    const [row] = await outbox.list({ status: "dead" });
    expect(row?.error).toMatch(/^first x+…$/);
    expect(row?.error).toHaveLength(500);
  });
}

function describeGivingBack(harness: Harness): void {
  it("P10: an entry that was not tried is given back at once: nothing is counted, and it keeps its place", async () => {
    const { outbox } = harness.store;
    await addKeys(harness.store, "aab");
    const [a1, a2] = await claim(harness.store);
    await outbox.markError(a1?.id ?? "", a1?.token ?? "", {
      error: "down",
      retryAfterMs: 30,
      ...now(),
    });
    const untried = { error: "not tried", counts: false };
    expect(await outbox.markError(a2?.id ?? "", a2?.token ?? "", untried)).toBe(true);
    expect(await outbox.markError(a2?.id ?? "", a2?.token ?? "", untried)).toBe(false);
    await eventually(async () => {
      const later = await claim(harness.store);
      expect(later.map((one) => [one.id, one.failures])).toEqual([
        ["a1", 1],
        ["a2", 0],
      ]);
    });
    const rows = await outbox.list({ status: "claimed", limit: 10 });
    expect(rows.map(({ id, error }) => [id, error])).toEqual([
      ["a1", "down"],
      ["a2", undefined],
      ["b1", undefined],
    ]);
  });
}

function describeExpiry(harness: Harness): void {
  it("P10: a claim that ran out goes back, and its holder can settle nothing any more", async () => {
    const { outbox } = harness.store;
    await addKeys(harness.store, "aa");
    const old = await claim(harness.store, 100, { leaseMs: 20 });
    await takenBack(harness.store, 2);
    const later = await claim(await harness.second(), 100, { owner: "other" });
    expect(later.map((c) => [c.id, c.failures])).toEqual([
      ["a1", 0],
      ["a2", 0],
    ]);
    for (const one of old) {
      expect(await outbox.markSent(one.id, one.token, { nowMs: T0 })).toBe(false);
      expect(await outbox.markError(one.id, one.token, "late")).toBe(false);
    }
    for (const one of later) expect(await outbox.markSent(one.id, one.token, { nowMs: T0 })).toBe(true);
  });

  it("P10: back in the queue an entry keeps its place", async () => {
    await addKeys(harness.store, " a ");
    await claim(harness.store, 2, { leaseMs: 20 });
    await takenBack(harness.store, 2);
    expect(await claimIds(harness.store)).toEqual(["none1", "a1", "none2"]);
  });

  it("P10, P15: nothing waits for an hour because a clock was set back by one", async () => {
    const { outbox } = harness.store;
    const before = { nowMs: Date.now() + HOUR_MS };
    await addKeys(harness.store, "ab");
    const [a] = await claim(harness.store, 1, before);
    await outbox.markError("a1", a?.token ?? "", { error: "down", retryAfterMs: 20, ...before });
    await claim(harness.store, 1, { ...before, leaseMs: 20 });
    await takenBack(harness.store, 1);
    const got: string[] = [];
    await eventually(async () => {
      got.push(...(await claimIds(harness.store)));
      expect(got.sort()).toEqual(["a1", "b1"]);
    });
  });

  it("P10: a claim whose time is not over is taken from nobody", async () => {
    const { outbox } = harness.store;
    await addKeys(harness.store, "ab");
    const [a, b] = [
      await claimOne(harness.store),
      (await claim(harness.store, 1, { leaseMs: Number.POSITIVE_INFINITY }))[0],
    ];
    expect(await outbox.requeueExpired(Date.now())).toBe(0);
    expect(await outbox.markSent("a1", a.token, { nowMs: T0 })).toBe(true);
    const never = { error: "down", retryAfterMs: Number.POSITIVE_INFINITY, ...now() };
    expect(await outbox.markError("b1", b?.token ?? "", never)).toBe(true);
    expect(await claimIds(harness.store)).toEqual([]);
  });
}

async function takenBack(store: Store, count: number): Promise<void> {
  let taken = 0;
  await eventually(async () => {
    taken += await store.outbox.requeueExpired(Date.now());
    expect(taken).toBe(count);
  });
}
