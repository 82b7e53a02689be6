/** Sessions, leases and cursors: reads here, writes in the writing thread. */
import { hostname } from "node:os";
import type { Seq } from "../../model/event.js";
import type {
  Claim,
  Cursor,
  Epoch,
  GroupChanges,
  GroupPartition,
  GroupRef,
  GroupState,
  Groups,
  Lease,
  Session,
  Timed,
} from "../../ports/groups.js";
import type { Access } from "./access.js";
import { jsonText, parseFrozen } from "./json-copy.js";
import { ProcessWatch, processIdentity } from "./process-identity.js";
import type { CursorText } from "./protocol.js";
import type { Connection } from "./sqlite.js";

type LeaseRow = [partition: number, epoch: number, owner: string | null, cursor: string];
type SessionRow = [member: string, process: string | null, session: string];

export class EmbeddedGroups implements Groups {
  readonly #access: Access;
  readonly #processes = new ProcessWatch();

  constructor(access: Access) {
    this.#access = access;
  }

  async open(session: Session, o: Timed & { ttlMs: number }): Promise<void> {
    const { member, host, pid, processStart } = session;
    // Only of this very process it is known for sure which one a session means.
    const process_ = pid === process.pid && host === hostname() ? processIdentity() : null;
    const touched = await this.#access.call("openSession", {
      session: { member, host, pid, processStart },
      process: process_,
      nowMs: o.nowMs,
      ttlMs: o.ttlMs,
    });
    for (const ref of touched) this.#changed(ref);
  }

  beat(member: string, o: Timed & { ttlMs: number }): Promise<boolean> {
    return this.#access.call("beat", { member, nowMs: o.nowMs, ttlMs: o.ttlMs });
  }

  async close(member: string, _o: Timed): Promise<void> {
    const touched = await this.#access.call("closeSession", { member });
    for (const ref of touched) this.#changed(ref);
  }

  sessions(o: Timed): Promise<readonly Session[]> {
    return this.#access.read((connection) =>
      this.#living(connection, o.nowMs).map(([, , session]) => sessionOf(session)),
    );
  }

  async join(ref: GroupRef, member: string): Promise<void> {
    if (await this.#access.call("join", { ref: refOf(ref), member })) this.#changed(ref);
  }

  async leave(ref: GroupRef, member: string): Promise<void> {
    if (await this.#access.call("leave", { ref: refOf(ref), member })) this.#changed(ref);
  }

  async start(ref: GroupRef, floors: readonly Seq[]): Promise<void> {
    if (await this.#access.call("start", { ref: refOf(ref), floors: [...floors] })) this.#changed(ref);
  }

  async claim(ref: GroupPartition, member: string, o: Timed): Promise<Claim | null> {
    const claim = await this.#access.call("claim", { ref: placeOf(ref), member, nowMs: o.nowMs });
    if (claim === null) return null;
    this.#changed(ref);
    return { epoch: claim.epoch, cursor: parseFrozen<Cursor>(claim.cursor), clean: claim.clean };
  }

  commit(ref: GroupPartition, epoch: Epoch, cursor: Cursor): Promise<void> {
    return this.#access.call("commit", cursorText(ref, epoch, cursor));
  }

  async release(ref: GroupPartition, epoch: Epoch, cursor: Cursor): Promise<void> {
    await this.#access.call("release", cursorText(ref, epoch, cursor));
    this.#changed(ref);
  }

  async move(ref: GroupPartition, cursor: Cursor): Promise<void> {
    await this.#access.call("move", { ref: placeOf(ref), cursor: jsonText(cursor) });
    this.#changed(ref);
  }

  state(ref: GroupRef, o: Timed): Promise<GroupState | null> {
    return this.#access.read((connection) => {
      const rows = connection
        .sql(
          `SELECT partition, epoch, owner, cursor FROM lease
           WHERE topic = ? AND grp = ? AND cursor IS NOT NULL ORDER BY partition`,
        )
        .all<LeaseRow>(ref.topic, ref.group);
      if (rows.length === 0) return null;
      const living = new Set(this.#living(connection, o.nowMs).map(([member]) => member));
      const members = connection
        .sql("SELECT member FROM member WHERE topic = ? AND grp = ? ORDER BY member")
        .all<[string]>(ref.topic, ref.group)
        .map(([member]) => member)
        .filter((member) => living.has(member));
      const leases = rows.map(
        ([partition, epoch, owner, cursor]): Lease => ({
          partition,
          epoch,
          owner,
          alive: owner !== null && living.has(owner),
          cursor: parseFrozen<Cursor>(cursor),
        }),
      );
      return { topic: ref.topic, group: ref.group, members, leases };
    });
  }

  list(topic?: string): Promise<readonly GroupRef[]> {
    return this.#access.read((connection) =>
      (topic === undefined
        ? connection
            .sql("SELECT DISTINCT topic, grp FROM lease WHERE cursor IS NOT NULL ORDER BY topic, grp")
            .all<[string, string]>()
        : connection
            .sql("SELECT DISTINCT topic, grp FROM lease WHERE cursor IS NOT NULL AND topic = ? ORDER BY grp")
            .all<[string, string]>(topic)
      ).map(([name, group]) => ({ topic: name, group })),
    );
  }

  changes(version: number): Promise<GroupChanges> {
    return this.#access.read((connection) => {
      const rows = connection
        .sql("SELECT topic, grp, version FROM group_change WHERE version > ? ORDER BY version")
        .all<[string, string, number]>(version);
      return {
        version: rows.at(-1)?.[2] ?? version,
        groups: rows.map(([topic, group]) => ({ topic, group })),
      };
    });
  }

  async remove(ref: GroupRef): Promise<void> {
    if (await this.#access.call("removeGroup", { ref: refOf(ref) })) this.#changed(ref);
  }

  #living(connection: Connection, nowMs: number): SessionRow[] {
    return connection
      .sql("SELECT member, process, session FROM session WHERE until_ms > ? ORDER BY member")
      .all<SessionRow>(nowMs)
      .filter(([, process_]) => !this.#processes.hasEnded(process_));
  }

  #changed({ topic, group }: GroupRef): void {
    this.#access.wake.send({ type: "group", ref: { topic, group } });
  }
}

/** How long it lasts without a beat is kept beside it, for the writing thread. */
function sessionOf(text: string): Session {
  const { member, host, pid, processStart } = JSON.parse(text) as Session;
  return Object.freeze({ member, host, pid, processStart });
}

/** Only what belongs to it: callers hand in larger objects. */
function refOf({ topic, group }: GroupRef): GroupRef {
  return { topic, group };
}

function placeOf({ topic, group, partition }: GroupPartition): GroupPartition {
  return { topic, group, partition };
}

export function cursorText(
  ref: GroupPartition,
  epoch: Epoch,
  cursor: Cursor,
  expectedFloor?: Seq,
): CursorText {
  return { ref: placeOf(ref), epoch, cursor: jsonText(cursor), floor: cursor.floor, expectedFloor };
}
