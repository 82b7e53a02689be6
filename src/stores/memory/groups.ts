/**
 * Sessions, leases and cursors in memory. No call waits inside, so each is atomic; what stays to be right is the
 * fencing (P7): a cursor is written only under the epoch that owns it.
 *
 * Invariant: the epoch of a partition never falls, not even when its group is removed and started again. Of those that were removed
 * the last are remembered one by one; of all before them one number, the highest epoch that any of them had: what starts later begins there.
 */
import { BusError } from "../../model/errors.js";
import type { Seq } from "../../model/event.js";
import type {
  Claim,
  Cursor,
  CursorWrite,
  Epoch,
  Fence,
  GroupChanges,
  GroupPartition,
  GroupRef,
  GroupState,
  Groups,
  Lease,
  Session,
  Timed,
} from "../../ports/groups.js";
import { START_CURSOR } from "../../ports/groups.js";
import type { Lifetime } from "./lifetime.js";
import type { Signals } from "./signals.js";
import { compareText } from "./text-order.js";

/** Sessions silent for this long beyond their end are forgotten: their bus is not coming back. */
const SWEEP_AFTER_MS = 3_600_000;

/** Groups that were removed, or left without ever having begun, of which it is remembered which they were. */
const MAX_UNUSED = 1_000;

interface Living {
  readonly session: Session;
  untilMs: number;
}

interface Held {
  epoch: Epoch;
  owner: string | null;
  /** The last owner gave it back, or there was none. */
  clean: boolean;
  /** Undefined once the group was removed: only the epoch is remembered. */
  cursor: Cursor | undefined;
}

interface Group {
  readonly ref: GroupRef;
  readonly members: Set<string>;
  /** Index = partition. */
  readonly partitions: Held[];
  /** Version of its last change. */
  changed: number;
}

export class MemoryGroups implements Groups {
  readonly #lifetime: Lifetime;
  readonly #signals: Signals;
  readonly #sessions = new Map<string, Living>();
  readonly #groups = new Map<string, Group>();
  #version = 0;
  /** Without members and cursors, the oldest first. */
  readonly #unused = new Set<Group>();
  /** No group that was forgotten had a higher one. */
  #goneEpoch: Epoch = 0;

  constructor(lifetime: Lifetime, signals: Signals) {
    this.#lifetime = lifetime;
    this.#signals = signals;
  }

