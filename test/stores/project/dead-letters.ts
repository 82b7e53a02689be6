/** Dead letters on every store: looked at, redriven, discarded. */
import { describe, expect, it } from "vitest";
import { Fatal } from "../../../src/model/errors.js";
import { deadLetterTopic } from "../../../src/model/topic.js";
import {
  deadLetters,
  discardDeadLetters,
  type Letter,
  summarizeDeadLetters,
} from "../../../src/project/letters/dead-letters.js";
import { LetterCounts } from "../../../src/project/letters/letter-tally.js";
import { redrive } from "../../../src/project/letters/redrive.js";
import { interceptStore } from "../../../src/testing/store-calls.js";
import type { ProjectBench } from "./bench.js";

interface BrokenMailer {
  readonly topic: string;
  /** Payloads that the group "mailer" fails on; the group "audit" never fails. */
  readonly broken: Set<string>;
  readonly mailed: string[];
  readonly audited: string[];
  stop(): Promise<void>;
}

export function describeDeadLetters(bench: ProjectBench): void {
  const openLetters = async (topic: string): Promise<string[]> => {
    const found: string[] = [];
    for await (const letter of deadLetters(bench.bus, topic)) found.push(String(letter.event.payload));
    return found;
  };

  const brokenMailer = async (): Promise<BrokenMailer> => {
    const topic = await bench.topic({ partitions: 2 });
    const broken = new Set<string>();
    const mailed: string[] = [];
    const audited: string[] = [];
    const mailer = await bench.bus.subscribe(
      topic,
      "mailer",
      (event) => {
        if (broken.has(event.payload as string)) throw new Error(`cannot mail ${event.payload}`);
        mailed.push(event.payload as string);
      },
      { from: "earliest", maxAttempts: 2, retry: { baseMs: 1, maxMs: 1 } },
    );
    const audit = await bench.bus.subscribe(
      topic,
      "audit",
      (event) => void audited.push(event.payload as string),
      {
        from: "earliest",
      },
    );
    const stop = async (): Promise<void> => {
      await mailer();
      await audit();
    };
    return { topic, broken, mailed, audited, stop };
  };

  describe("dead letters", () => {
    it("come newest first if that is asked for, whatever their partition, and none is left out", async () => {
      const topic = await bench.topic({ partitions: 3 });
      const giveUp = (): never => {
        throw new Fatal("no use");
      };
      const stop = await bench.bus.subscribe(topic, "g", giveUp, { from: "earliest" });
      // Of the last partition more than are read at once, twice over.
      const items = Array.from({ length: 70 }, (_, n) => ({
        payload: n,
        partition: n % 10 === 0 ? n % 3 : 2,
      }));
      for (let start = 0; start < items.length; start += 10) {
        await bench.publish(topic, items.slice(start, start + 10));
        await bench.drained(topic, "g");
      }
      await stop();
      const letters: Letter[] = [];
      for await (const letter of deadLetters(bench.bus, topic, { newestFirst: true })) letters.push(letter);
      expect(letters.map(({ ts }) => ts)).toEqual(letters.map(({ ts }) => ts).sort((a, b) => b - a));
      for (const partition of [0, 1, 2]) {
        const seqs = letters.filter((letter) => letter.partition === partition).map(({ seq }) => seq);
        expect(seqs).toEqual(seqs.toSorted((a, b) => b - a));
      }
      const payloads = letters.map(({ event }) => Number(event.payload)).sort((a, b) => a - b);
      expect(payloads).toEqual(items.map(({ payload }) => payload));
    });

    it("are counted as anew by one who counts on, whatever came, went, or became of them", async () => {
      const { bus } = bench;
      const { topic, broken, stop } = await brokenMailer();
      const counts = new LetterCounts(bus);
      const payloads = ["a1", "b1", "c1", "a2"];
      const giveUp = async (payload: string): Promise<void> => {
        broken.add(payload);
        await bus.publish(topic, payload, { key: payload.charAt(0) });
      };
      const agree = async (open: number): Promise<void> => {
        await expect.poll(async () => (await openLetters(topic)).length, { timeout: 30_000 }).toBe(open);
        const fresh = await summarizeDeadLetters(bus, topic);
        expect(fresh.open).toBe(open);
        expect((await counts.of([topic])).get(topic)).toEqual(fresh);
      };
      for (const payload of payloads.slice(0, 3)) await giveUp(payload);
      await agree(3);
      await giveUp("a2");
      await agree(4);
      await discardDeadLetters(bus, topic, { key: "b", reason: "no such host" });
      await agree(3);
      broken.clear();
      await redrive(bus, { topic, key: "c" });
      await agree(2);
      const { value: first } = await deadLetters(bus, topic).next();
      await bus.store.log.trim(deadLetterTopic(topic), first?.partition ?? 0, first?.seq ?? 0);
      await agree((await openLetters(topic)).length);
      expect((await counts.of([])).size).toBe(0);
      await stop();
    });

    it("P8: redrive brings them back in key order, to the group that gave them up and to no other", async () => {
      const { bus } = bench;
      const { topic, broken, mailed, audited, stop } = await brokenMailer();
      for (const payload of ["a1", "a2", "b1"]) broken.add(payload);
      for (const payload of ["a1", "a2", "a3", "b1", "b2"])
        await bus.publish(topic, payload, { key: payload.charAt(0) });
      await expect.poll(async () => (await openLetters(topic)).length, { timeout: 30_000 }).toBe(3);
      expect(await summarizeDeadLetters(bus, topic)).toMatchObject({
        open: 3,
        byGroup: { mailer: 3 },
        byKey: { a: 2, b: 1 },
      });
      broken.clear();
      expect(await redrive(bus, { topic, group: "mailer" })).toMatchObject({ redriven: 3, passedOver: 0 });
      await expect.poll(() => mailed.length, { timeout: 30_000 }).toBe(5);
      expect(mailed.filter((payload) => payload.startsWith("a"))).toEqual(["a3", "a1", "a2"]);
      await bench.drained(topic, "audit");
      expect(audited).toHaveLength(5);
      expect(await openLetters(topic)).toEqual([]);
      expect(await redrive(bus, { topic })).toMatchObject({ redriven: 0 });
      const audits = await bus.store.registry.audits({ limit: 5 });
      expect(audits.map((entry) => entry.action)).toContain("dead-letters.redrive");
      await stop();
    });

    it("letters that go to another topic are for all of its groups, which have not had them", async () => {
      const { bus } = bench;
      const { topic, broken, stop } = await brokenMailer();
      const repairs = await bench.topic();
      broken.add("a1");
      await bus.publish(topic, "a1", { key: "a" });
      await expect.poll(() => openLetters(topic)).toEqual(["a1"]);
      expect(await redrive(bus, { topic, to: repairs })).toMatchObject({ redriven: 1 });
      const repaired: unknown[] = [];
      const repair = await bus.subscribe(repairs, "repair", ({ payload }) => void repaired.push(payload), {
        from: "earliest",
      });
      await bench.drained(repairs, "repair");
      expect(repaired).toEqual(["a1"]);
      await repair();
      await stop();
    });

    it("P4: many come back together, each key in order; one that cannot keeps those behind it, and is named", async () => {
      const { bus } = bench;
      const topic = await bench.topic();
      const payloads = Array.from({ length: 300 }, (_, n) => n);
      const handled: number[] = [];
      let broken = true;
      const handler = (event: { payload: unknown }): void => {
        if (broken) throw new Fatal("no");
        handled.push(event.payload as number);
      };
      const stop = await bus.subscribe(topic, "g", handler, { from: "earliest" });
      await bench.publish(
        topic,
        payloads.map((payload) => ({ payload, key: `k${payload % 7}` })),
      );
      await expect.poll(async () => (await openLetters(topic)).length, { timeout: 30_000 }).toBe(300);
      broken = false;
      const spoil = (event: { payload: unknown }): { payload: unknown } => ({
        payload: event.payload === spoilt ? 1n : event.payload,
      });
      const letters: Letter[] = [];
      for await (const letter of deadLetters(bus, topic)) letters.push(letter);
      const spoilt = letters[200]?.event.payload;
      await expect(redrive(bus, { topic, transform: spoil })).rejects.toMatchObject({
        code: "INVALID_PAYLOAD",
      });
      expect(await summarizeDeadLetters(bus, topic)).toMatchObject({ open: 100, redriven: 200 });
      expect(await redrive(bus, { topic, limit: 30 })).toMatchObject({ redriven: 30 });
      const { host, counts } = bench.counting();
      const progress: number[] = [];
      expect(
        await redrive(host, { topic, onProgress: ({ redriven }) => progress.push(redriven) }),
      ).toMatchObject({ redriven: 70 });
      expect(counts["documents.write"]).toBe(1);
      expect(progress.at(-1)).toBe(70);
      await expect.poll(() => handled.length, { timeout: 30_000 }).toBe(300);
      const original = letters.map(({ event }) => event.payload as number);
      for (let key = 0; key < 7; key++) {
        const ofKey = (n: number): boolean => n % 7 === key;
        expect(handled.filter(ofKey)).toEqual(original.filter(ofKey));
      }
      await stop();
    });

    it("one that is told to stop publishes nothing more, and what is on its way stays open", async () => {
      const { bus } = bench;
      const { topic, broken, stop } = await brokenMailer();
      for (const payload of ["a1", "a2", "a3"]) {
        broken.add(payload);
        await bus.publish(topic, payload, { key: "a" });
      }
      await expect.poll(async () => (await openLetters(topic)).length, { timeout: 30_000 }).toBe(3);
      const over = new AbortController();
      const transform = ({ payload }: { payload: unknown }) => {
        if (payload === "a2") over.abort();
        return { payload };
      };
      expect(await redrive(bus, { topic, transform, signal: over.signal })).toMatchObject({ redriven: 0 });
      expect(await openLetters(topic)).toHaveLength(3);
      await stop();
    });

    it("a dry run publishes nothing and shows what the handler would change", async () => {
      const { bus } = bench;
      const { topic, broken, stop } = await brokenMailer();
      broken.add("x");
      await bus.publish(topic, "x", { key: "k" });
      await expect.poll(() => openLetters(topic), { timeout: 30_000 }).toEqual(["x"]);
      const result = await redrive(bus, {
        topic,
        dryRun: true,
        handler: async (events, tx) => {
          for (const event of events)
            await tx.view(`mails-${topic}`).upsert(event.key as string, { sent: event.payload });
        },
      });
      const differences = [{ view: `mails-${topic}`, key: "k", before: null, after: { sent: "x" } }];
      expect(result.preview).toMatchObject([{ differences }]);
      expect(await bus.view(`mails-${topic}`).get("k")).toBeNull();
      expect(await openLetters(topic)).toEqual(["x"]);
      await stop();
    });

    it("a transform mends the payload, and a letter it answers with null stays", async () => {
      const { bus } = bench;
      const { topic, broken, mailed, stop } = await brokenMailer();
      broken.add("bad").add("hopeless");
      await bus.publish(topic, "bad");
      await bus.publish(topic, "hopeless");
      await expect.poll(async () => (await openLetters(topic)).length, { timeout: 30_000 }).toBe(2);
      const forgetful = () => undefined as never;
      const late = async () => ({ payload: "mended" });
      for (const wrong of [forgetful, late])
        await expect(redrive(bus, { topic, transform: wrong as never })).rejects.toMatchObject({
          code: "INVALID_OPTION",
        });
      const transform = (event: { payload: unknown }) =>
        event.payload === "bad" ? { payload: "mended" } : null;
      expect(await redrive(bus, { topic, transform })).toMatchObject({ redriven: 1, passedOver: 1 });
      await expect.poll(() => mailed, { timeout: 30_000 }).toEqual(["mended"]);
      expect(await openLetters(topic)).toEqual(["hopeless"]);
      await stop();
    });

    it("discards with a reason that the audit keeps", async () => {
      const { bus } = bench;
      const { topic, broken, stop } = await brokenMailer();
      broken.add("junk");
      await bus.publish(topic, "junk");
      await expect.poll(() => openLetters(topic), { timeout: 30_000 }).toEqual(["junk"]);
      await expect(discardDeadLetters(bus, topic, { reason: "" })).rejects.toMatchObject({
        code: "INVALID_OPTION",
      });
      expect(await discardDeadLetters(bus, topic, { reason: "test order", actor: "ada" })).toBe(1);
      expect(await openLetters(topic)).toEqual([]);
      const [entry] = await bus.store.registry.audits({ limit: 1 });
      expect(entry).toMatchObject({
        actor: "ada",
        action: "dead-letters.discard",
        details: { discarded: 1, reason: "test order" },
      });
      await stop();
    });

    it("many are discarded together", async () => {
      const { bus } = bench;
      const topic = await bench.topic();
      const refuse = (): never => {
        throw new Fatal("no");
      };
      const stop = await bus.subscribe(topic, "g", refuse, { from: "earliest" });
      await bench.publish(
        topic,
        Array.from({ length: 450 }, (_, payload) => ({ payload, key: `k${payload % 50}` })),
      );
      await expect.poll(async () => (await openLetters(topic)).length, { timeout: 30_000 }).toBe(450);
      const { host, counts } = bench.counting();
      expect(await discardDeadLetters(host, topic, { reason: "a test" })).toBe(450);
      expect(counts["documents.write"]).toBe(3);
      expect(await summarizeDeadLetters(bus, topic)).toMatchObject({ open: 0, discarded: 450 });
      await stop();
    });

    it("P11: on a compacted topic an overtaken event is not brought back over the newer value of its key", async () => {
      const { bus } = bench;
      const topic = await bench.topic({ compaction: true });
      const refuseOld = (event: { payload: unknown }): void => expect(event.payload).not.toBe("old");
      const stop = await bus.subscribe(topic, "g", refuseOld, { from: "earliest", maxAttempts: 1 });
      await bus.publish(topic, "old", { key: "k" });
      await expect.poll(() => openLetters(topic), { timeout: 30_000 }).toEqual(["old"]);
      await bus.publish(topic, "new", { key: "k" });
      expect(await redrive(bus, { topic })).toMatchObject({ redriven: 0, superseded: 1 });
      expect((await bus.latestByKey(topic, ["k"])).k?.payload).toBe("new");
      await stop();
    });

    it("P11: on a compacted topic an event comes back for each group that gave it up, also after a redrive that was cut off", async () => {
      const { bus } = bench;
      const topic = await bench.topic({ compaction: true });
      let broken = true;
      const handled: string[] = [];
      const stops = ["ann", "bob"].map((group) =>
        bus.subscribe<string>(
          topic,
          group,
          ({ payload }) => {
            if (broken) throw new Fatal("not yet");
            handled.push(`${group} ${payload}`);
          },
          { from: "earliest" },
        ),
      );
      for (const stop of stops) await stop;
      for (const payload of ["v1", "v2"]) await bus.publish(topic, payload, { key: "k" });
      await expect.poll(async () => (await openLetters(topic)).length, { timeout: 30_000 }).toBe(4);
      broken = false;
      const away = new Error("the store is away");
      const cutOff = interceptStore(bench.store, {
        around: (call, proceed) => (call.name === "documents.write" ? Promise.reject(away) : proceed()),
      });
      await expect(redrive(bench.hostOn(cutOff), { topic })).rejects.toBe(away);
      // Of each group the older one was overtaken.
      expect(await redrive(bus, { topic })).toMatchObject({ redriven: 2, passedOver: 2, superseded: 2 });
      await expect.poll(() => handled.sort(), { timeout: 30_000 }).toEqual(["ann v2", "bob v2"]);
      expect(await redrive(bus, { topic })).toMatchObject({ redriven: 0, superseded: 2 });
      for (const stop of stops) await (await stop)();
    });

    it("P11: in a compacted topic that they go to, the newest of a key stays the newest", async () => {
      const { bus } = bench;
      const topic = await bench.topic();
      const to = await bench.topic({ compaction: true });
      const refuse = (): never => {
        throw new Fatal("no");
      };
      const stop = await bus.subscribe(topic, "g", refuse, { from: "earliest" });
      for (const payload of ["v1", "v2", "v3"]) await bus.publish(topic, payload, { key: "k" });
      await expect.poll(async () => (await openLetters(topic)).length, { timeout: 30_000 }).toBe(3);
      expect(await redrive(bus, { topic, to, limit: 1 })).toMatchObject({ redriven: 1, superseded: 0 });
      const filter = (letter: Letter): boolean => letter.event.payload === "v3";
      expect(await redrive(bus, { topic, to, filter })).toMatchObject({ redriven: 1, superseded: 0 });
      expect(await redrive(bus, { topic, to })).toMatchObject({ redriven: 0, superseded: 1 });
      expect((await bus.latestByKey(to, ["k"])).k?.payload).toBe("v3");
      await bus.publish(to, "theirs", { key: "k" });
      await bus.publish(topic, "v4", { key: "k" });
      await expect.poll(async () => (await openLetters(topic)).length, { timeout: 30_000 }).toBe(2);
      expect(await redrive(bus, { topic, to })).toMatchObject({ redriven: 0, superseded: 2 });
      await stop();
    });

    it("P11: also if an older event of the key was given up after a newer one", async () => {
      const { bus } = bench;
      const topic = await bench.topic();
      const to = await bench.topic({ compaction: true });
      for (const payload of ["v1", "v2"]) await bus.publish(topic, payload, { key: "k" });
      for (const refused of ["v2", "v1"]) {
        const refuse = ({ payload }: { payload: unknown }): void => {
          if (payload === refused) throw new Fatal("no");
        };
        const stop = await bus.subscribe(topic, `not-${refused}`, refuse, { from: "earliest" });
        await bench.drained(topic, `not-${refused}`);
        await stop();
      }
      expect(await openLetters(topic)).toEqual(["v2", "v1"]);
      expect(await redrive(bus, { topic, to })).toMatchObject({ redriven: 1, superseded: 1 });
      expect((await bus.latestByKey(to, ["k"])).k?.payload).toBe("v2");
    });
  });
}
