/**
 * Plays the shell to the pure delivery step, by hand: every read, write, hand-out and hour is in the test's power.
 * Commits are answered only when the test says so, unless `autoCommit` is set.
 */
import { begin, step } from "../../src/consume/delivery.js";
import type { DeliveryEvent, Effect } from "../../src/consume/delivery-events.js";
import {
  createDelivery,
  type Delivery,
  floorOf,
  type GroupPolicy,
  inFlightOf,
} from "../../src/consume/delivery-state.js";
import type { Entry, HandlingPolicy } from "../../src/consume/entry.js";
import type { StoredEvent } from "../../src/model/event.js";
import { type Cursor, START_CURSOR } from "../../src/ports/groups.js";
import { storedEvent } from "./stored-events.js";

export const GROUP_POLICY: GroupPolicy = {
  ordering: "key",
  maxBufferedEvents: 1_000,
  maxBufferedBytes: 1_000_000,
  maxSpan: 10_000,
  stride: 100,
  commitEveryMs: 50,
  commitEverySettles: 1_000,
};

export const HANDLING: HandlingPolicy = {
  maxAttempts: 3,
  ackTimeoutMs: 1_000,
  retry: { baseMs: 10, maxMs: 1_000, factor: 2, jitter: 0 },
  deadLetter: true,
};

export interface DriverOptions {
  readonly cursor?: Partial<Cursor>;
  readonly clean?: boolean;
  readonly head?: number;
  readonly policy?: Partial<GroupPolicy>;
  readonly handling?: Partial<HandlingPolicy>;
  readonly autoCommit?: boolean;
  readonly nowMs?: number;
}

export interface HandedOut {
  readonly seq: number;
  readonly attempt: number;
}

type Of<T extends Effect["type"]> = Extract<Effect, { type: T }>;

export class DeliveryDriver {
  readonly state: Delivery;
  readonly policy: GroupPolicy;
  readonly handling: HandlingPolicy;
  readonly #autoCommit: boolean;
  nowMs: number;
  /** Every effect so far. */
  readonly effects: Effect[] = [];
  /** Commits that were not answered yet. */
  readonly commits: Cursor[] = [];
  /** The newest cursor that the store holds. */
  stored: Cursor;
  readonly #out = new Map<number, { entry: Entry; attempt: number }>();

  constructor(options: DriverOptions = {}) {
    this.stored = { ...START_CURSOR, ...options.cursor };
    this.policy = { ...GROUP_POLICY, ...options.policy };
    this.handling = { ...HANDLING, ...options.handling };
    this.#autoCommit = options.autoCommit ?? true;
    this.nowMs = options.nowMs ?? 10_000;
    this.state = createDelivery(this.stored, options.clean ?? true, options.head ?? 0, this.policy.hold);
    this.#note(begin(this.state, this.policy));
  }

  get floor(): number {
    return floorOf(this.state);
  }

  get phase(): Delivery["phase"] {
    return this.state.phase;
  }

  get inFlight(): number[] {
    return inFlightOf(this.state).map(({ seq }) => seq);
  }

  of<T extends Effect["type"]>(type: T): Of<T>[] {
    return this.effects.filter((effect): effect is Of<T> => effect.type === type);
  }

  last<T extends Effect["type"]>(type: T): Of<T> | undefined {
    return this.of(type).at(-1);
  }

  send(event: DeliveryEvent): readonly Effect[] {
    const effects = step(this.state, event, this.policy);
    this.#note(effects);
    return effects;
  }

  #note(effects: readonly Effect[]): void {
    this.effects.push(...effects);
    for (const effect of effects) {
      if (effect.type === "commit") this.commits.push(effect.cursor);
      if (effect.type === "deliver")
        for (const entry of effect.entries) this.#out.set(entry.seq, { entry, attempt: entry.delivered });
    }
    if (this.#autoCommit) this.answerCommits();
  }

  answerCommits(): void {
    for (let cursor = this.commits.shift(); cursor !== undefined; cursor = this.commits.shift()) {
      this.stored = cursor;
      this.send({ type: "committed", cursor, nowMs: this.nowMs });
    }
  }

  /** The log has these, and nothing more up to `through`. */
  arrive(events: readonly StoredEvent[], options: { through?: number; atHead?: boolean } = {}): void {
    const through = options.through ?? events.at(-1)?.seq ?? this.state.high;
    const atHead = options.atHead ?? true;
    this.send({ type: "arrived", events, through, atHead, nowMs: this.nowMs });
  }

  grew(): void {
    this.send({ type: "grew" });
  }

  demand(count: number, batch = false): HandedOut[] {
    const effects = this.send({
      type: "demand",
      count,
      batch,
      handling: this.handling,
      nowMs: this.nowMs,
    });
    return effects
      .filter((effect): effect is Of<"deliver"> => effect.type === "deliver")
      .flatMap(({ entries }) => entries.map(({ seq, delivered }) => ({ seq, attempt: delivered })));
  }

  seqs(count = 1_000, batch = false): number[] {
    return this.demand(count, batch).map(({ seq }) => seq);
  }

  entry(seq: number): Entry {
    const out = this.#out.get(seq);
    if (out === undefined) throw new Error(`${seq} was never handed out`);
    return out.entry;
  }

  /** By default in the attempt that was handed out last. */
  ack(seq: number, attempt = this.#out.get(seq)?.attempt ?? 0): readonly Effect[] {
    const deliveries = [{ entry: this.entry(seq), attempt }];
    return this.send({ type: "handled", deliveries, nowMs: this.nowMs });
  }

  fail(
    seq: number,
    options: { fatal?: boolean; counts?: boolean; attempt?: number; error?: string } = {},
  ): readonly Effect[] {
    const { fatal = false, counts = true, error = "boom" } = options;
    const attempt = options.attempt ?? this.#out.get(seq)?.attempt ?? 0;
    return this.send({
      type: "failed",
      entry: this.entry(seq),
      attempt,
      error,
      fatal,
      counts,
      random: 0,
      nowMs: this.nowMs,
    });
  }

  extend(seq: number, ms: number, attempt = this.#out.get(seq)?.attempt ?? 0): void {
    this.send({ type: "extended", entry: this.entry(seq), attempt, deadlineMs: this.nowMs + ms });
  }

  buried(seq: number): void {
    const effect = this.of("bury").findLast((bury) => bury.entry.seq === seq);
    if (effect === undefined) throw new Error(`${seq} was never to be buried`);
    this.send({ type: "buried", entry: effect.entry, nowMs: this.nowMs });
  }

  tick(ms = 0): readonly Effect[] {
    this.nowMs += ms;
    return this.send({ type: "tick", random: 0, nowMs: this.nowMs });
  }

  /** The next owner, after a release if there was one, else after a crash. */
  successor(options: Omit<DriverOptions, "cursor" | "clean"> = {}): DeliveryDriver {
    const released = this.last("release");
    return new DeliveryDriver({
      policy: this.policy,
      handling: this.handling,
      nowMs: this.nowMs,
      ...options,
      cursor: released?.cursor ?? this.stored,
      clean: released !== undefined,
    });
  }
}

/** Events 1 to `n`, of one key or of none. */
export const upTo = (n: number, key?: string): StoredEvent[] =>
  Array.from({ length: n }, (_, i) => storedEvent(i + 1, key === undefined ? {} : { key }));

/** A delivery that has taken in `n` events without keys and knows that there are no more. */
export function loaded(n: number, options: DriverOptions = {}): DeliveryDriver {
  const driver = new DeliveryDriver(options);
  driver.arrive(upTo(n));
  return driver;
}
