/** The outbox's part of the suite: nothing lost, nothing sent twice by two holders of one claim, order by key (P10). */
import { describe, expect, it } from "vitest";
import type { OutboxEntry } from "../../ports/outbox.js";
import type { StoreFixture } from "./fixture.js";
import { freshStore, type Harness } from "./harness.js";
import { addKeys, claim, claimIds, claimOne, describeClaims, HOUR_MS } from "./outbox-claims.js";
import { entry, eventually, failsWith, now, ODD_PAYLOADS, range, T0 } from "./samples.js";

export function describeOutbox(fixture: StoreFixture): void {
  describe("outbox", () => {
    const harness = freshStore(fixture);
    describe("add", () => {
      describeAdding(harness);
      describeWaking(harness);
    });
    describeClaims(harness);
    describe("housekeeping", () => {
      describeDead(harness);
      describeStats(harness);
    });
  });
}

function describeAdding(harness: Harness): void {
  const full: OutboxEntry = {
    id: "full",
    topic: "orders.placed",
    payload: { "a.b": [1, null] },
    key: "k1",
    headers: { "x-a": "1" },
    ts: T0,
    tags: ["t"],
    caused_by: ["c1", "c2"],
    sid: "s",
  };

  it("P10: an entry comes out as it went in", async () => {
    await harness.store.outbox.add(full);
    await harness.store.outbox.add({ id: "bare", topic: "t", payload: null });
    const [first, second] = await claim(await harness.second(), 10);
    expect(first).toStrictEqual({ ...full, token: first?.token, failures: 0 });
    expect(second).toStrictEqual({
      id: "bare",
      topic: "t",
      payload: null,
      token: second?.token,
      failures: 0,
    });
    expect(typeof first?.token).toBe("string");
    expect(first?.token).not.toBe(second?.token);
  });

  it("refuses what is no entry, and takes nothing of it", async () => {
    const { outbox } = harness.store;
    const bare = { id: "x", topic: "t", payload: 1 };
    for (const wrong of [undefined, {}, { ...bare, id: "" }, { ...bare, id: 7 }, { ...bare, key: 7 }]) {
      await failsWith("INVALID_OPTION", outbox.add(wrong as never));
    }
    await failsWith("INVALID_TOPIC", outbox.add({ id: "x", payload: 1 } as never));
    await failsWith("INVALID_PAYLOAD", outbox.add({ id: "x", topic: "t" } as never));
    expect(await outbox.stats()).toMatchObject({ pending: 0 });
  });

  it("refuses an option that it does not know, and does nothing", async () => {
    const { outbox } = harness.store;
    const misspelt = { nowMS: T0 } as object;
    await failsWith("INVALID_OPTION", outbox.add(entry({ id: "a" }), misspelt));
    await failsWith("INVALID_OPTION", outbox.add({ ...entry({ id: "a" }), kye: "k" } as OutboxEntry));
    expect(await outbox.stats()).toMatchObject({ pending: 0 });
    await outbox.add(entry({ id: "a" }), { nowMs: T0 });
    await failsWith("INVALID_OPTION", outbox.claimBatch(1, misspelt));
    const [a] = await outbox.claimBatch(1);
    await failsWith(
      "INVALID_OPTION",
      outbox.markError("a", a?.token as string, { error: "no", ...misspelt }),
    );
    expect(await outbox.markSent("a", a?.token as string)).toBe(true);
  });

  it("serves those who use its verbs by hand: times, owner and lease need not be said", async () => {
    const { outbox } = harness.store;
    for (const id of ["a", "b"]) await outbox.add(entry({ id }));
    const [a, b] = await outbox.claimBatch(2);
    expect(await outbox.claimBatch(2)).toEqual([]);
    expect(await outbox.markSent("a", a?.token as string)).toBe(true);
    expect(await outbox.markError("b", b?.token as string, "no luck")).toBe(true);
    expect(await outbox.list({ status: "pending" })).toMatchObject([
      { id: "b", failures: 1, error: "no luck" },
    ]);
    const [again] = await outbox.claimBatch(1, { leaseMs: 0 });
    await eventually(async () => expect(await outbox.requeueExpired()).toBe(1));
    expect(await outbox.markSent("b", again?.token as string)).toBe(false);
    for (const count of [0, -1, 1.5, Number.NaN]) await failsWith("INVALID_OPTION", outbox.claimBatch(count));
  });

  it("keeps payloads as they came", async () => {
    for (const [i, [, payload]] of ODD_PAYLOADS.entries()) {
      await harness.store.outbox.add(entry({ id: `p${i}`, payload }), { nowMs: T0 });
    }
    const claims = await claim(harness.store);
    expect(claims.map((c) => JSON.stringify(c.payload))).toEqual(
      ODD_PAYLOADS.map(([, payload]) => JSON.stringify(payload)),
    );
  });

  it("P10: the same entry again is harmless, in whatever state the first one is", async () => {
    const { outbox } = harness.store;
    await outbox.add(full, { nowMs: T0 });
    await outbox.add({ ...full, payload: { "a.b": [1, null] } }, { nowMs: T0 + 1 });
    const one = await claimOne(harness.store);
    await outbox.add(full, { nowMs: T0 });
    expect(await claimIds(harness.store)).toEqual([]);
    await outbox.markSent(one.id, one.token, { nowMs: T0 });
    await outbox.add(full, { nowMs: T0 });
    expect(await outbox.stats()).toEqual({ pending: 0, claimed: 0, sent: 1, dead: 0, oldestMs: null });
  });

  it("P10: the same id with another topic, key or payload: ID_CONFLICT, and the first one stays", async () => {
    const { outbox } = harness.store;
    await outbox.add(full, { nowMs: T0 });
    const { key: _, ...keyless } = full;
    for (const other of [
      { ...full, topic: "other" },
      { ...full, key: "k2" },
      { ...full, payload: 1 },
      keyless,
    ]) {
      await failsWith("ID_CONFLICT", outbox.add(other, { nowMs: T0 }));
    }
    expect(await claimOne(harness.store)).toMatchObject(full);
  });

  it("P10: one entry added through two handles at once is one entry", async () => {
    const second = await harness.second();
    await Promise.all(range(1, 8).map((n) => (n % 2 === 0 ? harness.store : second).outbox.add(full)));
    expect((await harness.store.outbox.stats()).pending).toBe(1);
  });
}

