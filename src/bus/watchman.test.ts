/** What a bus does with what it finds at its regular look at the heads. */
import { describe, expect, it } from "vitest";
import { recorder, useBench } from "../../test/support/bus-bench.js";
import { gate, settled } from "../../test/support/eventually.js";
import type { Store } from "../ports/store.js";
import { memoryStore } from "../stores/memory/index.js";
import { interceptStore } from "../testing/store-calls.js";

const bench = useBench();

const topics = Array.from({ length: 300 }, (_, n) => `t.n${n}`);

/** A store, and the topics of each look at the heads. */
function watched(): { readonly store: Store; readonly looks: (readonly string[])[] } {
  const looks: (readonly string[])[] = [];
  const store = interceptStore(memoryStore(), {
    around: (call, proceed) => {
      if (call.name === "log.headsOf") looks.push(call.args[0]);
      return proceed();
    },
  });
  return { store, looks };
}

describe("a look at the heads", () => {
  it("does not read back what an append under way has added: it comes with the answer", async () => {
    const answered = gate();
    let reads = 0;
    const store = interceptStore(memoryStore(), {
      around: async (call, proceed) => {
        if (call.name === "log.read") reads++;
        const answer = await proceed();
        if (call.name === "log.append") await answered.passed;
        return answer;
      },
    });
    const bus = await bench().bus({ store });
    const { handler, payloads } = recorder();
    await bus.subscribe("t.a", "g", handler);
    await settled();
    reads = 0;
    const published = bus.publish("t.a", 1);
    await bench().advance(5_000);
    expect(payloads()).toEqual([]);
    answered.open();
    await published;
    await settled();
    expect(payloads()).toEqual([1]);
    expect(reads).toBe(0);
  });

  it("is one question for all topics, and for the next ones where there are many and the store has signals", async () => {
    const { store, looks } = watched();
    const bus = await bench().bus({ store });
    await bus.subscribe(topics, "g", () => undefined);
    await bench().advance(8_000);
    expect(looks.map((asked) => asked.length)).toEqual([128, 128, 44, 128]);
    expect(looks.slice(0, 3).flat().sort()).toEqual([...topics].sort());
  });

  it("is at all of them where the store has no signals", async () => {
    const { store, looks } = watched();
    const { watch: _, ...deaf } = store;
    const bus = await bench().bus({ store: deaf });
    await bus.subscribe(topics, "g", () => undefined);
    await bench().advance(100);
    expect(looks.at(-1)).toHaveLength(300);
  });
});
