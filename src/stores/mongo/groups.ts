/**
 * Consumer groups in MongoDB: one small document per member, one per (topic, group, partition). Time is the server's,
 * so that the clocks of the members do not matter. Safety does not rest on it: a cursor is written only where the epoch
 * still matches (P7), and an epoch never falls, not even when its group is removed and started again.
 */
import type { AnyBulkWriteOperation, Filter } from "mongodb";
import type { BusError } from "../../model/errors.js";
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
  Session,
  Timed,
} from "../../ports/groups.js";
import { START_CURSOR } from "../../ports/groups.js";
import { type CursorDocument, IS_OWNED, type MemberDocument } from "./collections.js";
import { AskedTogether } from "./connection/asked-together.js";
import type { Connection } from "./connection/connection.js";
import { retryDuplicates } from "./connection/errors.js";
import { answerOf, type Told } from "./connection/told-apart.js";
import { commitCursors, type PlainCommit } from "./groups/cursor-commits.js";
import {
  cursorId,
  cursorOf,
  groupName,
  groupRef,
  leaseLost,
  nextWrite,
  ownedBy,
  storedCursor,
} from "./groups/cursor-document.js";
import type { GroupChangeLog } from "./groups/group-changes.js";
import { ALIVE, readStates } from "./groups/group-states.js";

interface Start {
  readonly ref: GroupRef;
  readonly floors: readonly Seq[];
}

interface Membership {
  readonly ref: GroupRef;
  readonly member: string;
}

export class MongoGroups implements Groups {
  readonly #connection: Connection;
  readonly #changes: GroupChangeLog;
  readonly #states: AskedTogether<GroupRef, GroupState | null>;
  readonly #starts: AskedTogether<Start, undefined>;
  readonly #joins: AskedTogether<Membership, undefined>;
  readonly #commits: AskedTogether<PlainCommit, Told<BusError | undefined>>;

  constructor(connection: Connection, changes: GroupChangeLog) {
    this.#connection = connection;
    this.#changes = changes;
    this.#states = new AskedTogether((refs) => readStates(connection.collections, refs));
    this.#starts = new AskedTogether((starts) => this.#start(starts));
    this.#joins = new AskedTogether((joins) => this.#join(joins));
    this.#commits = new AskedTogether((writes) => commitCursors(connection.collections.cursors, writes));
  }

