/**
 * Sessions, members, leases and cursors, in the writing thread. Each operation is one step of a transaction, so that an
 * epoch is compared and a cursor written with nothing in between, also among processes (P7).
 *
 * Cursors that are committed with nearly every group of requests are decided by what is remembered of their leases, and written
 * together by `flush`, before the transaction ends.
 *
 * Invariants:
 * - the epoch of a partition never falls, not even when its group is removed and started again;
 * - what is remembered of a lease is what the file says, or will say after `flush`: whatever else changes a lease lets go of it.
 */
import { BusError } from "../../model/errors.js";
import type { Seq } from "../../model/event.js";
import type { Cursor, Epoch, GroupPartition, GroupRef } from "../../ports/groups.js";
import { groupKey, START_CURSOR } from "../../ports/groups.js";
import type { ProcessWatch } from "./process-identity.js";
import type { ArgumentOf, CursorText, Operations } from "./protocol.js";
import { type Connection, rowsOf, type SqlValue } from "./sqlite.js";

/** Sessions silent for this long beyond their end are forgotten: their bus is not coming back. */
const SWEEP_AFTER_MS = 3_600_000;

type LeaseRow = [epoch: number, owner: string | null, clean: number, cursor: string | null];

/** A lease that is held, and its cursor. */
interface HeldLease {
  readonly ref: GroupPartition;
  readonly epoch: Epoch;
  floor: Seq;
  cursor: string;
}

/** Cursors written by one statement. */
const TOGETHER = 8;
const UPDATE_ONE =
  "UPDATE lease SET cursor = ?5 WHERE topic = ?1 AND grp = ?2 AND partition = ?3 AND epoch = ?4";
const UPDATE_MANY = `UPDATE lease SET cursor = new.column5
  FROM (VALUES ${rowsOf(TOGETHER, "(?, ?, ?, ?, ?)")}) AS new
  WHERE topic = new.column1 AND grp = new.column2 AND partition = new.column3 AND epoch = new.column4`;

type LeaseOperations = Pick<
  Operations,
  | "openSession"
  | "beat"
  | "closeSession"
  | "join"
  | "leave"
  | "start"
  | "claim"
  | "commit"
  | "release"
  | "move"
  | "removeGroup"
>;

export class LeaseWriter implements LeaseOperations {
  readonly #connection: Connection;
  readonly #processes: ProcessWatch;
  readonly #held = new Map<string, HeldLease>();
  readonly #changed = new Set<HeldLease>();

  constructor(connection: Connection, processes: ProcessWatch) {
    this.#connection = connection;
    this.#processes = processes;
  }

  openSession({ session, process, nowMs, ttlMs }: ArgumentOf<"openSession">): GroupRef[] {
    const silent = this.#connection
      .sql("SELECT member FROM session WHERE until_ms < ?")
      .all<[string]>(nowMs - SWEEP_AFTER_MS);
    const touched = silent.flatMap(([member]) => this.closeSession({ member }));
    this.#shorten(nowMs);
    this.#connection
      .sql("INSERT OR REPLACE INTO session (member, session, process, until_ms) VALUES (?, ?, ?, ?)")
      .run(session.member, JSON.stringify({ ...session, ttlMs }), process, nowMs + ttlMs);
    return touched;
  }

  beat({ member, nowMs, ttlMs }: ArgumentOf<"beat">): boolean {
    this.#shorten(nowMs);
    return (
      this.#connection.sql("UPDATE session SET until_ms = ? WHERE member = ?").run(nowMs + ttlMs, member) > 0
    );
  }