  async open(session: Session, o: Timed & { ttlMs: number }): Promise<void> {
    this.#lifetime.check();
    for (const [member, { untilMs }] of this.#sessions) {
      if (untilMs + SWEEP_AFTER_MS < o.nowMs) this.#end(member);
    }
    this.#sessions.set(session.member, {
      session: Object.freeze({ ...session }),
      untilMs: o.nowMs + o.ttlMs,
    });
  }

  async beat(member: string, o: Timed & { ttlMs: number }): Promise<boolean> {
    this.#lifetime.check();
    const living = this.#sessions.get(member);
    if (living === undefined) return false;
    living.untilMs = o.nowMs + o.ttlMs;
    return true;
  }

  async close(member: string, _o: Timed): Promise<void> {
    this.#lifetime.check();
    this.#end(member);
  }

  async sessions(o: Timed): Promise<readonly Session[]> {
    this.#lifetime.check();
    return [...this.#sessions.values()].filter((s) => s.untilMs > o.nowMs).map((s) => s.session);
  }

  async join(ref: GroupRef, member: string): Promise<void> {
    this.#lifetime.check();
    const group = this.#ensure(ref);
    if (group.members.has(member)) return;
    group.members.add(member);
    this.#touch(group);
  }

  async leave(ref: GroupRef, member: string): Promise<void> {
    this.#lifetime.check();
    const group = this.#groups.get(nameOf(ref));
    if (!group?.members.delete(member)) return;
    this.#touch(group);
    this.#retire(group);
  }

  async start(ref: GroupRef, floors: readonly Seq[]): Promise<void> {
    this.#lifetime.check();
    const group = this.#ensure(ref);
    let changed = false;
    floors.forEach((floor, partition) => {
      const held = this.#held(group, partition);
      if (held.cursor !== undefined) return;
      held.cursor = Object.freeze({ ...START_CURSOR, floor, mark: floor });
      changed = true;
    });
    if (changed) this.#touch(group);
  }

  async claim(ref: GroupPartition, member: string, o: Timed): Promise<Claim | null> {
    this.#lifetime.check();
    const group = this.#groups.get(nameOf(ref));
    const held = group?.partitions[ref.partition];
    if (group === undefined || held?.cursor === undefined) return null;
    // Its own owner may claim it again: it may never have heard that it was granted.
    if (held.owner !== null && held.owner !== member && this.#alive(held.owner, o.nowMs)) return null;
    const clean = held.owner === null && held.clean;
    held.epoch++;
    held.owner = member;
    held.clean = false;
    this.#touch(group);
    return { epoch: held.epoch, cursor: held.cursor, clean };
  }

  async commit(ref: GroupPartition, epoch: Epoch, cursor: Cursor): Promise<void> {
    this.#lifetime.check();
    this.store({ ref, epoch, cursor });
  }

  async release(ref: GroupPartition, epoch: Epoch, cursor: Cursor): Promise<void> {
    this.#lifetime.check();
    const { group, held } = this.#owned(ref, epoch);
    this.store({ ref, epoch, cursor });
    held.owner = null;
    held.clean = true;
    this.#touch(group);
  }

  async move(ref: GroupPartition, cursor: Cursor): Promise<void> {
    this.#lifetime.check();
    const group = this.#ensure(ref);
    const held = this.#held(group, ref.partition);
    held.cursor = frozenCopy(cursor);
    held.epoch++;
    held.owner = null;
    this.#touch(group);
  }

  async state(ref: GroupRef, o: Timed): Promise<GroupState | null> {
    this.#lifetime.check();
    const group = this.#groups.get(nameOf(ref));
    const leases: Lease[] = [];
    group?.partitions.forEach(({ cursor, epoch, owner }, partition) => {
      if (cursor === undefined) return;
      leases.push({ partition, epoch, owner, alive: this.#alive(owner, o.nowMs), cursor });
    });
    if (group === undefined || leases.length === 0) return null;
    const members = [...group.members].filter((m) => this.#alive(m, o.nowMs)).sort(compareText);
    return { ...group.ref, members, leases };
  }

  async list(topic?: string): Promise<readonly GroupRef[]> {
    this.#lifetime.check();
    return [...this.#groups.values()]
      .filter((g) => (topic === undefined || g.ref.topic === topic) && hasCursor(g))
      .map((g) => g.ref)
      .sort((a, b) => compareText(a.topic, b.topic) || compareText(a.group, b.group));
  }

  async changes(version: number): Promise<GroupChanges> {
    this.#lifetime.check();
    if (version === this.#version) return { version, groups: [] };
    const changed = [...this.#groups.values()].filter((g) => g.changed > version);
    return { version: this.#version, groups: changed.map((g) => g.ref) };
  }

  async remove(ref: GroupRef): Promise<void> {
    this.#lifetime.check();
    const group = this.#groups.get(nameOf(ref));
    if (group === undefined || !hasCursor(group)) return;
    for (const held of group.partitions) {
      held.cursor = undefined;
      held.epoch++;
      held.owner = null;
      held.clean = true;
    }
    this.#touch(group);
    this.#retire(group);
  }

  #retire(group: Group): void {
    if (group.members.size > 0 || hasCursor(group)) return;
    this.#unused.add(group);
    if (this.#unused.size <= MAX_UNUSED) return;
    const [oldest] = this.#unused;
    if (oldest === undefined) return;
    this.#unused.delete(oldest);
    this.#groups.delete(nameOf(oldest.ref));
    this.#goneEpoch = Math.max(this.#goneEpoch, ...oldest.partitions.map(({ epoch }) => epoch));
  }

  /** Throws LEASE_LOST unless the epoch owns the partition. */
  fence({ ref, epoch }: Fence): void {
    this.#owned(ref, epoch);
  }

  /** Throws what would stop `store`. */
  check({ ref, epoch, expectedFloor }: CursorWrite): void {
    const { floor } = this.#owned(ref, epoch).cursor;
    if (expectedFloor === undefined || expectedFloor === floor) return;
    throw new BusError(
      "WRITE_CONFLICT",
      `the cursor of group "${ref.group}" on partition ${ref.partition} of "${ref.topic}" is at ${floor}, not at ${expectedFloor}`,
      { details: { ...ref, floor, expectedFloor } },
    );
  }

  /** What `commit` does, without the wait: for a unit of documents and cursor. */
  store({ ref, epoch, cursor }: CursorWrite): void {
    const { held, cursor: present } = this.#owned(ref, epoch);
    if (cursor.floor >= present.floor) held.cursor = frozenCopy(cursor);
  }

  #owned(ref: GroupPartition, epoch: Epoch): { group: Group; held: Held; cursor: Cursor } {
    const group = this.#groups.get(nameOf(ref));
    const held = group?.partitions[ref.partition];
    if (group !== undefined && held?.cursor !== undefined && held.owner !== null && held.epoch === epoch) {
      return { group, held, cursor: held.cursor };
    }
    throw new BusError(
      "LEASE_LOST",
      `group "${ref.group}" holds partition ${ref.partition} of "${ref.topic}" no longer under epoch ${epoch}`,
      { details: { ...ref, epoch, newest: held?.epoch ?? 0 } },
    );
  }

  /** Leases it held stay in its name, which no longer lives: not released. */
  #end(member: string): void {
    if (!this.#sessions.delete(member)) return;
    for (const group of this.#groups.values()) {
      const joined = group.members.delete(member);
      if (joined || group.partitions.some((held) => held.owner === member)) this.#touch(group);
      if (joined) this.#retire(group);
    }
  }

  #alive(member: string | null, nowMs: number): boolean {
    const living = member === null ? undefined : this.#sessions.get(member);
    return living !== undefined && living.untilMs > nowMs;
  }

  #ensure(ref: GroupRef): Group {
    const name = nameOf(ref);
    let group = this.#groups.get(name);
    if (group === undefined) {
      const { topic, group: groupName } = ref;
      group = {
        ref: Object.freeze({ topic, group: groupName }),
        members: new Set(),
        partitions: [],
        changed: 0,
      };
      this.#groups.set(name, group);
    }
    this.#unused.delete(group);
    return group;
  }

  #held(group: Group, partition: number): Held {
    while (group.partitions.length <= partition) {
      group.partitions.push({ epoch: this.#goneEpoch, owner: null, clean: true, cursor: undefined });
    }
    return group.partitions[partition] as Held;
  }

  #touch(group: Group): void {
    group.changed = ++this.#version;
    this.#signals.send({ type: "group", ref: group.ref });
  }
}

/** Topic names have no blanks, so this is never ambiguous. */
function nameOf(ref: GroupRef): string {
  return `${ref.topic} ${ref.group}`;
}

function hasCursor(group: Group): boolean {
  return group.partitions.some((held) => held.cursor !== undefined);
}

/** The delivery engine goes on changing its own ranges; what was committed must not change with them. */
function frozenCopy(cursor: Cursor): Cursor {
  return Object.freeze({
    ...cursor,
    settled: Object.freeze(cursor.settled.map(([from, to]) => Object.freeze([from, to] as const))),
    attempts: Object.freeze(cursor.attempts.map((attempt) => Object.freeze({ ...attempt }))),
  });
}
