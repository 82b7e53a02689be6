/** Members and assignments inside one process. Groups across processes use leases in the store instead. */
import { type Clock, systemClock } from "../model/clock.js";
import { BusError } from "../model/errors.js";
import { checkOptionNames } from "../model/known-options.js";
import { assignPartitions } from "./assignment.js";

/** Who has which share of a group, as the coordinator divided them. */
export interface Assignment {
  readonly group: string;
  readonly partitions: number;
  /** Member by partition; empty if the group has no members. */
  readonly owners: Readonly<Record<number, string>>;
}

interface Member {
  readonly id: string;
  lastSeenMs: number;
  readonly meta: Readonly<Record<string, unknown>> | undefined;
}

/**
 * Divides shares among the members of a group that live in one process, and forgets those that are silent for `ttlMs`.
 *
 * @example
 * const coordinator = new PartitionCoordinator({ ttlMs: 10_000 });
 * coordinator.join("analyzers", "worker-a");
 * coordinator.assign("analyzers", 8).owners; // { 0: "worker-a", 1: "worker-a", … }
 */
export class PartitionCoordinator {
  readonly #ttlMs: number;
  readonly #clock: Clock;
  readonly #groups = new Map<string, Map<string, Member>>();
  /** What was assigned last, so that little moves. */
  readonly #owners = new Map<string, (string | null)[]>();

  constructor(options: { ttlMs?: number; clock?: Clock } = {}) {
    checkOptionNames("PartitionCoordinator", options, ["ttlMs", "clock"]);
    const { ttlMs = 15_000, clock = systemClock } = options;
    if (!(ttlMs >= 0)) throw new BusError("INVALID_OPTION", "ttlMs must be a number of milliseconds");
    this.#ttlMs = ttlMs;
    this.#clock = clock;
  }

  join(group: string, id: string, meta?: Readonly<Record<string, unknown>>): void {
    let members = this.#groups.get(group);
    if (members === undefined) {
      members = new Map();
      this.#groups.set(group, members);
    }
    members.set(id, { id, lastSeenMs: this.#clock.steady(), meta });
  }

  heartbeat(group: string, id: string): void {
    const member = this.#groups.get(group)?.get(id);
    if (member !== undefined) member.lastSeenMs = this.#clock.steady();
  }

  leave(group: string, id: string): void {
    this.#groups.get(group)?.delete(id);
  }

  /** Drops members that were not heard of for the time to live. */
  sweep(): void {
    const oldestMs = this.#clock.steady() - this.#ttlMs;
    for (const members of this.#groups.values()) {
      for (const member of members.values()) if (member.lastSeenMs < oldestMs) members.delete(member.id);
    }
  }

  members(group: string): string[] {
    return [...(this.#groups.get(group)?.keys() ?? [])].sort();
  }

  /** Balanced within one; when members come or go, only what must move moves. */
  assign(group: string, partitions: number): Assignment {
    const slot = `${group}/${partitions}`;
    const before = this.#owners.get(slot) ?? new Array<string | null>(partitions).fill(null);
    const owners = assignPartitions(this.members(group), before, group);
    this.#owners.set(slot, owners);
    return {
      group,
      partitions,
      owners: Object.fromEntries(owners.flatMap((owner, p) => (owner === null ? [] : [[p, owner]]))),
    };
  }
}
