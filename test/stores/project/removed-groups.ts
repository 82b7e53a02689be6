/** A group that is removed goes whole; while somebody joins it, the subscriber goes on as if it had been there first. */
import { describe, expect, it } from "vitest";
import { interceptStore } from "../../../src/testing/store-calls.js";
import type { ProjectBench } from "./bench.js";
import { dieAtEachChange } from "./dying-store.js";

export function describeRemovedGroups(bench: ProjectBench): void {
  /** A topic of which the group has settled the first five of ten events. */
  const halfRead = async (): Promise<{ topic: string; group: string }> => {
    const ref = { topic: await bench.topic(), group: "mailer" };
    await bench.publish(
      ref.topic,
      Array.from({ length: 5 }, (_, n) => ({ payload: n + 1 })),
    );
    await bench.bus.setCursor(ref.topic, ref.group, "latest");
    await bench.publish(
      ref.topic,
      Array.from({ length: 5 }, (_, n) => ({ payload: n + 6 })),
    );
    return ref;
  };

  /** The bench's store, with something that comes between once, before the named call. */
  const comingBefore = (name: "groups.remove" | "groups.join", work: () => Promise<unknown>) => {
    let isDone = false;
    return interceptStore(bench.store, {
      around: async (call, proceed) => {
        if (call.name === name && !isDone) {
          isDone = true;
          await work();
        }
        return proceed();
      },
      open: async () => undefined,
      close: async () => undefined,
    });
  };

  it("a group that is removed leaves no pause for a later one of its name, wherever the one who removes it ends", async () => {
    await dieAtEachChange(bench.store, async (store, isDead) => {
      const ref = await halfRead();
      await bench.bus.admin.pause(ref);
      await using bus = await bench.busOn(store);
      const outcome = await bus.admin.remove(ref).then(
        () => "removed",
        () => "died",
      );
      expect(outcome).toBe(isDead() ? "died" : "removed");
      if ((await bench.store.groups.list(ref.topic)).length > 0) await bench.bus.admin.remove(ref);
      const tokens = await bench.store.registry.tokens("group-pause:");
      expect([...tokens.keys()].filter((name) => name.includes(ref.topic))).toEqual([]);
    });
  }, 60_000);

  describe("a group that is removed while somebody joins it", () => {
    it("P15: is there again where it stood, if the subscriber came in between", async () => {
      const { topic, group } = await halfRead();
      const seen: unknown[] = [];
      const remover = await bench.busOn(
        comingBefore("groups.remove", () =>
          bench.bus.subscribe(topic, group, (event) => void seen.push(event.payload)),
        ),
      );
      expect(await remover.admin.remove({ topic, group })).toMatchObject({ removed: true });
      await bench.publish(topic, [{ payload: 11 }]);
      await bench.drained(topic, group);
      expect([...new Set(seen)]).toEqual([6, 7, 8, 9, 10, 11]);
    });

    it("P15: is there again where it stood, if it went between the subscriber's first look and its joining", async () => {
      const { topic, group } = await halfRead();
      const seen: unknown[] = [];
      const joining = await bench.busOn(
        comingBefore("groups.join", () => bench.bus.admin.remove({ topic, group })),
      );
      const stop = await joining.subscribe(topic, group, (event) => void seen.push(event.payload));
      await bench.publish(topic, [{ payload: 11 }]);
      await bench.drained(topic, group);
      expect(seen).toEqual([6, 7, 8, 9, 10, 11]);
      await stop();
      expect(await bench.bus.admin.remove({ topic, group })).toMatchObject({ removed: true, unsettled: 0 });
    });
  });
}
