/** Signals: hints that there is something to read. A store that gives none is polled, and must say so by absence. */
import { describe, expect, it } from "vitest";
import type { Signal, Store } from "../../ports/store.js";
import type { Harness } from "./harness.js";
import { defineTopic, drafts, eventually, openMember, seqs, unique } from "./samples.js";

export function describeWatch(harness: Harness): void {
  describe("watch", () => {
    describeSignals(harness);
    describeRemovedTopics(harness);
    describeStopping(harness);
  });
}

interface Heard {
  readonly signals: Signal[];
  readonly stop: () => void;
}

/** Null from a store without signals: then the case checks that polling finds the change. */
function listen(store: Store): Heard | null {
  const signals: Signal[] = [];
  const stop = store.watch?.((signal) => signals.push(signal));
  return stop === undefined ? null : { signals, stop };
}

function describeSignals(harness: Harness): void {
  it("tells of an append by any handle, and by then the event can be read", async () => {
    const second = await harness.second();
    const topic = await defineTopic(harness.store, 2);
    const heard = listen(harness.store);
    await second.log.append(topic, 1, drafts(3));
    if (heard !== null) {
      await eventually(() => expect(heard.signals.some((s) => concerns(s, topic, 1))).toBe(true));
      for (const signal of heard.signals) {
        if (signal.type === "appended" && signal.topic === topic) expect(signal.head).toBeLessThanOrEqual(3);
      }
      heard.stop();
    }
    const page = await harness.store.log.read(topic, 1, { after: 0, limit: 10 });
    expect(seqs(page.events)).toEqual([1, 2, 3]);
  });

  it("tells of new topics and of groups that changed, by any handle", async () => {
    const second = await harness.second();
    const heard = listen(harness.store);
    const topic = await defineTopic(second);
    const ref = { topic, group: unique("group") };
    await second.groups.start(ref, [0]);
    await second.groups.join(ref, await openMember(second));
    if (heard !== null) {
      await eventually(() => {
        const mayBeTopics = (s: Signal): boolean => s.type === "any" && !s.butTopics;
        expect(heard.signals.some((s) => mayBeTopics(s) || isTopic(s, topic))).toBe(true);
        expect(heard.signals.some((s) => s.type === "any" || isGroup(s, ref.group))).toBe(true);
      });
      heard.stop();
    }
    expect((await harness.store.registry.topic(topic))?.name).toBe(topic);
    expect((await harness.store.groups.changes(0)).groups).toContainEqual(ref);
  });
}

function describeRemovedTopics(harness: Harness): void {
  it("tells that a topic was removed, by any handle", async () => {
    const second = await harness.second();
    const topic = await defineTopic(second);
    const heard = listen(harness.store);
    await second.registry.removeTopic(topic, [0]);
    if (heard !== null) {
      await eventually(() =>
        expect(heard.signals.some((s) => s.type === "any" || (isTopic(s, topic) && s.removed))).toBe(true),
      );
      heard.stop();
    }
    expect(await harness.store.registry.topic(topic)).toBeNull();
  });
}

function describeStopping(harness: Harness): void {
  it("tells every listener, until it stops", async () => {
    const topic = await defineTopic(harness.store);
    const [first, second] = [listen(harness.store), listen(harness.store)];
    await harness.store.log.append(topic, 0, drafts(1));
    if (first === null || second === null) {
      expect(harness.store.watch).toBeUndefined();
      return;
    }
    await eventually(() => {
      for (const heard of [first, second]) {
        expect(heard.signals.some((s) => concerns(s, topic, 0))).toBe(true);
      }
    });
    first.stop();
    first.stop();
    const [before, mark] = [first.signals.length, second.signals.length];
    await harness.store.log.append(topic, 0, drafts(1));
    await eventually(() => expect(second.signals.length).toBeGreaterThan(mark));
    expect(first.signals.length).toBe(before);
    second.stop();
  });

  it("never calls a listener inside the call that made the change", async () => {
    const topic = await defineTopic(harness.store);
    let inside = false;
    let reentered = false;
    const stop = harness.store.watch?.(() => {
      reentered ||= inside;
    });
    inside = true;
    const appended = harness.store.log.append(topic, 0, drafts(1));
    inside = false;
    await appended;
    stop?.();
    expect(reentered).toBe(false);
  });
}

function concerns(signal: Signal, topic: string, partition: number): boolean {
  if (signal.type === "any") return true;
  return signal.type === "appended" && signal.topic === topic && signal.partition === partition;
}

function isTopic(signal: Signal, topic: string): signal is Extract<Signal, { type: "topic" }> {
  return signal.type === "topic" && signal.topic === topic;
}

function isGroup(signal: Signal, group: string): boolean {
  return signal.type === "group" && signal.ref.group === group;
}
