/**
 * The shell around one partition's delivery: performs what delivery.ts decides. It reads through the tail, writes the
 * cursor, one write at a time and again until it is done or the lease is lost, buries dead letters, and keeps one
 * timer.
 */
import { type CancelTimer, type Clock, recentMs } from "../model/clock.js";
import { BusError, inBrief } from "../model/errors.js";
import type { StoredEvent } from "../model/event.js";
import type { CursorPosition } from "../model/event-bus.js";
import { listOfOne } from "../model/list-of-one.js";
import type { Meters } from "../model/meter.js";
import type { Claim, Cursor, CursorWrite, Fence, GroupPartition, Groups } from "../ports/groups.js";
import { Burials } from "./burials.js";
import { Delivered, type Failed, HandOut, type Source } from "./context.js";
import { CursorTurns } from "./cursor-turns.js";
import { type GivenUp, givenUp } from "./dead-letter.js";
import { begin, isCurrent } from "./delivery.js";
import type { DeliveryEvent, Effect, Step } from "./delivery-events.js";
import { createDelivery, type Delivery, floorOf, type GroupPolicy } from "./delivery-state.js";
import type { Entry, HandlingPolicy } from "./entry.js";
import { FailedTries, type FailedTry } from "./failed-try.js";
import { GroupMeter } from "./group-meter.js";
import { type Insisting, insist } from "./insist.js";
import { Pauses } from "./pauses.js";
import type { Tail, TailPage, TailReader } from "./tail.js";
import { cursorWith } from "./transaction-cursor.js";

/** What a transaction ends with that had no effect for certain: it met another one, or was refused as it is. */
const WITHOUT_EFFECT: ReadonlySet<string> = new Set([
  "WRITE_CONFLICT",
  "INVALID_PAYLOAD",
  "INVALID_OPTION",
  "PAYLOAD_TOO_LARGE",
]);

/** What all partitions of a group share. */
export interface ShellOptions {
  readonly clock: Clock;
  readonly groups: Groups;
  readonly tail: Tail;
  readonly step: Step;
  readonly policy: GroupPolicy;
  readonly pageSize: number;
  readonly meters: Meters;
  /** False while it is not known whether leases are still held: then nothing is handed out. */
  readonly holdsLeases: () => boolean;
  /** Writes dead letters under this lease (P7); the same one twice is harmless. */
  readonly bury: (givenUp: readonly GivenUp[], fence: Fence) => Promise<void>;
  /** A read or write failed and will be tried again. */
  readonly onTrouble: (error: BusError, ref: GroupPartition) => void;
  /** A try failed, and there is another one. There may be thousands of them a second. */
  readonly onFailedTry: (failed: FailedTry, ref: GroupPartition) => void;
  /** There is something to hand out. */
  readonly onReady: (shell: DeliveryShell) => void;
  readonly onStopped: (shell: DeliveryShell) => void;
}

const NONE: readonly Delivered[] = [];
const GREW: DeliveryEvent = { type: "grew" };

export class DeliveryShell implements Source {
  readonly ref: GroupPartition;
  readonly epoch: number;
  /** It stands in the list of those who have something to hand out. */
  isListed = false;
  readonly #options: ShellOptions;
  readonly #state: Delivery;
  readonly #reader: TailReader;
  readonly #pauses: Pauses;
  readonly #meter: GroupMeter;
  readonly #insisting: Insisting;
  readonly #burials: Burials;
  readonly #failedTries: FailedTries;
  #cancelWake: CancelTimer | null = null;
  #failedReads = 0;
  readonly #turns: CursorTurns;
  readonly stopped: Promise<void>;
  #resolveStopped: () => void = () => undefined;

