/** The registry's part of the suite: what members agree on, by compare-and-set. */
import { describe, expect, it } from "vitest";
import type { TopicConfig } from "../../model/topic.js";
import type { SchemaEntry } from "../../ports/registry.js";
import type { StoreFixture } from "./fixture.js";
import { freshStore, type Harness } from "./harness.js";
import { failsWith, ODD_PAYLOADS, range, T0 } from "./samples.js";
import { describeTopicRemoval } from "./topic-removal.js";

export function describeRegistry(fixture: StoreFixture): void {
  describe("registry", () => {
    const harness = freshStore(fixture);
    describe("topics", () => {
      describeTopics(harness);
      describeTopicRaces(harness);
    });
    describe("removal of topics", () => describeTopicRemoval(harness));
    describe("schemas", () => describeSchemas(harness));
    describe("tokens", () => describeTokens(harness));
    describe("audit", () => describeAudit(harness));
  });
}

const FULL: TopicConfig = {
  name: "orders.placed.v2",
  partitions: 4,
  retentionMs: 86_400_000,
  retentionBytes: 1_000_000,
  compaction: true,
  tombstoneRetentionMs: 3_600_000,
  keyed: true,
};

function describeTopics(harness: Harness): void {
  it("a topic is kept as it was defined, and answers so for every handle", async () => {
    const { registry } = harness.store;
    expect(await registry.topic(FULL.name)).toBeNull();
    expect(await registry.topics()).toEqual([]);
    expect(await registry.defineTopic(FULL)).toStrictEqual(FULL);
    expect(await (await harness.second()).registry.topic(FULL.name)).toStrictEqual(FULL);
    expect(await registry.defineTopic({ name: "bare", partitions: 1 })).toStrictEqual({
      name: "bare",
      partitions: 1,
    });
  });

  it("defining it again updates what may change, and what is no longer said is gone", async () => {
    const { registry } = harness.store;
    await registry.defineTopic(FULL);
    const changed = { name: FULL.name, partitions: 4, retentionMs: 1_000, compaction: false };
    expect(await registry.defineTopic(changed)).toStrictEqual(changed);
    expect(await (await harness.second()).registry.topic(FULL.name)).toStrictEqual(changed);
  });

  it("another number of partitions: TOPIC_CONFLICT, and nothing changes", async () => {
    const { registry } = harness.store;
    await registry.defineTopic(FULL);
    for (const partitions of [3, 5]) {
      await failsWith("TOPIC_CONFLICT", registry.defineTopic({ ...FULL, partitions, retentionMs: 1 }));
    }
    expect(await registry.topic(FULL.name)).toStrictEqual(FULL);
    expect(await harness.store.log.heads(FULL.name)).toHaveLength(4);
  });

  it("ifAbsent creates a topic, and leaves one that exists as it is", async () => {
    const { registry } = harness.store;
    expect(await registry.defineTopic(FULL, { ifAbsent: true })).toStrictEqual(FULL);
    const other = { name: FULL.name, partitions: 9, retentionMs: 1 };
    expect(await registry.defineTopic(other, { ifAbsent: true })).toStrictEqual(FULL);
    expect(await registry.topic(FULL.name)).toStrictEqual(FULL);
  });

  it("topics are sorted by name", async () => {
    const names = ["b", "a.b", "a", "a-b", "dlq.a", "10", "9", "a.snapshot"];
    for (const name of names) await harness.store.registry.defineTopic({ name, partitions: 1 });
    const topics = await (await harness.second()).registry.topics();
    expect(topics.map((t) => t.name)).toEqual([...names].sort());
  });
}

