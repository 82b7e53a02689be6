import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { BusError } from "./errors.js";
import {
  baseTopic,
  checkTopicName,
  checkTopicPattern,
  deadLetterTopic,
  defineTopic,
  isDeadLetterTopic,
  isPattern,
  matchesTopic,
  snapshotTopic,
  topicName,
} from "./topic.js";

const accepts = (check: () => void): boolean => {
  try {
    check();
    return true;
  } catch (error) {
    expect(BusError.is(error, "INVALID_TOPIC")).toBe(true);
    return false;
  }
};

describe("topic names", () => {
  it.each(["a", "heartbeat.received", "a-b.c-d.v2", "0", "-", "a.1.b", "x".repeat(200)])(
    "takes %s",
    (name) => {
      expect(accepts(() => checkTopicName(name))).toBe(true);
    },
  );

  it.each([
    "",
    ".",
    "a.",
    ".a",
    "a..b",
    "A",
    "a b",
    "a_b",
    "a/b",
    "a\n",
    "ü",
    "a*",
    "*",
    "**",
    "$a",
    "__proto__",
    "x".repeat(201),
    `dlq.${"x".repeat(201)}`,
  ])("refuses %j", (name) => {
    expect(accepts(() => checkTopicName(name))).toBe(false);
  });

  it.each([undefined, null, 1, {}, ["a"], Symbol("a")])("refuses what is no text: %s", (name) => {
    expect(accepts(() => checkTopicName(name))).toBe(false);
  });

  it("P13: refuses a name that is prefix upon prefix", () => {
    expect(accepts(() => checkTopicName(`${"dlq.".repeat(500)}a`))).toBe(false);
  });

  it("names the topic it refuses, shortened", () => {
    expect(() => checkTopicName("A b")).toThrow('"A b" is not a topic name');
    expect(() => checkTopicName("Ü".repeat(5_000))).toThrow(/^"Ü{59}…" is not/);
    expect(() => checkTopicName(undefined)).toThrow(/^undefined is not a topic name/);
    expect(() => checkTopicName(null)).toThrow(/^null is not a topic name/);
    expect(() => checkTopicName({})).toThrow(/^an object is not a topic name/);
    expect(() => checkTopicName(5)).toThrow(/^a number is not a topic name/);
  });

  it("the longest name still has a dead-letter topic, a snapshot topic, and one of the other", () => {
    const longest = "x".repeat(200);
    for (const name of [
      deadLetterTopic(longest),
      snapshotTopic(longest),
      deadLetterTopic(snapshotTopic(longest)),
      deadLetterTopic(deadLetterTopic(longest)),
    ]) {
      expect(accepts(() => checkTopicName(name))).toBe(true);
      expect(baseTopic(name)).toBe(longest);
    }
  });

  it("tells derived topics from others", () => {
    expect([deadLetterTopic("a.b"), snapshotTopic("a.b")]).toEqual(["dlq.a.b", "a.b.snapshot"]);
    expect(["dlq.a", "a.dlq", "dlq-a"].map(isDeadLetterTopic)).toEqual([true, false, false]);
    expect(["a.b", "dlq.a", "a.snapshot", "snapshot", "dlq"].map(baseTopic)).toEqual([
      "a.b",
      "a",
      "a",
      "snapshot",
      "dlq",
    ]);
  });

  it("defineTopic checks the name, keeps the options, and is frozen", () => {
    const topic = defineTopic("a.b", { partitions: 4 });
    expect(topic).toEqual({ name: "a.b", partitions: 4 });
    expect(Object.isFrozen(topic)).toBe(true);
    expect([topicName(topic), topicName("c")]).toEqual(["a.b", "c"]);
    expect(accepts(() => defineTopic("Bad"))).toBe(false);
    expect(() => defineTopic("a.b", { partition: 4 } as object)).toThrow(
      'a.b: a topic knows no option "partition"',
    );
  });

  it.each([{ type: "object" }, "z.object", null])(
    "defineTopic takes validators only: %j is none, and the error says where JSON Schemas go",
    (schema) => {
      expect(() => defineTopic("a.b", { schema } as object)).toThrow(
        /a\.b: schema must be a Zod schema, .*JSON Schema.*SchemaRegistry/,
      );
    },
  );

  it("defineTopic takes a key that is a function", () => {
    expect(() => defineTopic("a.b", { key: "order" } as object)).toThrow("a.b: key must be a function");
  });
});

/** The meaning of patterns, written without regard to cost. */
function naive(pattern: readonly string[], topic: readonly string[]): boolean {
  const [first, ...rest] = pattern;
  if (first === undefined) return topic.length === 0;
  if (first === "**") return naive(rest, topic) || (topic.length > 0 && naive(pattern, topic.slice(1)));
  if (topic.length === 0 || (first !== "*" && first !== topic[0])) return false;
  return naive(rest, topic.slice(1));
}

describe("topic patterns", () => {
  it.each([
    ["a.b", "a.b", true],
    ["a.b", "a.b.c", false],
    ["a.*", "a.b", true],
    ["a.*", "a", false],
    ["a.*", "a.b.c", false],
    ["*", "a", true],
    ["**", "a.b.c", true],
    ["a.**", "a", true],
    ["a.**", "ab", false],
    ["**.b", "b", true],
    ["a.**.c", "a.c", true],
    ["a.**.c", "a.x.c.y.c", true],
    ["a.**.c", "a.x.c.y", false],
    ["**.a.**.b.**", "x.a.y.b", true],
  ])("%s and %s: %s", (pattern, topic, expected) => {
    expect(matchesTopic(pattern, topic)).toBe(expected);
  });

  it("match as a naive matcher says, for any pattern and topic", () => {
    const segment = fc.constantFrom("a", "b");
    const wild = fc.constantFrom("a", "b", "*", "**");
    fc.assert(
      fc.property(
        fc.array(wild, { minLength: 1, maxLength: 7 }),
        fc.array(segment, { minLength: 1, maxLength: 8 }),
        (pattern, topic) => {
          expect(matchesTopic(pattern.join("."), topic.join("."))).toBe(naive(pattern, topic));
        },
      ),
      { numRuns: 2_000 },
    );
  });

  it("P13: a pattern made to be slow is not", () => {
    const pattern = "**.a.".repeat(30).concat("b");
    const topic = "a.".repeat(90).concat("a");
    const start = performance.now();
    expect(matchesTopic(pattern, topic)).toBe(false);
    expect(performance.now() - start).toBeLessThan(1_000);
  });

  it("checkTopicPattern takes names and wildcards by segment, and nothing else", () => {
    for (const good of ["a", "*", "**", "a.*.b", "**.a", "a-1.**"]) {
      expect(accepts(() => checkTopicPattern(good))).toBe(true);
    }
    for (const bad of [
      "",
      "a*",
      "*a",
      "***",
      "a.",
      "a..*",
      "A.*",
      "a.**b",
      "a b",
      "*".repeat(300),
      "a.*\n",
    ]) {
      expect(accepts(() => checkTopicPattern(bad))).toBe(false);
    }
    expect(["a.b", "a.*", "**"].map(isPattern)).toEqual([false, true, true]);
  });
});
