/** A store's life: what it says it can do, what is there after a restart (P1), and that closed means closed. */
import { describe, expect, it } from "vitest";
import { BusError } from "../../model/errors.js";
import { nextTurn } from "../../model/next-turn.js";
import type { Store } from "../../ports/store.js";
import { upsert } from "./document-writes.js";
import { describeDurability } from "./durability.js";
import type { StoreFixture } from "./fixture.js";
import { freshStore, type Harness } from "./harness.js";
import {
  cursorAt,
  defineTopic,
  draft,
  drafts,
  entry,
  failsWith,
  now,
  readAll,
  seqs,
  session,
  T0,
} from "./samples.js";

export function describeLifecycle(fixture: StoreFixture): void {
  describe("lifecycle", () => {
    const harness = freshStore(fixture);
    describe("capabilities", () => describeCapabilities(harness));
    describeDurability(harness);
    describe("closing", () => describeClosing(harness));
  });
}

function describeCapabilities(harness: Harness): void {
  it("says what it is called and what it can do", () => {
    const { name, capabilities } = harness.store;
    expect(name.length).toBeGreaterThan(0);
    for (const claim of ["durable", "sharedByProcesses", "transactions", "changeFeed"] as const) {
      expect(typeof capabilities[claim], claim).toBe("boolean");
    }
    expect(Number.isInteger(capabilities.defaultPartitions)).toBe(true);
    expect(capabilities.defaultPartitions).toBeGreaterThanOrEqual(1);
  });

  it("the fixture brings what the store claims, so that no claim goes untested", async () => {
    const { store, another, reopen } = harness.subject;
    expect(another !== undefined).toBe(store.capabilities.sharedByProcesses);
    expect(reopen !== undefined).toBe(store.capabilities.durable);
  });

  it("a new store is empty", async () => {
    const { registry, groups, documents, outbox, log } = harness.store;
    expect(await registry.topics()).toEqual([]);
    expect(await groups.list()).toEqual([]);
    expect(await groups.sessions(now())).toEqual([]);
    expect((await groups.changes(0)).groups).toEqual([]);
    expect(await documents.views()).toEqual([]);
    expect(await outbox.stats()).toEqual({ pending: 0, claimed: 0, sent: 0, dead: 0, oldestMs: null });
    expect(await log.find("x")).toBeNull();
  });

  it("a second handle comes and goes without touching the first", async () => {
    const topic = await defineTopic(harness.store);
    const other = await harness.second();
    await other.log.append(topic, 0, drafts(1));
    if (harness.store.capabilities.sharedByProcesses) {
      await other.close();
      await failsWith("CLOSED", other.log.read(topic, 0, { after: 0, limit: 1 }));
    }
    await harness.store.log.append(topic, 0, drafts(1));
    expect(seqs(await readAll(harness.store, topic))).toEqual([1, 2]);
  });
}