function describeTopicRaces(harness: Harness): void {
  it("of many who create a topic at once, one wins, and the others get its partitions or TOPIC_CONFLICT", async () => {
    const second = await harness.second();
    const attempts = await Promise.allSettled(
      range(1, 8).map((n) =>
        (n % 2 === 0 ? harness.store : second).registry.defineTopic({ name: "contested", partitions: n }),
      ),
    );
    const won = attempts.filter((a) => a.status === "fulfilled");
    expect(won).toHaveLength(1);
    for (const a of attempts) {
      if (a.status === "rejected") expect(a.reason).toMatchObject({ code: "TOPIC_CONFLICT" });
    }
    expect(await second.registry.topic("contested")).toEqual(won[0]?.value);
  });

  it("with ifAbsent all of them get what the winner stored", async () => {
    const second = await harness.second();
    const results = await Promise.all(
      range(1, 8).map((n) =>
        (n % 2 === 0 ? harness.store : second).registry.defineTopic(
          { name: "contested", partitions: n },
          { ifAbsent: true },
        ),
      ),
    );
    const stored = await harness.store.registry.topic("contested");
    for (const result of results) expect(result).toEqual(stored);
  });
}

function schema(topic: string, version: number, document: SchemaEntry["document"] = {}): SchemaEntry {
  return { topic, version, compat: "backward", document, createdMs: T0 + version };
}

function describeSchemas(harness: Harness): void {
  it("versions are added one after another, and kept as they came", async () => {
    const { registry } = harness.store;
    const odd = JSON.parse('{"$schema":"x","$defs":{"a.b":{"type":["string","null"]}},"__proto__":1}');
    const given = [schema("t", 1, odd), schema("t", 2), schema("t", 5)];
    await registry.putSchema(schema("t", 1, odd), { expectedLatest: 0 });
    await registry.putSchema(schema("t", 2), { expectedLatest: 1 });
    await registry.putSchema(schema("t", 5), { expectedLatest: 2 });
    const stored = await (await harness.second()).registry.schemas("t");
    expect(stored.map((s) => JSON.stringify(s.document))).toEqual(
      given.map((s) => JSON.stringify(s.document)),
    );
    expect(stored.map((s) => ({ ...s, document: null }))).toStrictEqual(
      given.map((s) => ({ ...s, document: null })),
    );
  });

  it("schemas of one topic ascend by version; of all topics, topic by topic", async () => {
    const { registry } = harness.store;
    for (const [topic, version] of [
      ["b", 1],
      ["a", 2],
      ["b", 10],
      ["a", 11],
    ] as const) {
      const latest = (await registry.schemas(topic)).at(-1)?.version ?? 0;
      await registry.putSchema(schema(topic, version), { expectedLatest: latest });
    }
    const places = (entries: readonly SchemaEntry[]): string[] =>
      entries.map((s) => `${s.topic}${s.version}`);
    expect(places(await registry.schemas("b"))).toEqual(["b1", "b10"]);
    expect(places(await registry.schemas())).toEqual(["a2", "a11", "b1", "b10"]);
    expect(await registry.schemas("nobody")).toEqual([]);
  });

  it("a version that does not follow the newest: SCHEMA_CONFLICT, and no change", async () => {
    const { registry } = harness.store;
    await failsWith("SCHEMA_CONFLICT", registry.putSchema(schema("t", 2), { expectedLatest: 1 }));
    await registry.putSchema(schema("t", 1), { expectedLatest: 0 });
    await failsWith("SCHEMA_CONFLICT", registry.putSchema(schema("t", 2), { expectedLatest: 0 }));
    await failsWith("SCHEMA_CONFLICT", registry.putSchema(schema("t", 3), { expectedLatest: 2 }));
    await failsWith("SCHEMA_CONFLICT", registry.putSchema(schema("t", 1, "x"), { expectedLatest: 1 }));
    expect(await registry.schemas("t")).toStrictEqual([schema("t", 1)]);
  });

  it("of many who add a version at once, one wins", async () => {
    const second = await harness.second();
    const attempts = await Promise.allSettled(
      range(1, 8).map((n) =>
        (n % 2 === 0 ? harness.store : second).registry.putSchema(schema("t", 1, n), { expectedLatest: 0 }),
      ),
    );
    expect(attempts.filter((a) => a.status === "fulfilled")).toHaveLength(1);
    for (const a of attempts) {
      if (a.status === "rejected") expect(a.reason).toMatchObject({ code: "SCHEMA_CONFLICT" });
    }
    const winner = attempts.findIndex((a) => a.status === "fulfilled") + 1;
    expect((await second.registry.schemas("t")).map((s) => s.document)).toEqual([winner]);
  });
}

