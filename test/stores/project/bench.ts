/** What the tests of projections share: a bus on the store under test, topics with names of their own, and models. */
import { afterAll, afterEach, beforeAll, expect } from "vitest";
import type { Bus } from "../../../src/bus/bus.js";
import { createBus } from "../../../src/bus/create-bus.js";
import type { EventRecord } from "../../../src/model/event.js";
import type { PublishItem } from "../../../src/model/event-bus.js";
import type { TopicOptions } from "../../../src/model/topic.js";
import type { Store } from "../../../src/ports/store.js";
import type { Host } from "../../../src/project/host.js";
import type { StoreFixture, StoreUnderTest } from "../../../src/testing/conformance/fixture.js";
import { type CallName, interceptStore } from "../../../src/testing/store-calls.js";

let names = 0;

/** The one partition that most cases look at is enough unless they say otherwise. */
export class ProjectBench {
  #subject: StoreUnderTest | undefined;
  #bus: Bus | undefined;
  readonly #others: Bus[] = [];

  constructor(fixture: StoreFixture) {
    beforeAll(async () => {
      this.#subject = await fixture.create();
      this.#bus = await createBus({ store: this.#subject.store });
    });
    // A bus that stays open hears of all that later cases do, and views that stay are in the lists that these ask for.
    afterEach(async () => {
      for (const bus of this.#others.splice(0)) await bus.close();
      const { documents } = this.store;
      for (const { view } of await documents.views()) await documents.drop(view);
    });
    afterAll(async () => {
      await this.bus.close();
      await this.#subject?.dispose();
    });
  }

  get bus(): Bus {
    if (this.#bus === undefined) throw new Error("no bus yet: use it inside a case");
    return this.#bus;
  }

  get store(): Store {
    return this.bus.store;
  }

  /** A bus of another process, or, where the store has none, a second one on the same handle. */
  async secondBus(): Promise<Bus> {
    return this.busOn((await this.#subject?.another?.()) ?? this.store);
  }

  /** A bus of its own, closed when the case is over; the store stays open until all are. */
  async busOn(store: Store): Promise<Bus> {
    const kept = interceptStore(store, {
      around: (_call, proceed) => proceed(),
      close: () => Promise.resolve(),
    });
    const bus = await createBus({ store: kept });
    this.#others.push(bus);
    return bus;
  }

  async topic(options: TopicOptions<unknown> = {}): Promise<string> {
    const name = `project-${++names}`;
    await this.bus.defineTopic({ name, partitions: 1, ...options });
    return name;
  }

  async publish(topic: string, items: readonly PublishItem[]): Promise<EventRecord[]> {
    const events: EventRecord[] = [];
    for (let i = 0; i < items.length; i += 1_000) {
      events.push(...(await this.bus.publishMany(topic, items.slice(i, i + 1_000))));
    }
    return events;
  }

  async events(topic: string): Promise<EventRecord[]> {
    const events: EventRecord[] = [];
    for await (const event of this.bus.read(topic)) events.push(event);
    return events;
  }

  /** The same bus with another store behind its projections. */
  hostOn(store: Store): Host {
    const { bus } = this;
    return {
      store,
      clock: bus.clock,
      tasks: bus.tasks,
      publish: (topic, payload, options) => bus.publish(topic, payload, options),
      publishMany: (topic, items) => bus.publishMany(topic, items),
      publishStored: (topic, items) => bus.publishStored(topic, items),
      subscribe: (topic, group, handler, options) => bus.subscribe(topic, group, handler, options),
      subscribeBatch: (topic, group, handler, options) => bus.subscribeBatch(topic, group, handler, options),
      read: (topic, position) => bus.read(topic, position),
      owned: (topic, group) => bus.owned(topic, group),
      defineTopic: (definition) => bus.defineTopic(definition),
      topics: () => bus.topics(),
    };
  }

  /** A process that dies at its n-th changing call, which did or did not happen; null calls mean that it never does. */
  dying(n: number, applies: boolean): { host: Host; died: () => boolean } {
    let calls = 0;
    const dead = (): boolean => calls >= n;
    const store = interceptStore(this.store, {
      around: async (call, proceed) => {
        if (dead()) throw new Error("the process is dead");
        if (CHANGING.has(call.name) && ++calls >= n) {
          if (applies) await proceed();
          throw new Error("the process died");
        }
        return proceed();
      },
    });
    return { host: this.hostOn(store), died: dead };
  }

  /** Counts the calls that go through the host. */
  counting(): { host: Host; counts: Partial<Record<CallName, number>> } {
    const counts: Partial<Record<CallName, number>> = {};
    const store = interceptStore(this.store, {
      around: (call, proceed) => {
        counts[call.name] = (counts[call.name] ?? 0) + 1;
        return proceed();
      },
    });
    return { host: this.hostOn(store), counts };
  }

  /** Waits until the group has settled everything. */
  async drained(topic: string, group: string): Promise<void> {
    await expect
      .poll(
        async () => (await this.bus.getCursor(topic, group))?.partitions.reduce((sum, p) => sum + p.lag, 0),
        {
          timeout: 30_000,
        },
      )
      .toBe(0);
  }
}

const CHANGING = new Set<CallName>([
  "log.append",
  "log.remove",
  "log.trim",
  "groups.start",
  "groups.claim",
  "groups.commit",
  "groups.release",
  "registry.putToken",
  "documents.write",
]);