  /**
   * A session that lasts for longer than any beat would make it was renewed before the clock was set back: it gets its whole time
   * once more, in which a living member beats, and a dead one does not hold its partitions for as long as the clock went back.
   * A request may have waited while its process was stopped, and a caller's clock be another: the later time counts.
   */
  #shorten(nowMs: number): void {
    this.#connection
      .sql(
        `UPDATE session SET until_ms = ?1 + json_extract(session, '$.ttlMs')
         WHERE until_ms > ?1 + json_extract(session, '$.ttlMs')`,
      )
      .run(Math.max(nowMs, Date.now()));
  }

  /** Leases it held stay in its name, which no longer lives: not released. */
  closeSession({ member }: ArgumentOf<"closeSession">): GroupRef[] {
    const ended = this.#connection.sql("DELETE FROM session WHERE member = ?").run(member) > 0;
    if (!ended) return [];
    const groups = this.#connection
      .sql(
        "SELECT topic, grp FROM member WHERE member = ?1 UNION SELECT topic, grp FROM lease WHERE owner = ?1",
      )
      .all<[string, string]>(member)
      .map(([topic, group]) => ({ topic, group }));
    this.#connection.sql("DELETE FROM member WHERE member = ?").run(member);
    for (const ref of groups) this.#touch(ref);
    return groups;
  }

  join({ ref, member }: ArgumentOf<"join">): boolean {
    const joined = this.#connection
      .sql("INSERT OR IGNORE INTO member (topic, grp, member) VALUES (?, ?, ?)")
      .run(ref.topic, ref.group, member);
    if (joined > 0) this.#touch(ref);
    return joined > 0;
  }

  leave({ ref, member }: ArgumentOf<"leave">): boolean {
    const left = this.#connection
      .sql("DELETE FROM member WHERE topic = ? AND grp = ? AND member = ?")
      .run(ref.topic, ref.group, member);
    if (left > 0) this.#touch(ref);
    return left > 0;
  }

  start({ ref, floors }: ArgumentOf<"start">): boolean {
    const insert = this.#connection.sql(
      `INSERT INTO lease (topic, grp, partition, epoch, owner, clean, cursor) VALUES (?, ?, ?, 0, NULL, 1, ?)
       ON CONFLICT DO UPDATE SET cursor = excluded.cursor WHERE cursor IS NULL`,
    );
    let started = 0;
    floors.forEach((floor, partition) => {
      started += insert.run(
        ref.topic,
        ref.group,
        partition,
        JSON.stringify({ ...START_CURSOR, floor, mark: floor }),
      );
    });
    if (started > 0) this.#touch(ref);
    return started > 0;
  }

  claim({ ref, member, nowMs }: ArgumentOf<"claim">): ReturnType<Operations["claim"]> {
    const row = this.#row(ref);
    if (row === undefined) return null;
    const [epoch, owner, clean, cursor] = row;
    if (cursor === null) return null;
    // Its own owner may claim it again: it may never have heard that it was granted.
    if (owner !== null && owner !== member && this.#isAlive(owner, nowMs)) return null;
    this.#write(ref, epoch + 1, member, 0, cursor);
    this.#touch(ref);
    return { epoch: epoch + 1, cursor, clean: owner === null && clean === 1 };
  }

  commit({ ref, epoch, cursor, floor }: CursorText): void {
    const lease = this.#heldBy(ref, epoch);
    // Behind a newer one of the same owner, there is nothing to do.
    if (floor < lease.floor) return;
    lease.floor = floor;
    lease.cursor = cursor;
    this.#changed.add(lease);
  }

  /** Writes the cursors that were committed. */
  flush(): void {
    if (this.#changed.size === 0) return;
    const leases = [...this.#changed];
    this.#changed.clear();
    let at = 0;
    for (; at + TOGETHER <= leases.length; at += TOGETHER) this.#update(UPDATE_MANY, leases, at, TOGETHER);
    for (; at < leases.length; at++) this.#update(UPDATE_ONE, leases, at, 1);
  }

  /** Also what was not written yet. */
  forget(): void {
    this.#held.clear();
    this.#changed.clear();
  }

  release(text: CursorText): void {
    const { ref } = text;
    this.commit(text);
    this.#letGo();
    this.#connection
      .sql("UPDATE lease SET owner = NULL, clean = 1 WHERE topic = ? AND grp = ? AND partition = ?")
      .run(ref.topic, ref.group, ref.partition);
    this.#touch(ref);
  }

  move({ ref, cursor }: ArgumentOf<"move">): void {
    const [epoch, , clean] = this.#row(ref) ?? [0, null, 1, null];
    this.#write(ref, epoch + 1, null, clean, cursor);
    this.#touch(ref);
  }

  removeGroup({ ref }: ArgumentOf<"removeGroup">): boolean {
    this.#letGo();
    const removed = this.#connection
      .sql(
        `UPDATE lease SET cursor = NULL, epoch = epoch + 1, owner = NULL, clean = 1
         WHERE topic = ? AND grp = ? AND cursor IS NOT NULL`,
      )
      .run(ref.topic, ref.group);
    if (removed > 0) this.#touch(ref);
    return removed > 0;
  }

  /** Throws LEASE_LOST unless `epoch` owns the partition. */
  require(ref: GroupPartition, epoch: Epoch): Cursor {
    const row = this.#row(ref);
    if (row === undefined || row[0] !== epoch || row[1] === null || row[3] === null) {
      throw this.#lost(ref, epoch);
    }
    return JSON.parse(row[3]) as Cursor;
  }

  /** Throws unless this cursor may be written now: LEASE_LOST, or WRITE_CONFLICT by the expected floor. */
  check({ ref, epoch, expectedFloor }: CursorText): void {
    const { floor } = this.require(ref, epoch);
    if (expectedFloor === undefined || expectedFloor === floor) return;
    throw new BusError(
      "WRITE_CONFLICT",
      `the cursor of group "${ref.group}" on partition ${ref.partition} of "${ref.topic}" is at ${floor}, not at ${expectedFloor}`,
      { details: { ...ref, floor, expectedFloor } },
    );
  }

  #row(ref: GroupPartition): LeaseRow | undefined {
    this.flush();
    return this.#connection
      .sql("SELECT epoch, owner, clean, cursor FROM lease WHERE topic = ? AND grp = ? AND partition = ?")
      .get<LeaseRow>(ref.topic, ref.group, ref.partition);
  }

  #write(ref: GroupPartition, epoch: Epoch, owner: string | null, clean: number, cursor: string): void {
    this.#letGo();
    this.#connection
      .sql(
        "INSERT OR REPLACE INTO lease (topic, grp, partition, epoch, owner, clean, cursor) VALUES (?, ?, ?, ?, ?, ?, ?)",
      )
      .run(ref.topic, ref.group, ref.partition, epoch, owner, clean, cursor);
  }

  /** Throws LEASE_LOST unless `epoch` owns the partition. */
  #heldBy(ref: GroupPartition, epoch: Epoch): HeldLease {
    const name = `${ref.partition}\n${groupKey(ref)}`;
    let lease = this.#held.get(name);
    if (lease === undefined) {
      const { floor } = this.require(ref, epoch);
      lease = { ref, epoch, floor, cursor: "" };
      this.#held.set(name, lease);
    }
    if (lease.epoch !== epoch) throw this.#lost(ref, epoch);
    return lease;
  }

  #update(statement: string, leases: readonly HeldLease[], from: number, count: number): void {
    const values: SqlValue[] = [];
    for (let i = from; i < from + count; i++) {
      const { ref, epoch, cursor } = leases[i] as HeldLease;
      values.push(ref.topic, ref.group, ref.partition, epoch, cursor);
    }
    const written = this.#connection.sql(statement).run(...values);
    if (written !== count) throw new Error(`${count} cursors were to be written, and ${written} were`);
  }

  /** Before leases change in another way than by a cursor. */
  #letGo(): void {
    this.flush();
    this.forget();
  }

  #isAlive(member: string, nowMs: number): boolean {
    const row = this.#connection
      .sql("SELECT until_ms, process FROM session WHERE member = ?")
      .get<[untilMs: number, process: string | null]>(member);
    return row !== undefined && row[0] > nowMs && !this.#processes.hasEnded(row[1]);
  }

  #lost(ref: GroupPartition, epoch: Epoch): BusError {
    const newest = this.#row(ref)?.[0] ?? 0;
    return new BusError(
      "LEASE_LOST",
      `group "${ref.group}" holds partition ${ref.partition} of "${ref.topic}" no longer under epoch ${epoch}`,
      { details: { ...ref, epoch, newest } },
    );
  }

  #touch(ref: GroupRef): void {
    this.#connection
      .sql(
        `INSERT OR REPLACE INTO group_change (topic, grp, version)
         VALUES (?, ?, (SELECT coalesce(max(version), 0) + 1 FROM group_change))`,
      )
      .run(ref.topic, ref.group);
  }
}
