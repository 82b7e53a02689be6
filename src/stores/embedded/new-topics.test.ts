/** What a process is told of topics that others define in its file. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { BusBench, recorder } from "../../../test/support/bus-bench.js";
import { eventually } from "../../../test/support/eventually.js";
import { turnsDuring } from "../../../test/support/turns.js";
import type { Signal, Store } from "../../ports/store.js";
import { drafts } from "../../testing/conformance/samples.js";
import { interceptStore } from "../../testing/store-calls.js";
import { embeddedStore } from "./index.js";

describe("topics in a file that another process writes to", () => {
  let folder: string;
  let own: Store;
  let other: Store;
  let heard: Signal[];

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "promethean-topics-"));
    const path = join(folder, "bus.db");
    [own, other] = [embeddedStore({ path }), embeddedStore({ path })];
    await own.open();
    await other.open();
    await other.registry.defineTopic({ name: "t.old", partitions: 1 });
    heard = [];
  });
  afterEach(async () => {
    await own.close();
    await other.close();
    await rm(folder, { recursive: true, force: true });
  });

  const isWhole = (signal: Signal): boolean => signal.type === "any" && !signal.butTopics;
  const named = (): string[] => heard.flatMap((signal) => (signal.type === "topic" ? [signal.topic] : []));

  it("P15: are told by name when they are new, and anything may be new only once, or where there are too many", async () => {
    own.watch?.((signal) => void heard.push(signal));
    await other.registry.putToken("a", 1, { expected: 0 });
    await eventually(() => heard.some(isWhole), "the first signal");
    for (const name of ["t.new", "t.newer"]) {
      await other.registry.defineTopic({ name, partitions: 1 });
      await eventually(() => named().includes(name), `the name of ${name}`);
    }
    const before = heard.length;
    await other.log.append("t.new", 0, drafts(1));
    await eventually(() => heard.length > before, "a signal of what was appended");
    expect(named()).toEqual(["t.new", "t.newer"]);
    expect(heard.filter(isWhole).length).toBeLessThanOrEqual(2);
    const many = Array.from({ length: 1_000 }, (_, n) => `m.n${n}`);
    await Promise.all(many.map((name) => other.registry.defineTopic({ name, partitions: 1 })));
    const areTold = (): boolean => heard.filter(isWhole).length > 1 || named().length === many.length + 2;
    await eventually(areTold, "all of them");
  });

  it("P15: are not looked through for what others append, and are taken in when they come, or come back", async () => {
    const bench = new BusBench();
    let looks = 0;
    const store = interceptStore(own, {
      around: (call, proceed) => {
        if (call.name === "registry.topics") looks++;
        return proceed();
      },
    });
    const bus = await bench.bus({ store });
    const { handler, payloads } = recorder();
    await other.registry.removeTopic("t.old", [0]);
    await bus.subscribe("t.*", "g", handler);
    await other.registry.defineTopic({ name: "t.first", partitions: 1 });
    await eventually(() => bus.owned("t.first", "g").length === 1, "the first one");
    looks = 0;
    for (const [n, draft] of drafts(20).entries()) {
      await other.log.append("t.first", 0, [draft]);
      await eventually(() => payloads().length === n + 1, "what was appended");
    }
    // One at most, of a signal from before.
    expect(looks).toBeLessThanOrEqual(1);
    await other.registry.defineTopic({ name: "t.second", partitions: 1 });
    await other.log.append("t.second", 0, drafts(1));
    await eventually(() => payloads().length === 21, "the event of a topic that is new");
    expect(looks).toBeLessThanOrEqual(1);
    await other.registry.defineTopic({ name: "t.old", partitions: 1 });
    await other.log.append("t.old", 0, drafts(1));
    await bench.advance(2_000);
    await eventually(() => payloads().length === 22, "the event of a topic that is back");
    await bus.close();
  });

  it("P15: are listed a page at a time, in order, without those that were removed", async () => {
    const names = Array.from({ length: 1_000 }, (_, n) => `p.n${n}`).sort();
    await Promise.all(names.map((name) => other.registry.defineTopic({ name, partitions: 1 })));
    for (const name of names.slice(0, 300)) await other.registry.removeTopic(name, [0]);
    let listed: readonly string[] = [];
    const turns = await turnsDuring(async () => {
      listed = (await own.registry.topics()).map(({ name }) => name);
    });
    expect(listed).toEqual([...names.slice(300), "t.old"]);
    expect(turns).toBeGreaterThanOrEqual(2);
  });
});