  open(session: Session, o: Timed & { ttlMs: number }): Promise<void> {
    return this.#connection.gate.write(async () => {
      const { member, host, pid, processStart } = session;
      // Its document may have been swept away: a new one names no sessions.
      this.#connection.sessions.leftBy(member);
      await this.#connection.collections.members.updateOne(
        { _id: member },
        [
          {
            $set: {
              open: true,
              host: { $literal: host },
              pid: { $literal: pid },
              processStart: { $literal: processStart },
              expiresAt: { $add: ["$$NOW", o.ttlMs] },
            },
          },
        ],
        { upsert: true },
      );
      await this.#connection.sessions.heldBy(member);
    });
  }

  beat(member: string, o: Timed & { ttlMs: number }): Promise<boolean> {
    return this.#connection.gate.write(async () => {
      const { matchedCount } = await this.#connection.collections.members.updateOne(
        { _id: member, open: true },
        [{ $set: { expiresAt: { $add: ["$$NOW", o.ttlMs] } } }],
      );
      return matchedCount === 1;
    });
  }

  close(member: string, _o: Timed): Promise<void> {
    return this.#connection.gate.write(async () => {
      const { members, cursors } = this.#connection.collections;
      this.#connection.sessions.leftBy(member);
      const gone = await members.findOneAndDelete({ _id: member });
      const owned = { $and: [{ owner: member }, IS_OWNED] };
      const held = await cursors.find(owned, { projection: { topic: 1, group: 1 } }).toArray();
      if (gone === null && held.length === 0) return;
      const names = new Set([...(gone?.groups ?? []), ...held.map(groupName)]);
      await this.#changes.record([...names].map(groupRef));
    });
  }

  sessions(_o: Timed): Promise<readonly Session[]> {
    return this.#connection.gate.read(async () => {
      const projection = { host: 1, pid: 1, processStart: 1 };
      const { members } = this.#connection.collections;
      const living = await members.find(ALIVE, { projection }).sort({ _id: 1 }).toArray();
      return living.map(({ _id, host = "", pid = 0, processStart = "" }) => ({
        member: _id,
        host,
        pid,
        processStart,
      }));
    });
  }

  join(ref: GroupRef, member: string): Promise<void> {
    return this.#connection.gate.write(() => this.#joins.ask({ ref, member }));
  }

  /** Members of one process hardly ever join at the same time: one write after the other. */
  async #join(joins: readonly Membership[]): Promise<undefined[]> {
    const { members } = this.#connection.collections;
    for (const member of new Set(joins.map(({ member }) => member))) {
      const refs = joins.filter((join) => join.member === member).map(({ ref }) => ref);
      const { modifiedCount, upsertedCount } = await members.updateOne(
        { _id: member },
        [
          {
            $set: {
              groups: { $setUnion: [{ $ifNull: ["$groups", []] }, { $literal: refs.map(groupName) }] },
              expiresAt: { $ifNull: ["$expiresAt", "$$NOW"] },
            },
          },
        ],
        { upsert: true },
      );
      if (modifiedCount + upsertedCount > 0) await this.#changes.record(refs);
    }
    return joins.map(() => undefined);
  }

  leave(ref: GroupRef, member: string): Promise<void> {
    return this.#connection.gate.write(async () => {
      const { modifiedCount } = await this.#connection.collections.members.updateOne(
        { _id: member },
        { $pull: { groups: groupName(ref) } },
      );
      if (modifiedCount > 0) await this.#changes.record([ref]);
    });
  }

  start(ref: GroupRef, floors: readonly Seq[]): Promise<void> {
    return this.#connection.gate.write(async () => {
      if (floors.length > 0) await this.#starts.ask({ ref, floors });
    });
  }

  async #start(starts: readonly Start[]): Promise<undefined[]> {
    const { cursors } = this.#connection.collections;
    const writes = starts.flatMap(({ ref, floors }) => floors.map((floor, n) => startWrite(ref, n, floor)));
    let tries = 0;
    const { modifiedCount, upsertedCount } = await retryDuplicates(() => {
      tries++;
      return cursors.bulkWrite(writes, { ordered: false });
    });
    // After a second try nobody can tell what the first one did.
    if (tries > 1 || modifiedCount + upsertedCount > 0)
      await this.#changes.record(starts.map(({ ref }) => ref));
    return starts.map(() => undefined);
  }

  claim(ref: GroupPartition, member: string, _o: Timed): Promise<Claim | null> {
    return this.#connection.gate.write(async () => {
      const granted =
        (await this.#grant(ref, member, { owner: null })) ?? (await this.#takeOver(ref, member));
      if (granted?.cursor === undefined) return null;
      await this.#changes.record([ref]);
      const clean = granted.owner === null && granted.clean;
      return { epoch: granted.epoch + 1, cursor: cursorOf(granted.cursor), clean };
    });
  }

  /** From a member that is no longer alive; or from itself: it may never have heard that it was granted. */
  async #takeOver(ref: GroupPartition, member: string): Promise<CursorDocument | null> {
    const { cursors } = this.#connection.collections;
    const present = await cursors.findOne({ _id: cursorId(ref), cursor: { $exists: true } });
    if (present === null) return null;
    const { owner, epoch } = present;
    if (owner !== null && owner !== member) {
      if (await this.#isAlive(owner)) return null;
      await this.#connection.sessions.endThoseOf(owner);
    }
    return this.#grant(ref, member, { epoch });
  }

  /** The cursor as it was, if it was so. */
  #grant(ref: GroupPartition, member: string, found: Filter<CursorDocument>): Promise<CursorDocument | null> {
    return this.#connection.collections.cursors.findOneAndUpdate(
      { ...found, _id: cursorId(ref), cursor: { $exists: true } },
      { $inc: { epoch: 1 }, $set: { owner: member, clean: false }, $unset: { written: 1 } },
    );
  }

  commit(ref: GroupPartition, epoch: Epoch, cursor: Cursor): Promise<void> {
    return this.#connection.gate.write(async () => {
      const lost = answerOf(await this.#commits.ask({ ref, epoch, cursor, write: nextWrite() }));
      if (lost !== undefined) throw lost;
    });
  }

  release(ref: GroupPartition, epoch: Epoch, cursor: Cursor): Promise<void> {
    return this.#connection.gate.write(async () => {
      const isNewest = { $lte: ["$cursor.floor", cursor.floor] };
      const newest = { $cond: [isNewest, { $literal: storedCursor(cursor) }, "$cursor"] };
      const { matchedCount } = await this.#connection.collections.cursors.updateOne(ownedBy(ref, epoch), [
        { $set: { cursor: newest, owner: null, clean: true } },
      ]);
      if (matchedCount === 0) throw leaseLost(ref, epoch);
      await this.#changes.record([ref]);
    });
  }

  move(ref: GroupPartition, cursor: Cursor): Promise<void> {
    return this.#connection.gate.write(async () => {
      const { topic, group, partition } = ref;
      await retryDuplicates(() =>
        this.#connection.collections.cursors.updateOne(
          { _id: cursorId(ref) },
          {
            $set: { cursor: storedCursor(cursor), owner: null },
            $inc: { epoch: 1 },
            $setOnInsert: { topic, group, partition, clean: true },
          },
          { upsert: true },
        ),
      );
      await this.#changes.record([ref]);
    });
  }

  state(ref: GroupRef, _o: Timed): Promise<GroupState | null> {
    return this.#connection.gate.read(() => this.#states.ask(ref));
  }

  list(topic?: string): Promise<readonly GroupRef[]> {
    return this.#connection.gate.read(() => this.#list(topic === undefined ? {} : { topic }));
  }

  changes(version: number): Promise<GroupChanges> {
    return this.#connection.gate.read(() => this.#changes.since(version, () => this.#everyGroup()));
  }

  remove(ref: GroupRef): Promise<void> {
    return this.#connection.gate.write(async () => {
      const { modifiedCount } = await this.#connection.collections.cursors.updateMany(
        { ...keyOf(ref), cursor: { $exists: true } },
        { $unset: { cursor: 1 }, $inc: { epoch: 1 }, $set: { owner: null, clean: true } },
      );
      if (modifiedCount > 0) await this.#changes.record([ref]);
    });
  }

  async #isAlive(member: string): Promise<boolean> {
    const { members } = this.#connection.collections;
    return (await members.findOne({ _id: member, ...ALIVE }, { projection: { _id: 1 } })) !== null;
  }

  async #list(match: Filter<CursorDocument>): Promise<GroupRef[]> {
    const groups = await this.#connection.collections.cursors
      .aggregate<{ _id: GroupRef }>([
        { $match: { ...match, cursor: { $exists: true } } },
        { $group: { _id: { topic: "$topic", group: "$group" } } },
        { $sort: { "_id.topic": 1, "_id.group": 1 } },
      ])
      .toArray();
    return groups.map(({ _id }) => ({ topic: _id.topic, group: _id.group }));
  }

  /** Those with cursors, and those that somebody joined. */
  async #everyGroup(): Promise<GroupRef[]> {
    const listed = await this.#list({});
    const joined = await this.#connection.collections.members
      .aggregate<Pick<MemberDocument, "_id">>([{ $unwind: "$groups" }, { $group: { _id: "$groups" } }])
      .toArray();
    return [...new Set([...listed.map(groupName), ...joined.map(({ _id }) => _id)])].map(groupRef);
  }
}

function keyOf(ref: GroupRef): { topic: string; group: string } {
  return { topic: ref.topic, group: ref.group };
}

/** A cursor where there is none. What is there stays, and so does the epoch of a group that was removed. */
function startWrite(
  { topic, group }: GroupRef,
  partition: number,
  floor: Seq,
): AnyBulkWriteOperation<CursorDocument> {
  const cursor: Cursor = { ...START_CURSOR, floor, mark: floor };
  const update = [
    {
      $set: {
        topic: { $literal: topic },
        group: { $literal: group },
        partition,
        epoch: { $ifNull: ["$epoch", 0] },
        owner: { $ifNull: ["$owner", null] },
        clean: { $ifNull: ["$clean", true] },
        cursor: { $ifNull: ["$cursor", { $literal: cursor }] },
      },
    },
  ];
  return {
    updateOne: { filter: { _id: cursorId({ topic, group, partition }) }, update, upsert: true },
  };
}
