/**
 * Who may write a partition's cursor when. Plain writes go one after the other. A transaction that is to be early is begun
 * while those before it are under way: it expects the floor that the last of them leaves, so that it has no effect unless
 * they had (P9). When one of them fails, those begun behind it count no more.
 */
import type { Seq } from "../model/event.js";
import type { Entry } from "./entry.js";

/** A transaction that was sent and whose events are not settled yet. */
export interface UnderWay {
  readonly entries: readonly Entry[];
  /** The floor that it leaves. */
  readonly floor: Seq;
}

export class CursorTurns {
  /** Everything that was asked for so far is over. */
  #over: Promise<unknown> = Promise.resolve();
  /** What nothing may be begun before: all but transactions that have begun. */
  #queued = 0;
  #storedFloor: Seq;
  readonly #underWay: UnderWay[] = [];

  constructor(storedFloor: Seq) {
    this.#storedFloor = storedFloor;
  }

  /** `write` must not fail. */
  write(write: () => Promise<void>): void {
    this.#queued++;
    this.#over = this.#over.then(write).then(this.#written);
  }

  readonly #written = (): void => {
    this.#queued--;
  };

  /** Begins a transaction when everything before it is over; an early one at once, if only transactions are. */
  transact<T>(transact: () => Promise<T>, { early }: { readonly early: boolean }): Promise<T> {
    const turn = early && this.#queued === 0 ? transact() : this.#inTurn(transact);
    this.#over = Promise.allSettled([this.#over, turn]).then(forget);
    return turn;
  }

  /** The floor that is stored once everything under way has taken effect. */
  get expectedFloor(): Seq {
    return Math.max(this.#storedFloor, this.#underWay.at(-1)?.floor ?? 0);
  }

  /** Events that are settled once everything under way has taken effect. */
  get settling(): number {
    return this.#underWay.reduce((sum, { entries }) => sum + entries.length, 0);
  }

  begin(one: UnderWay): void {
    this.#underWay.push(one);
  }

  stored(floor: Seq): void {
    this.#storedFloor = Math.max(this.#storedFloor, floor);
  }

  /** Its events are settled. */
  end(one: UnderWay): void {
    const at = this.#underWay.indexOf(one);
    if (at >= 0) this.#underWay.splice(at, 1);
  }

  /** What was begun behind it expects a floor that will not be there. */
  fail(one: UnderWay): void {
    const at = this.#underWay.indexOf(one);
    if (at >= 0) this.#underWay.length = at;
  }

  #inTurn<T>(transact: () => Promise<T>): Promise<T> {
    this.#queued++;
    return this.#over.then(() => {
      this.#queued--;
      return transact();
    });
  }
}

/** What they came to would be kept by what follows them, and that by what follows it (P13). */
function forget(): void {}
