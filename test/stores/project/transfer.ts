/** Export and import on every store: what goes out comes in, once. */
import { Readable } from "node:stream";
import { describe, expect, it } from "vitest";
import type { EventRecord } from "../../../src/model/event.js";
import { type ExportOptions, exportEvents } from "../../../src/project/transfer/export-events.js";
import { importEvents } from "../../../src/project/transfer/import-events.js";
import { ODD_PAYLOADS } from "../../../src/testing/conformance/samples.js";
import type { ProjectBench } from "./bench.js";
import { traffic } from "./traffic.js";

export function describeTransfer(bench: ProjectBench): void {
  const exported = async (
    ...args: Parameters<typeof exportEvents> extends [unknown, ...infer R] ? R : never
  ) => {
    const lines: string[] = [];
    for await (const line of exportEvents(bench.bus, ...args)) lines.push(line);
    return lines;
  };
  /** As of another store, where these ids are new. */
  const withNewIds = (lines: readonly string[], suffix: string): string[] =>
    lines.map((line) => {
      const event = JSON.parse(line) as EventRecord;
      return `${JSON.stringify({ ...event, id: `${event.id}-${suffix}` })}\n`;
    });
  const essence = (events: readonly EventRecord[]): unknown =>
    events.map(({ key, ts, payload, headers, tags, caused_by, sid }) => ({
      key,
      ts,
      payload,
      headers,
      tags,
      caused_by,
      sid,
    }));

  describe("export and import", () => {
    it("one event a line, as it is, payloads that a careless writer would change included", async () => {
      const topic = await bench.topic();
      await bench.publish(
        topic,
        ODD_PAYLOADS.map(([name, payload]) => ({
          payload,
          key: name,
          headers: { "x-n": name },
          tags: ["a"],
        })),
      );
      const lines = await exported(topic);
      expect(lines.every((line) => line.endsWith("\n") && line.indexOf("\n") === line.length - 1)).toBe(true);
      expect(lines.map((line) => JSON.parse(line))).toEqual(await bench.events(topic));
    });

    it("P3: what was exported comes in once, however often it is imported", async () => {
      const [from, to] = [await bench.topic({ partitions: 3 }), await bench.topic({ partitions: 3 })];
      await bench.publish(from, traffic({ events: 1_300, keys: 20 }));
      const lines = withNewIds(await exported(from), to);
      expect(await importEvents(bench.bus, Readable.from(lines), { topic: to })).toEqual({
        lines: 1_300,
        imported: 1_300,
        duplicates: 0,
        complete: true,
      });
      expect(await importEvents(bench.bus, lines, { topic: to })).toMatchObject({
        imported: 0,
        duplicates: 1_300,
      });
      const keyed = (events: readonly EventRecord[]): EventRecord[] =>
        events.filter(({ key }) => key !== undefined).sort((a, b) => a.ts - b.ts);
      expect(essence(keyed(await bench.events(to)))).toEqual(essence(keyed(await bench.events(from))));
    });

    it("exports from a place, up to a time, one partition, filtered, limited", async () => {
      const topic = await bench.topic({ partitions: 2 });
      await bench.publish(
        topic,
        Array.from({ length: 20 }, (_, i) => ({ payload: { i }, ts: 1_000 + i, partition: i % 2 })),
      );
      const numbers = (lines: readonly string[]): number[] => lines.map((line) => JSON.parse(line).payload.i);
      expect(numbers(await exported(topic))).toEqual(Array.from({ length: 20 }, (_, i) => i));
      expect(numbers(await exported(topic, { from: { ts: 1_005 }, untilTs: 1_008 }))).toEqual([5, 6, 7]);
      expect(numbers(await exported(topic, { partition: 1, limit: 3 }))).toEqual([1, 3, 5]);
      expect(numbers(await exported(topic, { filter: (e) => e.seq === 10 }))).toEqual([18, 19]);
      expect(numbers(await exported(topic, { from: { floors: [9, 8] } }))).toEqual([17, 18, 19]);
      await expect(exported("no-such-topic")).rejects.toMatchObject({ code: "NOT_FOUND" });
    });

    it.each([true, false])(
      "of one key what a walk over all would give, by index where there is one (%s)",
      async (keyed) => {
        const topic = await bench.topic({ partitions: 3, keyed });
        const whole = traffic({ events: 900, keys: 4, firstTs: 1_000_000 });
        // k0 is spread over partitions by hand, several of its events under one seq; k1 in one of them is alone.
        await bench.publish(
          topic,
          whole.map((item, i) => (item.key === "k0" ? { ...item, partition: i % 3 } : item)),
        );
        const { host, counts } = bench.counting();
        const windows: ExportOptions[] = [
          {},
          { from: { ts: 1_200_000 }, untilTs: 1_700_000 },
          { from: { floors: [100, 0, 200] } },
          { partition: 1 },
          { limit: 33 },
          { filter: ({ seq }) => seq % 2 === 0 },
        ];
        const walked = new Map<string, number>();
        for (const key of ["k0", "k1", "nobody"]) {
          for (const window of windows) {
            const { filter = () => true } = window;
            const expected = await exported(topic, {
              ...window,
              filter: (event) => event.key === key && filter(event),
            });
            const lines: string[] = [];
            for await (const line of exportEvents(host, topic, { ...window, key })) lines.push(line);
            expect(lines).toEqual(expected);
            walked.set(key, lines.length);
          }
        }
        expect(walked.get("k0")).toBeGreaterThan(50);
        expect((counts["log.read"] ?? 0) > 0).toBe(!keyed);
      },
    );

    it("names the line that is wrong; what stands before it is in, what follows is not", async () => {
      const topic = await bench.topic();
      const good = (n: number): string => JSON.stringify({ id: `${topic}-${n}`, topic, payload: { n } });
      const wrong: [string, string, string][] = [
        ["not JSON", "{nope", "INVALID_PAYLOAD"],
        ["not an object", "[1]", "INVALID_PAYLOAD"],
        ["without a payload", `{"id":"x","topic":"${topic}"}`, "INVALID_PAYLOAD"],
        ["without a topic", '{"payload":1}', "INVALID_TOPIC"],
        ["a bad topic", '{"topic":"No Topic","payload":1}', "INVALID_TOPIC"],
        ["a bad key", `{"topic":"${topic}","payload":1,"key":7}`, "INVALID_OPTION"],
        [
          "an id that says something else",
          `{"id":"${topic}-1","topic":"${topic}","payload":2}`,
          "ID_CONFLICT",
        ],
        ["too long", `{"topic":"${topic}","payload":"${"x".repeat(2_000_000)}"}`, "PAYLOAD_TOO_LARGE"],
        [
          "a payload too long",
          `{"topic":"${topic}","payload":"${"x".repeat(1_048_577)}"}`,
          "PAYLOAD_TOO_LARGE",
        ],
      ];
      for (const [what, line, code] of wrong) {
        const lines = [good(1), "", good(2), line, good(3)];
        const failure = importEvents(bench.bus, Readable.from([lines.join("\r\n")]));
        await expect(failure, what).rejects.toMatchObject({ code, details: { line: 4 } });
        await expect(failure, what).rejects.toThrow(/^line 4: /);
      }
      const present = (await bench.events(topic)).map(({ payload }) => (payload as { n: number }).n);
      expect(present.slice(0, 2)).toEqual([1, 2]);
    });

    it("a line that is refused ends it, although its source has stalled; of several topics, the first one is named", async () => {
      const [first, second] = [await bench.topic(), await bench.topic()];
      const line = (topic: string, n: number): string =>
        `${JSON.stringify({ id: `${topic}-${n}`, topic, payload: n, ...(n > 1 && { key: 7 }) })}\n`;
      async function* stalled(): AsyncGenerator<string> {
        yield [line(first, 1), line(second, 1), line(second, 2), line(first, 2)].join("");
        await new Promise(() => undefined);
      }
      await expect(importEvents(bench.bus, stalled())).rejects.toMatchObject({
        code: "INVALID_OPTION",
        details: { line: 3 },
      });
      for (const topic of [first, second])
        expect((await bench.events(topic)).map(({ payload }) => payload)).toEqual([1]);
    });

    it("a line without an id is new each time, unless the import has a name", async () => {
      const topic = await bench.topic();
      const lines = ['{"payload":1}', '{"payload":1}'];
      await importEvents(bench.bus, lines, { topic });
      await importEvents(bench.bus, lines, { topic });
      expect(await bench.events(topic)).toHaveLength(4);
      const named = { topic, resume: `named-${topic}` };
      expect(await importEvents(bench.bus, lines, named)).toMatchObject({ imported: 2 });
      expect(await importEvents(bench.bus, lines, named)).toMatchObject({ imported: 0, duplicates: 2 });
    });

    it("under a name, goes on after the lines that are done", async () => {
      const topic = await bench.topic();
      const lines = Array.from({ length: 40 }, (_, i) => `{"id":"${topic}-${i}","payload":${i}}`);
      const resume = `import-${topic}`;
      const torn = [...lines.slice(0, 30), "{torn"];
      await expect(importEvents(bench.bus, torn, { topic, resume })).rejects.toMatchObject({
        details: { line: 31 },
      });
      const rest = await importEvents(bench.bus, lines, { topic, resume });
      expect(rest).toEqual({ lines: 40, imported: 10, duplicates: 0, complete: true });
      expect(await bench.events(topic)).toHaveLength(40);
      expect(await bench.store.registry.tokens("import:")).toEqual(new Map());
    });

    it("says so in words if another import goes on under its name", async () => {
      const topic = await bench.topic();
      const resume = `import-${topic}`;
      const stop = new AbortController();
      async function* stalled(): AsyncGenerator<string> {
        yield '{"payload":1}\n';
        await new Promise(() => undefined);
      }
      const first = importEvents(bench.bus, stalled(), { topic, resume, signal: stop.signal });
      const ended = expect(first).rejects.toMatchObject({
        code: "WRITE_CONFLICT",
        message: `another import under the name ${resume} is under way, or was a moment ago; begun again, it goes on from there`,
      });
      await expect.poll(() => bench.events(topic)).toHaveLength(1);
      const torn = importEvents(bench.bus, ['{"payload":1}', '{"payload":2}', "{torn"], { topic, resume });
      await expect(torn).rejects.toMatchObject({ details: { line: 3 } });
      stop.abort();
      await ended;
      expect(await bench.events(topic)).toHaveLength(2);
    });

    it("what a source that stalls has given is in; stops when told to; while it runs it shows on the board", async () => {
      const topic = await bench.topic();
      const stop = new AbortController();
      async function* stalled(): AsyncGenerator<string> {
        yield `{"id":"${topic}-1","payload":1}\n`;
        await new Promise(() => undefined);
      }
      const importing = importEvents(bench.bus, stalled(), { topic, signal: stop.signal });
      await expect
        .poll(() => bench.bus.tasks.reports())
        .toMatchObject([{ kind: "import", state: "running", stats: { imported: 1 } }]);
      expect(await bench.events(topic)).toHaveLength(1);
      stop.abort();
      expect(await importing).toEqual({ lines: 1, imported: 1, duplicates: 0, complete: false });
      expect(bench.bus.tasks.reports()).toEqual([]);
    });

    it("closes its source, however it ends, and asks nothing of it once it is stopped", async () => {
      const topic = await bench.topic();
      const told: string[] = [];
      async function* source(...lines: string[]): AsyncGenerator<string> {
        told.push("asked");
        try {
          for (const line of lines) yield `${line}\n`;
        } finally {
          told.push("closed");
        }
      }
      const wrong = source('{"payload":1}', '{"no":"payload"}', '{"payload":2}');
      await expect(importEvents(bench.bus, wrong, { topic })).rejects.toMatchObject({ details: { line: 2 } });
      expect(told).toEqual(["asked", "closed"]);
      const refused = source('{"payload":1,"id":5}', '{"payload":2}');
      await expect(importEvents(bench.bus, refused, { topic })).rejects.toMatchObject({
        code: "INVALID_OPTION",
      });
      await expect.poll(() => told.slice(2)).toEqual(["asked", "closed"]);
      // What it would say then would be said to nobody, and a failure of it would end the process.
      const stopped = { topic, signal: AbortSignal.abort() };
      expect(await importEvents(bench.bus, source("{}"), stopped)).toMatchObject({ complete: false });
      expect(told.slice(4)).toEqual([]);
    });

    it("keepPartitions: events go where their line says", async () => {
      const topic = await bench.topic({ partitions: 3 });
      const lines = [0, 1, 2].map(
        (p) => `{"id":"${topic}-${p}","key":"same","partition":${p},"payload":${p}}`,
      );
      await importEvents(bench.bus, lines, { topic, keepPartitions: true });
      expect((await bench.events(topic)).map(({ partition }) => partition).sort()).toEqual([0, 1, 2]);
    });
  });
}
