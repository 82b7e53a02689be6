/**
 * A transactional projection written against the ports alone: it counts the events of each key in a view, and stores
 * the counts and its cursor in one commit (P9). Counting forgives nothing: an event counted twice or not at all
 * shows in the sum.
 *
 * It owns partitions by lease like anybody else. Whenever an answer is unclear it forgets what it owns and claims
 * again: the store knows best.
 */
import { type Clock, pause } from "../../model/clock.js";
import type { StoredEvent } from "../../model/event.js";
import type { Cursor, GroupPartition } from "../../ports/groups.js";
import type { Store } from "../../ports/store.js";
import type { Recorder } from "../history/index.js";

export interface ProjectorOptions {
  readonly name: string;
  readonly store: Store;
  readonly clock: Clock;
  readonly recorder: Recorder;
  readonly topic: string;
  readonly group: string;
  readonly view: string;
  readonly partitions: number;
  /** How an event is called in the history. */
  readonly nameOf: (event: StoredEvent) => string;
}

const TTL_MS = 1_500;
const EVERY_MS = 150;
const PAGE = 7;

interface Owned {
  readonly epoch: number;
  readonly cursor: Cursor;
}

export class Projector {
  readonly #options: ProjectorOptions;
  readonly #owned = new Map<number, Owned>();
  readonly #stop = new AbortController();
  #running: Promise<void> | undefined;

  constructor(options: ProjectorOptions) {
    this.#options = options;
  }

  start(): void {
    this.#running = this.#run();
  }

  /** Gives back what it owns. */
  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }

  async #run(): Promise<void> {
    const { clock } = this.#options;
    let joined = false;
    while (!this.#stop.signal.aborted) {
      try {
        if (!joined) await this.#join();
        joined = true;
        await this.#beat();
        for (let partition = 0; partition < this.#options.partitions; partition++)
          await this.#advance(partition);
      } catch {
        this.#owned.clear();
      }
      await pause(clock, EVERY_MS, this.#stop.signal);
    }
    await this.#leave();
  }

  async #join(): Promise<void> {
    const { store, clock, name, topic, group, partitions } = this.#options;
    const session = { member: name, host: "simulated", pid: 1, processStart: "0" };
    await store.groups.open(session, { nowMs: clock.now(), ttlMs: TTL_MS });
    await store.groups.join({ topic, group }, name);
    await store.groups.start({ topic, group }, new Array<number>(partitions).fill(0));
  }

  async #beat(): Promise<void> {
    const { store, clock, name } = this.#options;
    await store.groups.beat(name, { nowMs: clock.now(), ttlMs: TTL_MS });
  }

  async #advance(partition: number): Promise<void> {
    const { store, clock, name } = this.#options;
    const ref = this.#ref(partition);
    const owned = this.#owned.get(partition) ?? (await store.groups.claim(ref, name, { nowMs: clock.now() }));
    if (owned === null) return;
    this.#owned.set(partition, owned);
    const page = await store.log.read(ref.topic, partition, { after: owned.cursor.floor, limit: PAGE });
    if (page.through === owned.cursor.floor) return;
    const cursor = { ...owned.cursor, floor: page.through, mark: page.through };
    for (const event of page.events) this.#note(event, owned.epoch);
    const writes = page.events.map((event) => ({
      op: "increment" as const,
      key: event.key ?? "-",
      ts: event.ts,
      by: { count: 1 },
    }));
    await store.documents.transact({
      writes: [{ view: this.#options.view, writes }],
      cursor: { ref, epoch: owned.epoch, cursor },
    });
    this.#owned.set(partition, { epoch: owned.epoch, cursor });
  }

  #note(event: StoredEvent, epoch: number): void {
    const { recorder, name: member, group, nameOf } = this.#options;
    const { topic, partition, seq } = event;
    const id = nameOf(event);
    recorder.record({
      type: "settled",
      outcome: "projected",
      member,
      group,
      topic,
      partition,
      seq,
      id,
      epoch,
      attempt: 1,
    });
  }

  async #leave(): Promise<void> {
    const { store, clock, name } = this.#options;
    for (const [partition, { epoch, cursor }] of this.#owned) {
      await store.groups.release(this.#ref(partition), epoch, cursor).catch(() => undefined);
    }
    await store.groups.close(name, { nowMs: clock.now() }).catch(() => undefined);
  }

  #ref(partition: number): GroupPartition {
    const { topic, group } = this.#options;
    return { topic, group, partition };
  }
}