/** One call of each verb of each part. */
function everyCall(store: Store): Record<string, () => Promise<unknown>> {
  const { log, groups, documents, outbox, registry } = store;
  const ref = { topic: "t", group: "g", partition: 0 };
  const time = { ...now(), ttlMs: 1_000 };
  return {
    append: () => log.append("t", 0, [draft()]),
    read: () => log.read("t", 0, { after: 0, limit: 1 }),
    heads: () => log.heads("t"),
    headsOf: () => log.headsOf(["t"]),
    seqAt: () => log.seqAt("t", 0, 0),
    find: () => log.find("x"),
    latestByKey: () => log.latestByKey("t", ["k"]),
    history: () => log.history("t", "k", { limit: 1 }),
    trim: () => log.trim("t", 0, 1),
    remove: () => log.remove("t", 0, [1]),
    open: () => groups.open(session(), time),
    beat: () => groups.beat("m", time),
    close: () => groups.close("m", time),
    sessions: () => groups.sessions(time),
    join: () => groups.join(ref, "m"),
    leave: () => groups.leave(ref, "m"),
    start: () => groups.start(ref, [0]),
    claim: () => groups.claim(ref, "m", time),
    commit: () => groups.commit(ref, 1, cursorAt(0)),
    release: () => groups.release(ref, 1, cursorAt(0)),
    move: () => groups.move(ref, cursorAt(0)),
    state: () => groups.state(ref, time),
    list: () => groups.list(),
    changes: () => groups.changes(0),
    removeGroup: () => groups.remove(ref),
    define: () => documents.define("v", []),
    write: () => documents.write("v", [upsert("a", {})]),
    transact: () => documents.transact({ writes: [{ view: "v", writes: [upsert("a", {})] }] }),
    get: () => documents.get("v", ["a"]),
    findDocuments: () => documents.find("v", { limit: 1 }),
    views: () => documents.views(),
    drop: () => documents.drop("v"),
    purge: () => documents.purge("v", 0),
    add: () => outbox.add(entry()),
    claimBatch: () => outbox.claimBatch(1, { owner: "d", leaseMs: 1, nowMs: T0 }),
    markSent: () => outbox.markSent("x", "t", { nowMs: T0 }),
    markError: () => outbox.markError("x", "t", "e"),
    requeueExpired: () => outbox.requeueExpired(T0),
    requeueDead: () => outbox.requeueDead(),
    discardDead: () => outbox.discardDead(["x"]),
    purgeOutbox: () => outbox.purge(T0),
    stats: () => outbox.stats(),
    listOutbox: () => outbox.list({ status: "pending", limit: 1 }),
    defineTopic: () => registry.defineTopic({ name: "t", partitions: 1 }),
    topic: () => registry.topic("t"),
    topics: () => registry.topics(),
    removeTopic: () => registry.removeTopic("t", [0]),
    putSchema: () =>
      registry.putSchema(
        { topic: "t", version: 1, compat: "none", document: {}, createdMs: T0 },
        { expectedLatest: 0 },
      ),
    schemas: () => registry.schemas(),
    token: () => registry.token("x"),
    putToken: () => registry.putToken("x", 1, { expected: 0 }),
    tokens: () => registry.tokens(""),
    audit: () => registry.audit({ atMs: T0, actor: "a", action: "x", target: "t" }),
    audits: () => registry.audits({ limit: 1 }),
  };
}

function describeClosing(harness: Harness): void {
  it("after close every call fails with CLOSED", async () => {
    const { store } = harness;
    const calls = everyCall(store);
    await store.close();
    const outcomes = await Promise.all(
      Object.entries(calls).map(async ([name, call]) => {
        const outcome = await call().then(
          () => "answered",
          (error: unknown) => (BusError.is(error) ? error.code : String(error)),
        );
        return `${name}: ${outcome}`;
      }),
    );
    expect(outcomes).toEqual(Object.keys(calls).map((name) => `${name}: CLOSED`));
  });

  it("closing twice, and at once, is harmless", async () => {
    await Promise.all([harness.store.close(), harness.store.close()]);
    await harness.store.close();
    await failsWith("CLOSED", harness.store.registry.topics());
  });

  it("opened again after close, it goes on with what it had", async () => {
    const { store } = harness;
    const topic = await defineTopic(store, 2);
    await store.log.append(topic, 1, drafts(2));
    await store.close();
    await store.open();
    expect((await store.log.heads(topic)).map((h) => h.head)).toEqual([0, 2]);
    expect(seqs((await store.log.append(topic, 1, drafts(1))).events)).toEqual([3]);
    await store.close();
    await failsWith("CLOSED", store.log.heads(topic));
  });

  it("after close no listener is called any more", async () => {
    const topic = await defineTopic(harness.store);
    let heard = 0;
    harness.store.watch?.(() => heard++);
    const other = await harness.second();
    await harness.store.close();
    const before = heard;
    if (other !== harness.store) await other.log.append(topic, 0, drafts(1));
    await nextTurn();
    expect(heard).toBe(before);
  });
}