function describeTokens(harness: Harness): void {
  it("a token is written if its revision is still the expected one; revisions grow by one", async () => {
    const { registry } = harness.store;
    expect(await registry.token("t")).toBeNull();
    expect(await registry.putToken("t", { at: 1 }, { expected: 0 })).toBe(1);
    expect(await registry.putToken("t", { at: 2 }, { expected: 1 })).toBe(2);
    expect(await (await harness.second()).registry.token("t")).toStrictEqual({
      value: { at: 2 },
      revision: 2,
    });
  });

  it("another revision: WRITE_CONFLICT, and no change", async () => {
    const { registry } = harness.store;
    await failsWith("WRITE_CONFLICT", registry.putToken("t", 1, { expected: 1 }));
    await registry.putToken("t", 1, { expected: 0 });
    for (const expected of [0, 2]) {
      await failsWith("WRITE_CONFLICT", registry.putToken("t", 2, { expected }));
      await failsWith("WRITE_CONFLICT", registry.putToken("t", null, { expected }));
    }
    expect(await registry.token("t")).toStrictEqual({ value: 1, revision: 1 });
  });

  it("null removes a token: its revision is 0 again", async () => {
    const { registry } = harness.store;
    expect(await registry.putToken("t", null, { expected: 0 })).toBe(0);
    await registry.putToken("t", "x", { expected: 0 });
    expect(await registry.putToken("t", null, { expected: 1 })).toBe(0);
    expect(await registry.token("t")).toBeNull();
    await failsWith("WRITE_CONFLICT", registry.putToken("t", "y", { expected: 1 }));
    expect(await registry.putToken("t", "y", { expected: 0 })).toBe(1);
  });

  it("of many who write a token at once, one wins each round", async () => {
    const second = await harness.second();
    for (const expected of [0, 1, 2]) {
      const attempts = await Promise.allSettled(
        range(1, 6).map((n) =>
          (n % 2 === 0 ? harness.store : second).registry.putToken("t", n, { expected }),
        ),
      );
      expect(attempts.filter((a) => a.status === "fulfilled")).toHaveLength(1);
      const winner = attempts.findIndex((a) => a.status === "fulfilled") + 1;
      expect(await harness.store.registry.token("t")).toEqual({ value: winner, revision: expected + 1 });
    }
  });

  it("tokens by prefix, which is text and nothing else", async () => {
    const { registry } = harness.store;
    const names = ["feed/a", "feed/b", "feed", "fee", "other", "f%", "f_", "fe.d", "__proto__", "ü🙂"];
    for (const [n, name] of names.entries()) await registry.putToken(name, n + 1, { expected: 0 });
    for (const prefix of ["", "feed", "feed/", "f%", "f_", "fe.", "__", "ü", "nobody"]) {
      const found = await (await harness.second()).registry.tokens(prefix);
      const expected = names.filter((name) => name.startsWith(prefix)).sort();
      expect([...found.keys()].sort(), prefix).toEqual(expected);
      for (const [name, token] of found) {
        expect(token).toEqual({ value: names.indexOf(name) + 1, revision: 1 });
      }
    }
  });

  it("values are kept as they came", async () => {
    const { registry } = harness.store;
    const given = ODD_PAYLOADS.filter(([, value]) => value !== null);
    for (const [name, value] of given) await registry.putToken(name, value as never, { expected: 0 });
    const found = await (await harness.second()).registry.tokens("");
    expect(found.size).toBe(given.length);
    for (const [name, value] of given) {
      expect(JSON.stringify(found.get(name)?.value), name).toBe(JSON.stringify(value));
    }
  });
}