function describeWaking(harness: Harness): void {
  it("wakes whoever waits for an entry, until it stops; where it cannot, polling finds the entry", async () => {
    const { outbox } = harness.store;
    let woken = 0;
    const stop = outbox.watch?.(() => woken++);
    await outbox.add(entry({ id: "a" }), { nowMs: T0 });
    if (stop !== undefined) {
      await eventually(() => expect(woken).toBeGreaterThan(0));
      stop();
      const before = woken;
      let other = 0;
      const stopOther = outbox.watch?.(() => other++);
      await outbox.add(entry({ id: "b" }), { nowMs: T0 });
      await eventually(() => expect(other).toBeGreaterThan(0));
      stopOther?.();
      expect(woken).toBe(before);
    }
    expect(await claimIds(harness.store, 1)).toEqual(["a"]);
  });
}

function describeDead(harness: Harness): void {
  const bury = async (): Promise<void> => {
    await addKeys(harness.store, "abc ");
    for (const one of await claim(harness.store, 3)) {
      await harness.store.outbox.markError(one.id, one.token, { error: "bad", dead: true });
    }
  };

  it("dead entries are not handed out; requeued they begin anew", async () => {
    await bury();
    const { outbox } = harness.store;
    expect(await claimIds(harness.store)).toEqual(["none1"]);
    expect(await outbox.requeueDead(["b1", "none1", "nobody"])).toBe(1);
    const one = await claimOne(harness.store);
    expect([one.id, one.failures]).toEqual(["b1", 0]);
    expect(await outbox.requeueDead()).toBe(2);
    expect(await outbox.requeueDead()).toBe(0);
    expect(await claimIds(harness.store)).toEqual(["a1", "c1"]);
  });

  it("discarded entries are gone for good; others are not touched", async () => {
    await bury();
    const { outbox } = harness.store;
    expect(await outbox.discardDead(["a1", "none1", "nobody"])).toBe(1);
    expect(await outbox.discardDead(["a1"])).toBe(0);
    expect((await outbox.list({ status: "dead", limit: 10 })).map((r) => r.id)).toEqual(["b1", "c1"]);
    expect(await claimIds(harness.store)).toEqual(["none1"]);
  });
}

