/**
 * Work on a partition that only one process may do at a time, outside any subscription: a session of its own, and the
 * leases it takes. Safety rests on the epoch that every write carries (P7); the session only says for how long others
 * wait. It is kept alive by the work itself, so it has no timer.
 */
import { hostname } from "node:os";
import type { Clock } from "../model/clock.js";
import { BusError } from "../model/errors.js";
import type { Seq } from "../model/event.js";
import { type Fence, type GroupPartition, type Groups, START_CURSOR } from "../ports/groups.js";

const SESSION_MS = 30_000;

export class WorkSession {
  readonly #groups: Groups;
  readonly #clock: Clock;
  readonly #member: string;
  #renewAtMs: number;

  private constructor(groups: Groups, clock: Clock, member: string) {
    this.#groups = groups;
    this.#clock = clock;
    this.#member = member;
    this.#renewAtMs = clock.steady() + SESSION_MS / 3;
  }

  static async open(groups: Groups, clock: Clock, kind: string): Promise<WorkSession> {
    const member = `${hostname()}:${process.pid}:${kind}:${clock.newId().slice(-12)}`;
    const processStart = String(Math.round(performance.timeOrigin));
    await groups.open(
      { member, host: hostname(), pid: process.pid, processStart },
      { ttlMs: SESSION_MS, nowMs: clock.now() },
    );
    return new WorkSession(groups, clock, member);
  }

  /** The partition, if nobody else works on it. */
  async claim(ref: GroupPartition): Promise<PartitionLease | null> {
    await this.renew();
    const claim = await this.#groups.claim(ref, this.#member, { nowMs: this.#clock.now() });
    if (claim === null) return null;
    return new PartitionLease(this.#groups, { ref, epoch: claim.epoch }, claim.cursor.floor);
  }

  /** To be called now and then while working. */
  async renew(): Promise<void> {
    if (this.#clock.steady() < this.#renewAtMs) return;
    this.#renewAtMs = this.#clock.steady() + SESSION_MS / 3;
    if (await this.#groups.beat(this.#member, { ttlMs: SESSION_MS, nowMs: this.#clock.now() })) return;
    throw new BusError("LEASE_LOST", "this process was silent for so long that its session was swept away");
  }

  async close(): Promise<void> {
    try {
      await this.#groups.close(this.#member, { nowMs: this.#clock.now() });
    } catch {
      // The session runs out by itself.
    }
  }
}

export class PartitionLease {
  readonly fence: Fence;
  readonly #groups: Groups;
  #floor: Seq;

  constructor(groups: Groups, fence: Fence, floor: Seq) {
    this.#groups = groups;
    this.fence = fence;
    this.#floor = floor;
  }

  get floor(): Seq {
    return this.#floor;
  }

  async advance(floor: Seq): Promise<void> {
    await this.#groups.commit(this.fence.ref, this.fence.epoch, { ...START_CURSOR, floor, mark: floor });
    this.#floor = floor;
  }

  /** Gives it back; one that was lost meanwhile needs no giving back. */
  async release(): Promise<void> {
    try {
      const cursor = { ...START_CURSOR, floor: this.#floor, mark: this.#floor };
      await this.#groups.release(this.fence.ref, this.fence.epoch, cursor);
    } catch (error) {
      if (!BusError.is(error, "LEASE_LOST")) throw error;
    }
  }
}
