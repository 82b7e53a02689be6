/** What is there after a restart (P1). A store that is not durable must say so instead. */
import { describe, expect, it } from "vitest";
import { BusError } from "../../model/errors.js";
import type { Store } from "../../ports/store.js";
import { increment, remove, upsert } from "./document-writes.js";
import { claimed, leaseOf, started } from "./group-leases.js";
import type { Harness } from "./harness.js";
import {
  cursorAt,
  defineTopic,
  draft,
  drafts,
  entry,
  failsWith,
  now,
  ODD_PAYLOADS,
  openMember,
  range,
  readAll,
  recordOf,
  records,
  removeWhole,
  seqs,
  T0,
} from "./samples.js";

export function describeDurability(harness: Harness): void {
  describe("reopening", () => {
    describeDurableLog(harness);
    describeDurableParts(harness);
  });
}

/** Reopens a durable store and checks it; a store that is not durable has said so by bringing no `reopen`. */
async function afterReopening(harness: Harness, check: (store: Store) => Promise<void>): Promise<void> {
  const store = await harness.reopened();
  if (store === null) expect(harness.store.capabilities.durable).toBe(false);
  else await check(store);
}

function describeDurableLog(harness: Harness): void {
  it("P1: events are there after reopening, equal in every part, or the store says it is not durable", async () => {
    const topic = await defineTopic(harness.store, 2, { keyed: true });
    const given = [
      ...ODD_PAYLOADS.map(([key, payload]) => draft({ key, payload })),
      draft({ meta: { headers: { "x-a": "1" }, tags: ["t"], caused_by: ["c"], sid: "s" } }),
    ];
    await harness.store.log.append(topic, 1, given);
    const before = await harness.store.log.heads(topic);
    await afterReopening(harness, async (store) => {
      const stored = await readAll(store, topic, 1);
      expect(records(stored)).toStrictEqual(given.map((d, i) => recordOf(d, topic, 1, i + 1)));
      expect(stored.map((e) => e.body.text)).toEqual(given.map((d) => d.body.text));
      expect(await store.log.heads(topic)).toEqual(before);
      expect((await store.log.latestByKey(topic, ["null"])).get("null")?.seq).toBe(1);
    });
  });

  it("P1, P2, P3: after reopening seqs go on, and ids are still known", async () => {
    const topic = await defineTopic(harness.store);
    const given = drafts(6);
    await harness.store.log.append(topic, 0, given);
    await harness.store.log.trim(topic, 0, 1);
    await harness.store.log.remove(topic, 0, [3, 6]);
    await afterReopening(harness, async (store) => {
      expect(seqs(await readAll(store, topic))).toEqual([2, 4, 5]);
      const again = await store.log.append(topic, 0, [given[3] ?? draft(), draft()]);
      expect([seqs(again.events), [...again.duplicates]]).toEqual([[4, 7], [0]]);
      expect((await store.log.read(topic, 0, { after: 5, limit: 9 })).through).toBe(7);
    });
  });

  it("P1, P2: after reopening a log that was trimmed to nothing, the next event follows the old head", async () => {
    const topic = await defineTopic(harness.store);
    await harness.store.log.append(topic, 0, drafts(4));
    await harness.store.log.trim(topic, 0, 4);
    await afterReopening(harness, async (store) => {
      expect((await store.log.heads(topic))[0]).toMatchObject({ head: 4, low: 5, events: 0 });
      expect(seqs((await store.log.append(topic, 0, drafts(1))).events)).toEqual([5]);
    });
  });

  it("P1: what was answered before close is there, also if close came while more was under way", async () => {
    const topic = await defineTopic(harness.store);
    const { store } = harness;
    const under = range(1, 10).map(() =>
      store.log.append(topic, 0, drafts(5)).then(
        (result) => result.events,
        (error: unknown) => {
          expect(BusError.is(error, "CLOSED")).toBe(true);
          return [];
        },
      ),
    );
    await store.close();
    const answered = (await Promise.all(under)).flat();
    await afterReopening(harness, async (reopened) => {
      const stored = new Map((await readAll(reopened, topic)).map((e) => [e.id, e.record]));
      for (const event of answered) expect(stored.get(event.id)).toEqual(event.record);
    });
  });
}