  constructor(ref: GroupPartition, claim: Claim, head: number, options: ShellOptions) {
    this.ref = ref;
    this.epoch = claim.epoch;
    this.#options = options;
    this.#state = createDelivery(claim.cursor, claim.clean, head, options.policy.hold);
    this.#pauses = new Pauses(options.clock);
    this.#meter = new GroupMeter(options.meters, options.clock, ref);
    this.#turns = new CursorTurns(claim.cursor.floor);
    this.#insisting = {
      pauses: this.#pauses,
      onTrouble: (error) => options.onTrouble(error, ref),
      onLost: () => this.fence(),
    };
    this.#failedTries = new FailedTries((failed) => options.onFailedTry(failed, ref));
    this.#burials = new Burials({
      append: (letters) => options.bury(letters, { ref, epoch: claim.epoch }),
      insisting: this.#insisting,
      buried: (entry) => this.#buried(entry),
    });
    this.stopped = new Promise((resolve) => {
      this.#resolveStopped = resolve;
    });
    this.#reader = options.tail.listen(ref.topic, ref.partition, () => this.#send(GREW));
    this.#performAll(begin(this.#state, options.policy));
  }

  get topic(): string {
    return this.ref.topic;
  }

  get group(): string {
    return this.ref.group;
  }

  get partition(): number {
    return this.ref.partition;
  }

  get position(): CursorPosition {
    const { lastId, lastTs } = this.#state;
    return { topic: this.ref.topic, ...(lastId !== undefined && { lastId, lastTs }) };
  }

  get state(): Readonly<Delivery> {
    return this.#state;
  }

  get floor(): number {
    return floorOf(this.#state);
  }

  get hasReady(): boolean {
    const { ready, phase } = this.#state;
    return ready.length > 0 && phase !== "draining" && phase !== "stopped";
  }

  /** Up to `count` events to be worked on now. */
  demand(count: number, batch: boolean, handling: HandlingPolicy): readonly Delivered[] {
    const { step, policy, clock, holdsLeases } = this.#options;
    if (!holdsLeases()) return NONE;
    const nowMs = clock.steady();
    const effects = step(this.#state, { type: "demand", count, batch, handling, nowMs }, policy);
    let deliveries = NONE;
    for (const effect of effects) {
      if (effect.type !== "deliver") this.#perform(effect);
      else deliveries = this.#handOut(effect.entries, new HandOut(this, handling.maxAttempts, nowMs));
    }
    this.#meter.delivered(deliveries.length);
    return deliveries;
  }

  #handOut(entries: readonly Entry[], handOut: HandOut): Delivered[] {
    const deliveries = new Array<Delivered>(entries.length);
    for (let i = 0; i < entries.length; i++) {
      const entry = entries[i] as Entry;
      const delivery = new Delivered(handOut, entry, entry.event as StoredEvent);
      entry.holder = delivery;
      deliveries[i] = delivery;
    }
    return deliveries;
  }

  handled(delivery: Delivered): boolean {
    return this.handledAll(listOfOne(delivery)).length > 0;
  }

  handledAll(deliveries: readonly Delivered[]): readonly Delivered[] {
    this.#send({ type: "handled", deliveries, nowMs: recentMs(this.#options.clock) });
    const settled = endSettled(deliveries);
    this.#meter.ackedAll(settled);
    return settled;
  }

  failed(delivery: Delivered, { error: said, detail, fatal = false, counts = true }: Failed): boolean {
    const { entry, attempt } = delivery;
    // Whoever gives it back may say anything, and it stands in the cursor, of which a store takes only so much.
    const error = inBrief(said);
    const { clock } = this.#options;
    const current = isCurrent(entry, attempt) && this.#state.phase !== "stopped";
    const random = clock.random();
    const nowMs = clock.steady();
    const { lease } = entry;
    this.#send({ type: "failed", entry, attempt, error, detail, fatal, counts, random, nowMs });
    if (current) {
      // What is only given back was no try.
      if (counts || detail !== undefined)
        this.#failedTries.add({ entry, lease, error, thrown: detail, counts });
      delivery.over();
      this.#meter.nacked(delivery);
    }
    return current;
  }

  #revoke(delivery: Delivered | null, why: "deadline" | "lost"): void {
    if (delivery === null) return;
    delivery.revoke(why);
    this.#meter.nacked(delivery);
  }

  extend(delivery: Delivered, ms: number): boolean {
    const { entry, attempt } = delivery;
    if (!isCurrent(entry, attempt) || this.#state.phase === "stopped") return false;
    this.#send({ type: "extended", entry, attempt, deadlineMs: this.#options.clock.steady() + ms });
    return true;
  }

  /**
   * Settles these events by a transaction of the caller's: `commit` writes the cursor it is given together with
   * whatever belongs to it, all or nothing (P9). No other cursor write comes between. Meanwhile the events behind these are
   * handed out; whoever gets them must wait for this commit before the next, unless that one is `early`: it is begun while
   * those before it are under way, and expects the floor that the last of them leaves. So it has no effect without them.
   */
  async settleBy(
    deliveries: readonly Delivered[],
    commit: (write: CursorWrite) => Promise<void>,
    { early = false }: { readonly early?: boolean } = {},
  ): Promise<void> {
    const live = deliveries.filter((delivery) => delivery.live).map(({ entry }) => entry);
    this.#send({ type: "hold", entries: live });
    let cursor: Cursor | undefined;
    try {
      const begin = (): Promise<Cursor> => this.#transact(deliveries, commit);
      cursor = await this.#turns.transact(begin, { early });
    } catch (error) {
      // Unless it is certain that nothing happened, only the store knows where the cursor stands: claim anew.
      if (!BusError.is(error) || !WITHOUT_EFFECT.has(error.code)) this.fence();
      throw error;
    } finally {
      this.#send({ type: "unhold", ...(cursor && { cursor }), nowMs: this.#options.clock.steady() });
    }
  }

  async #transact(
    deliveries: readonly Delivered[],
    commit: (write: CursorWrite) => Promise<void>,
  ): Promise<Cursor> {
    this.#checkLive(deliveries);
    const entries = deliveries.map(({ entry }) => entry);
    const { expectedFloor, settling } = this.#turns;
    const cursor = cursorWith(this.#state, this.#options.policy, entries, settling);
    const underWay = { entries, floor: cursor.floor };
    this.#turns.begin(underWay);
    try {
      const committing = commit({ ref: this.ref, epoch: this.epoch, cursor, expectedFloor });
      this.#send({ type: "passing", entries, nowMs: this.#options.clock.steady() });
      await committing;
    } catch (error) {
      this.#turns.fail(underWay);
      throw error;
    }
    this.#turns.stored(cursor.floor);
    // Given back while they were being committed, they would come again: the next claim knows that they are settled.
    if (deliveries.some(({ live }) => !live)) this.fence();
    this.handledAll(deliveries);
    this.#turns.end(underWay);
    return cursor;
  }

  #checkLive(deliveries: readonly Delivered[]): void {
    if (deliveries.every(({ live }) => live) && this.#state.phase !== "stopped") return;
    throw new BusError(
      "LEASE_LOST",
      `partition ${this.ref.partition} of ${this.ref.topic} moved, or a deadline passed`,
    );
  }

  /** Hands out nothing more; gives the partition back once everything that runs is settled. */
  stop(): void {
    this.#send({ type: "stop" });
  }

  /** Gives the partition back without waiting for what runs. */
  halt(): void {
    this.#send({ type: "halt" });
  }

  /** Somebody else owns the partition, or the store is gone. */
  fence(): void {
    this.#send({ type: "fenced" });
  }

  #send(event: DeliveryEvent): void {
    this.#performAll(this.#options.step(this.#state, event, this.#options.policy));
  }

  #performAll(effects: readonly Effect[]): void {
    for (const effect of effects) this.#perform(effect);
    if (this.hasReady) this.#options.onReady(this);
  }

  #perform(effect: Effect): void {
    switch (effect.type) {
      case "fetch":
        this.#fetch(effect.after);
        return;
      case "deliver":
        throw new BusError("INTERNAL", "events are handed out on demand only");
      case "abort":
        this.#revoke(effect.entry.holder as Delivered | null, effect.why);
        if (effect.why === "deadline") this.#failedTries.addOverdue(effect.entry);
        return;
      case "bury":
        this.#burials.add(effect.entry, givenUp(effect, this.ref.group, this.#options.clock.now()));
        return;
      case "commit":
        this.#turns.write(() => this.#commit(effect.cursor));
        return;
      case "wake":
        this.#wake(effect.atMs);
        return;
      case "release":
        this.#turns.write(() => this.#release(effect.cursor));
        return;
      case "stopped":
        this.#finish();
        return;
    }
  }

  #fetch(after: number): void {
    const page = this.#options.tail.read(this.#reader, after, this.#options.pageSize);
    if (page instanceof Promise) void this.#awaitPage(page);
    else this.#arrived(page, true);
  }

  async #awaitPage(reading: Promise<TailPage>): Promise<void> {
    const startMs = this.#options.clock.steady();
    try {
      const page = await reading;
      this.#meter.polled(startMs);
      this.#failedReads = 0;
      this.#arrived(page);
    } catch (error) {
      // The store is away, or the partition is damaged: nothing of it is served (P14), and it is asked again.
      this.#options.onTrouble(BusError.from(error, "STORE_UNAVAILABLE"), this.ref);
      await this.#pauses.after(++this.#failedReads);
      this.#send({ type: "unread" });
    }
  }

  #arrived({ events, through, atHead }: TailPage, isNear = false): void {
    this.#send({ type: "arrived", events, through, atHead, isNear, nowMs: this.#options.clock.steady() });
  }

  async #commit(cursor: Cursor): Promise<void> {
    const write = (): Promise<void> => this.#options.groups.commit(this.ref, this.epoch, cursor);
    const startMs = this.#options.clock.steady();
    if (!(await insist(write, this.#insisting))) return;
    this.#turns.stored(cursor.floor);
    const nowMs = this.#options.clock.steady();
    this.#send({ type: "committed", cursor, nowMs, tookMs: nowMs - startMs });
  }

  async #release(cursor: Cursor): Promise<void> {
    const done = await insist(
      () => this.#options.groups.release(this.ref, this.epoch, cursor),
      this.#insisting,
    );
    if (done) this.#send({ type: "released" });
  }

  #buried(entry: Entry): void {
    this.#meter.deadLettered();
    this.#send({ type: "buried", entry, nowMs: this.#options.clock.steady() });
  }

  #wake(atMs: number): void {
    const { clock } = this.#options;
    this.#cancelWake?.();
    this.#cancelWake = clock.setTimer(Math.max(0, atMs - clock.steady()), () => {
      this.#cancelWake = null;
      this.#send({ type: "tick", random: clock.random(), nowMs: clock.steady() });
    });
  }

  #finish(): void {
    this.#cancelWake?.();
    this.#reader.stop();
    this.#pauses.end();
    this.#resolveStopped();
    this.#options.onStopped(this);
  }
}

/** Those that were just settled: what was acked before is over already. */
function endSettled(deliveries: readonly Delivered[]): readonly Delivered[] {
  let others: Set<number> | null = null;
  for (let i = 0; i < deliveries.length; i++) {
    const delivery = deliveries[i] as Delivered;
    if (delivery.isSettled && delivery.over()) continue;
    others ??= new Set();
    others.add(i);
  }
  return others === null ? deliveries : deliveries.filter((_, i) => !others.has(i));
}