function describeAudit(harness: Harness): void {
  const record = (n: number): Promise<void> =>
    harness.store.registry.audit({ atMs: T0 - n, actor: `actor ${n}`, action: "topic.define", target: "t" });

  it("entries come newest first, as they were given, by the order they were added in", async () => {
    const { registry } = harness.store;
    expect(await registry.audits({ limit: 10 })).toEqual([]);
    const full = { atMs: T0, actor: "ü🙂", action: "a.b", target: "$t", details: { "a.b": [null, "x"] } };
    await registry.audit(full);
    await record(2);
    await (await harness.second()).registry.audit({ ...full, atMs: 0 });
    const entries = await registry.audits({ limit: 10 });
    expect(entries.map((e) => e.atMs)).toEqual([0, T0 - 2, T0]);
    expect(entries[2]).toStrictEqual({ ...full, number: entries[2]?.number });
    expect(Object.keys(entries[1] ?? {})).not.toContain("details");
    const numbers = entries.map((e) => e.number);
    expect(numbers).toEqual(numbers.toSorted((a, b) => b - a));
    expect(new Set(numbers).size).toBe(3);
  });

  it("pages by number", async () => {
    const { registry } = harness.store;
    for (const n of range(1, 7)) await record(n);
    const first = await registry.audits({ limit: 3 });
    expect(first.map((e) => e.actor)).toEqual(["actor 7", "actor 6", "actor 5"]);
    const rest = await registry.audits({ limit: 10, before: first[2]?.number ?? 0 });
    expect(rest.map((e) => e.actor)).toEqual(["actor 4", "actor 3", "actor 2", "actor 1"]);
    expect(await registry.audits({ limit: 10, before: rest[3]?.number ?? 0 })).toEqual([]);
    expect(await registry.audits({ limit: 0 })).toEqual([]);
  });

  it("entries added through two handles at once are all kept, each with a number of its own", async () => {
    const second = await harness.second();
    await Promise.all(
      range(1, 20).map((n) =>
        (n % 2 === 0 ? harness.store : second).registry.audit({
          atMs: T0,
          actor: `actor ${n}`,
          action: "x",
          target: "t",
        }),
      ),
    );
    const entries = await second.registry.audits({ limit: 100 });
    expect(new Set(entries.map((e) => e.actor)).size).toBe(20);
    expect(new Set(entries.map((e) => e.number)).size).toBe(20);
  });

  it("P13: forgets what is older than wished, whoever's clock was ahead, and goes on numbering", async () => {
    const { registry } = harness.store;
    const record = (atMs: number): Promise<void> =>
      registry.audit({ atMs, actor: "a", action: "x", target: "t" });
    const forget = async (beforeMs: number): Promise<number> => {
      let forgotten = 0;
      for (let more = -1; more !== 0; forgotten += more) more = await registry.trimAudits({ beforeMs });
      return forgotten;
    };
    expect(await forget(T0)).toBe(0);
    for (const atMs of [T0 - 3, T0 + 9, T0 - 2, T0 - 1, T0]) await record(atMs);
    expect(await forget(T0 - 1)).toBe(2);
    const left = await registry.audits({ limit: 10 });
    expect(left.map(({ atMs }) => atMs)).toEqual([T0, T0 - 1, T0 + 9]);
    expect(await registry.audits({ limit: 1, before: left[0]?.number ?? 0 })).toEqual([left[1]]);
    expect(await forget(T0 + 10), "all but the newest").toBe(2);
    await record(T0 + 11);
    const [next, newest] = await (await harness.second()).registry.audits({ limit: 10 });
    expect(newest).toEqual(left[0]);
    expect(next?.number).toBe((left[0]?.number ?? 0) + 1);
  });
}
