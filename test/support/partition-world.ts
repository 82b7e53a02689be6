/**
 * One partition of one group, with its log, its stored cursor and its owner of the moment, all driven by hand: pages,
 * commits and dead letters are answered when the schedule says so, and owners crash or leave when it says so.
 *
 * After every move it checks what must always hold; see `#check` and the notes at each kind of answer.
 */
import { begin, step } from "../../src/consume/delivery.js";
import type { DeliveryEvent, Effect } from "../../src/consume/delivery-events.js";
import {
  createDelivery,
  cursorOf,
  type Delivery,
  floorOf,
  type GroupPolicy,
  inFlightOf,
} from "../../src/consume/delivery-state.js";
import type { Entry, HandlingPolicy } from "../../src/consume/entry.js";
import type { StoredEvent } from "../../src/model/event.js";
import { type Cursor, START_CURSOR } from "../../src/ports/groups.js";
import { storedEvent } from "./stored-events.js";

interface Out {
  readonly entry: Entry;
  readonly attempt: number;
  /** Events of one demand that was a batch share a number; others have their own. */
  readonly company: number;
}

export class PartitionWorld {
  readonly policy: GroupPolicy;
  readonly handling: HandlingPolicy;
  readonly log: StoredEvent[] = [];
  readonly #removed = new Set<number>();
  nowMs = 1_000;
  #cursor: Cursor = START_CURSOR;
  #clean = true;
  #state!: Delivery;
  #out = new Map<number, Out>();
  #commits: Cursor[] = [];
  #burials: Entry[] = [];
  #fetchAfter: number | undefined;
  /** How far the log reached when the page under way was read: what came later is not in it. */
  #readThrough = 0;
  #released: Cursor | undefined;
  #company = 0;
  /** How often each event was handed out, over all owners. */
  readonly handedOut = new Map<number, number>();
  /** Handed out by the owner of the moment. */
  readonly #known = new Set<number>();
  /** Acked by a handler or written to the dead letters, committed or not. */
  readonly settled = new Set<number>();
  readonly buried = new Set<number>();

  constructor(policy: GroupPolicy, handling: HandlingPolicy) {
    this.policy = policy;
    this.handling = handling;
    this.#takeOver();
  }