function describeDurableParts(harness: Harness): void {
  it("P1, P7: cursors are there after reopening, and epochs go on", async () => {
    const ref = await started(harness.store);
    const member = await openMember(harness.store);
    const { epoch } = await claimed(harness.store, ref, member);
    const cursor = cursorAt(3, {
      settled: [[5, 6]],
      attempts: [{ seq: 4, delivered: 1, failures: 0 }],
      mark: 9,
    });
    await harness.store.groups.commit(ref, epoch, cursor);
    await harness.store.groups.close(member, now());
    await afterReopening(harness, async (store) => {
      expect((await leaseOf(store, ref))?.cursor).toStrictEqual(cursor);
      const claim = await claimed(store, ref, await openMember(store));
      expect(claim).toEqual({ epoch: epoch + 1, cursor, clean: false });
      await failsWith("LEASE_LOST", store.groups.commit(ref, epoch, cursorAt(4)));
      const changes = await store.groups.changes(0);
      expect(changes.groups).toContainEqual({ topic: ref.topic, group: ref.group });
    });
  });

  it("P1, P9: documents and tombstones are there after reopening", async () => {
    const { documents } = harness.store;
    await documents.define("v", [{ keys: { host: 1 } }, { keys: { id: 1 }, unique: true }]);
    await documents.write("v", [
      upsert("a", { host: "h", id: 1 }, { version: 7 }),
      increment("b", { n: 2 }),
      remove("gone", { version: 9 }),
    ]);
    const before = await documents.find("v", { limit: 10 });
    await afterReopening(harness, async (store) => {
      expect(await store.documents.find("v", { limit: 10 })).toEqual(before);
      expect((await store.documents.views())[0]).toMatchObject({ view: "v", documents: 2 });
      expect((await store.documents.write("v", [upsert("gone", {}, { version: 9 })])).stale).toBe(1);
      await failsWith("WRITE_CONFLICT", store.documents.write("v", [upsert("c", { id: 1 })]));
    });
  });

  it("P1, P10: the outbox is there after reopening, claims included", async () => {
    const { outbox } = harness.store;
    await outbox.add(entry({ id: "a", key: "k" }), { nowMs: T0 });
    await outbox.add(entry({ id: "b", key: "k" }), { nowMs: T0 });
    const options = { owner: "d", leaseMs: 1_000, nowMs: T0 };
    const [claim] = await outbox.claimBatch(1, options);
    await afterReopening(harness, async (store) => {
      expect(await store.outbox.stats()).toMatchObject({ pending: 1, claimed: 1, oldestMs: T0 });
      expect(await store.outbox.claimBatch(9, options)).toEqual([]);
      expect(await store.outbox.markSent("a", claim?.token ?? "", { nowMs: T0 })).toBe(true);
      const rest = await store.outbox.claimBatch(9, options);
      expect(rest.map((c) => c.id)).toEqual(["b"]);
      expect(rest[0]?.token).not.toBe(claim?.token);
    });
  });

  it("P1: topics, schemas, tokens and audit are there after reopening", async () => {
    const { registry } = harness.store;
    const config = { name: "t", partitions: 3, retentionMs: 5, compaction: true };
    const schema = { topic: "t", version: 1, compat: "full", document: { type: "object" }, createdMs: T0 };
    const audit = { atMs: T0, actor: "a", action: "x", target: "t" };
    await registry.defineTopic(config);
    await registry.putSchema(schema, { expectedLatest: 0 });
    await registry.putToken("resume", { at: [1] }, { expected: 0 });
    await registry.audit(audit);
    await afterReopening(harness, async (store) => {
      expect(await store.registry.topics()).toStrictEqual([config]);
      expect(await store.registry.schemas()).toStrictEqual([schema]);
      expect(await store.registry.token("resume")).toStrictEqual({ value: { at: [1] }, revision: 1 });
      const [first] = await store.registry.audits({ limit: 5 });
      await store.registry.audit({ ...audit, actor: "b" });
      const [newest] = await store.registry.audits({ limit: 5 });
      expect(first).toStrictEqual({ ...audit, number: first?.number });
      expect(newest?.number).toBeGreaterThan(first?.number ?? Number.POSITIVE_INFINITY);
    });
  });

  it("P1, P2: a topic that was removed is gone after reopening, and goes on with its next seq", async () => {
    const config = { name: "t", partitions: 2 };
    await harness.store.registry.defineTopic(config);
    await harness.store.log.append("t", 1, drafts(4));
    await removeWhole(harness.store, "t");
    await afterReopening(harness, async (store) => {
      expect(await store.registry.topics()).toEqual([]);
      expect(seqs((await store.log.append("t", 1, drafts(1))).events)).toEqual([5]);
      expect(await store.registry.topics()).toEqual([config]);
    });
  });
}