function describeStats(harness: Harness): void {
  it("stats count entries by status, and tell when the oldest unsent one was added", async () => {
    const { outbox } = harness.store;
    expect(await outbox.stats()).toEqual({ pending: 0, claimed: 0, sent: 0, dead: 0, oldestMs: null });
    await addKeys(harness.store, "abcde");
    const [a, b, c] = await claim(harness.store, 3);
    await outbox.markSent("a1", a?.token ?? "", { nowMs: T0 });
    await outbox.markError("b1", b?.token ?? "", { error: "bad", dead: true });
    expect(await outbox.stats()).toEqual({ pending: 2, claimed: 1, sent: 1, dead: 1, oldestMs: T0 - 999 });
    await outbox.discardDead(["b1"]);
    await outbox.markSent("c1", c?.token ?? "", { nowMs: T0 });
    expect((await outbox.stats()).oldestMs).toBe(T0 - 997);
  });

  it("list shows the entries of a status in order of addition, as they are", async () => {
    const { outbox } = harness.store;
    const ids = await addKeys(harness.store, "abcdef");
    const [a, b] = await claim(harness.store, 2);
    expect((await outbox.list({ status: "pending", limit: 3 })).map((r) => r.id)).toEqual(ids.slice(2, 5));
    expect(await outbox.list({ status: "pending", limit: 0 })).toEqual([]);
    expect((await outbox.list({ status: "claimed", limit: 9 })).map((r) => r.id)).toEqual(["a1", "b1"]);
    await outbox.markSent("a1", a?.token ?? "", { nowMs: T0 });
    await outbox.markError("b1", b?.token ?? "", { error: "bad", dead: true });
    expect(await outbox.list({ status: "sent", limit: 9 })).toStrictEqual([
      {
        ...entry({ id: "a1", key: "a" }),
        status: "sent",
        failures: 0,
        addedMs: T0 - 1_000,
      },
    ]);
    expect(await outbox.list({ status: "dead", limit: 9 })).toStrictEqual([
      {
        ...entry({ id: "b1", key: "b" }),
        status: "dead",
        failures: 1,
        error: "bad",
        addedMs: T0 - 999,
      },
    ]);
  });

  it("purge removes what was sent before a time, and nothing else; the id is free again", async () => {
    const { outbox } = harness.store;
    await addKeys(harness.store, "abc");
    const [a] = await claim(harness.store, 2);
    const { nowMs } = now();
    await outbox.markSent("a1", a?.token ?? "", { nowMs });
    expect(await outbox.purge(nowMs - HOUR_MS, { nowMs })).toBe(0);
    expect(await outbox.stats()).toMatchObject({ pending: 1, claimed: 1, sent: 1 });
    expect(await outbox.purge(nowMs + HOUR_MS, { nowMs })).toBe(1);
    expect(await outbox.stats()).toMatchObject({ pending: 1, claimed: 1, sent: 0 });
    await outbox.add(entry({ id: "a1", payload: "other" }), { nowMs: T0 });
    expect((await outbox.stats()).pending).toBe(2);
  });
}