  get inFlight(): number[] {
    return [...this.#out.keys()];
  }

  get phase(): Delivery["phase"] {
    return this.#state.phase;
  }

  /** A crash now would be pinned on an event. */
  get namesSuspect(): boolean {
    return [this.#cursor, ...this.#commits].some(({ suspect }) => suspect !== undefined);
  }

  append(key: string | undefined): void {
    this.log.push(storedEvent(this.log.length + 1, key === undefined ? {} : { key }));
    this.#send({ type: "grew" });
  }

  /** Compaction takes an event away; what was taken in stays as it is. */
  remove(seq: number): void {
    if (seq <= this.#state.high || seq > this.log.length) return;
    this.#removed.add(seq);
  }

  answerFetch(limit: number): void {
    const after = this.#fetchAfter;
    if (after === undefined) return;
    this.#fetchAfter = undefined;
    const head = this.#readThrough;
    const present = this.log.filter(({ seq }) => seq > after && seq <= head && !this.#removed.has(seq));
    const events = present.slice(0, limit);
    const atHead = events.length === present.length;
    const through = atHead ? Math.max(after, head) : (events.at(-1)?.seq ?? after);
    this.#send({ type: "arrived", events, through, atHead, nowMs: this.nowMs });
  }

  failFetch(): void {
    if (this.#fetchAfter === undefined) return;
    this.#fetchAfter = undefined;
    this.#send({ type: "unread" });
  }

  answerCommit(): void {
    const cursor = this.#commits.shift();
    if (cursor === undefined) return;
    this.#cursor = cursor;
    this.#send({ type: "committed", cursor, nowMs: this.nowMs });
  }

  answerBurial(): void {
    const entry = this.#burials.shift();
    if (entry === undefined) return;
    this.settled.add(entry.seq);
    this.buried.add(entry.seq);
    this.#send({ type: "buried", entry, nowMs: this.nowMs });
  }

  demand(count: number, batch: boolean): void {
    this.#company++;
    const { handling, nowMs } = this;
    this.#send({ type: "demand", count, batch, handling, nowMs });
  }

  /** The commit of an event, and of those it travels with, is under way. */
  pass(seq: number): void {
    const company = this.#out.get(seq)?.company;
    const fellows = [...this.#out.values()].filter((out) => out.company === company);
    if (fellows.some(({ entry }) => this.#comesBehind(entry.seq))) return;
    this.#send({ type: "passing", entries: fellows.map(({ entry }) => entry), nowMs: this.nowMs });
  }

  /** Whoever was let pass by events that are not settled yet must not be settled before them: it is given back. */
  ack(seq: number): void {
    const out = this.#out.get(seq);
    if (out === undefined) return;
    if (this.#comesBehind(seq)) {
      this.fail(seq, { counts: false });
      return;
    }
    this.#out.delete(seq);
    this.settled.add(seq);
    this.#send({ type: "handled", deliveries: [out], nowMs: this.nowMs });
  }

  fail(seq: number, how: { fatal?: boolean; counts?: boolean } = {}): void {
    const out = this.#out.get(seq);
    if (out === undefined) return;
    this.#out.delete(seq);
    const { fatal = false, counts = true } = how;
    const { entry, attempt } = out;
    const failure = { error: "boom", fatal, counts, random: 0.5, nowMs: this.nowMs };
    this.#send({ type: "failed", entry, attempt, ...failure });
  }

  /** An ack of an attempt that is over, by a handler that does not know. */
  staleAck(seq: number): void {
    const out = this.#out.get(seq);
    if (out === undefined || out.attempt < 2) return;
    const stale = { entry: out.entry, attempt: out.attempt - 1 };
    this.#send({ type: "handled", deliveries: [stale], nowMs: this.nowMs });
    if (!inFlightOf(this.#state).includes(out.entry)) throw new Error(`P6: a stale ack settled ${seq}`);
  }

  advance(ms: number): void {
    this.nowMs += ms;
    this.#send({ type: "tick", random: 0.5, nowMs: this.nowMs });
  }

  crash(): void {
    this.#clean = false;
    // Writes that had left may have arrived.
    if (this.#commits.length > 0 && this.nowMs % 2 === 0) this.#cursor = this.#commits[0] as Cursor;
    this.#takeOver();
  }

  leave(patient: boolean): void {
    this.#send({ type: patient ? "stop" : "halt" });
    for (const seq of patient ? this.inFlight : []) this.ack(seq);
    while (this.#commits.length > 0) this.answerCommit();
    while (patient && this.#burials.length > 0) this.answerBurial();
    if (this.#released === undefined) throw new Error("an owner that drained did not release");
    this.#cursor = this.#released;
    this.#clean = true;
    this.#send({ type: "released" });
    if (this.phase !== "stopped") throw new Error("an owner that released did not stop");
    this.#takeOver();
  }

  /** Answers everything until nothing is left to do. */
  drain(): void {
    for (let i = 0; i < 40 * (this.log.length + 10); i++) {
      if (this.settledThrough() && this.#commits.length === 0 && this.#cursor.floor === this.log.length)
        return;
      this.answerFetch(50);
      this.answerCommit();
      this.answerBurial();
      this.demand(50, i % 3 === 0);
      for (const seq of this.inFlight) this.ack(seq);
      this.advance(50);
    }
    throw new Error(`P15: stuck at floor ${floorOf(this.#state)} of ${this.log.length}, ${this.phase}`);
  }

  /** Events that nobody settled and nothing removed. */
  unsettled(): number[] {
    return this.log.map(({ seq }) => seq).filter((seq) => !this.#isDone(seq));
  }

  #isDone(seq: number): boolean {
    return this.settled.has(seq) || this.#removed.has(seq);
  }

  settledThrough(): boolean {
    return floorOf(this.#state) === this.log.length && this.#out.size === 0;
  }

  #takeOver(): void {
    this.#out.clear();
    this.#known.clear();
    this.#commits = [];
    this.#burials = [];
    this.#fetchAfter = undefined;
    this.#released = undefined;
    this.#state = createDelivery(this.#cursor, this.#clean, this.log.length);
    // Until it is released, whoever comes next has to assume the worst.
    this.#clean = false;
    this.#perform(begin(this.#state, this.policy));
    this.#check();
  }

  #send(event: DeliveryEvent): void {
    this.#perform(step(this.#state, event, this.policy));
    this.#check();
  }

  #perform(effects: readonly Effect[]): void {
    for (const effect of effects) {
      switch (effect.type) {
        case "fetch":
          if (this.#fetchAfter !== undefined) throw new Error("two pages asked for at once");
          this.#fetchAfter = effect.after;
          this.#readThrough = this.log.length;
          break;
        case "commit":
          this.#checkCursor(effect.cursor);
          this.#commits.push(effect.cursor);
          if (this.#commits.length > 1) throw new Error("two commits at once");
          break;
        case "release":
          this.#checkCursor(effect.cursor);
          if (this.#released !== undefined) throw new Error("released twice");
          this.#released = effect.cursor;
          break;
        case "deliver":
          for (const entry of effect.entries) this.#noteHandedOut(entry, entry.delivered);
          break;
        case "abort":
          this.#out.delete(effect.entry.seq);
          break;
        case "bury":
          this.#burials.push(effect.entry);
          break;
        case "wake":
          if (effect.atMs === Number.POSITIVE_INFINITY) throw new Error("asked to be woken never");
          break;
        case "stopped":
          break;
      }
    }
  }

  #noteHandedOut(entry: Entry, attempt: number): void {
    const { seq } = entry;
    const before = this.handedOut.get(seq) ?? 0;
    if (before > 0 && attempt < 2) throw new Error(`P5: ${seq} comes again as attempt ${attempt}`);
    if (seq > this.#cursor.mark)
      throw new Error(`P5: ${seq} goes out above the stored mark ${this.#cursor.mark}`);
    if (this.#state.phase === "careful" && this.#cursor.suspect !== seq)
      throw new Error(`P8: ${seq} goes out in careful mode before it is named in the cursor`);
    if (before === 0) this.#checkPredecessors(seq);
    else if (this.#known.has(seq) && this.#comesBehind(seq))
      throw new Error(`P4: ${seq} comes again before those it was behind`);
    this.#known.add(seq);
    this.handedOut.set(seq, before + 1);
    this.#out.set(seq, { entry, attempt, company: this.#company });
    this.#checkLane(seq);
  }

  /** P4: what comes before it in its lane was settled first, or travels with it. */
  #checkPredecessors(seq: number): void {
    for (const { seq: earlier } of this.log.slice(0, seq - 1)) {
      if (!this.#sameLane(earlier, seq) || this.settled.has(earlier) || this.#removed.has(earlier)) continue;
      const out = this.#out.get(earlier);
      if (out?.company !== this.#company && out?.entry.passed !== true)
        throw new Error(`P4: ${seq} goes out before ${earlier} of its lane is settled`);
    }
  }

  #checkLane(seq: number): void {
    for (const [other, { company, entry }] of this.#out) {
      if (other < seq && entry.passed) continue;
      if (other !== seq && this.#sameLane(other, seq) && company !== this.#company)
        throw new Error(`P4: ${other} and ${seq} of one lane are out at once`);
    }
  }

  /** Whether an earlier one of its lane, in other company, is neither settled nor removed. */
  #comesBehind(seq: number): boolean {
    const company = this.#out.get(seq)?.company ?? this.#company;
    return this.log
      .slice(0, seq - 1)
      .some(
        ({ seq: earlier }) =>
          this.#sameLane(earlier, seq) &&
          !this.#isDone(earlier) &&
          this.#out.get(earlier)?.company !== company,
      );
  }

  #sameLane(a: number, b: number): boolean {
    if (this.policy.ordering === "none") return false;
    if (this.policy.ordering === "partition") return true;
    const key = this.log[a - 1]?.key;
    return key !== undefined && key === this.log[b - 1]?.key;
  }

  #check(): void {
    if (this.#state.phase === "stopped") return;
    this.#checkCursor(cursorOf(this.#state, this.#state.mark));
    const unsettled = [...this.#state.entries].filter(({ standing }) => standing !== "settled").length;
    if (unsettled !== this.#state.buffered) throw new Error("P13: the buffer is miscounted");
    if (this.#state.bufferedBytes < 0) throw new Error("P13: the buffer's bytes are miscounted");
    if (this.#state.phase === "careful" && this.#state.inFlight > 1)
      throw new Error("P8: more than one out in careful mode");
    if (this.#state.phase !== "draining" && this.#state.inFlight !== this.#out.size)
      throw new Error("in flight here and there do not agree");
  }

  /** Says nothing is settled that is not, and says it in order. */
  #checkCursor(cursor: Cursor): void {
    for (let seq = 1; seq <= cursor.floor; seq++)
      if (!this.#isDone(seq))
        throw new Error(`the floor ${cursor.floor} passed ${seq}, which is not settled`);
    let last = cursor.floor;
    for (const [start, end] of cursor.settled) {
      if (start <= last + 1 || end < start)
        throw new Error(`ranges touch: floor ${cursor.floor}, ${JSON.stringify(cursor.settled)}`);
      for (let seq = start; seq <= end; seq++)
        if (!this.#isDone(seq)) throw new Error(`a range holds ${seq}, which is not settled`);
      last = end;
    }
    const attempts = cursor.attempts.map(({ seq }) => seq);
    const sorted = [...new Set(attempts)].sort((a, b) => a - b);
    if (JSON.stringify(attempts) !== JSON.stringify(sorted)) throw new Error("attempts are not in order");
    if (attempts.some((seq) => seq <= cursor.floor)) throw new Error("an attempt below the floor");
  }
}
