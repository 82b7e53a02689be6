/**
 * Consumer groups in MongoDB: one small document per member, one per (topic, group, partition). Time is the server's,
 * so that the clocks of the members do not matter. Safety does not rest on it: a cursor is written only where the epoch
 * still matches (P7), and an epoch never falls, not even when its group is removed and started again.
 */
import type { Filter } from "mongodb";
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
import { START_CURSOR } from "../../ports/groups.js";
import type { CursorDocument, MemberDocument } from "./collections.js";
import type { Connection } from "./connection.js";
import {
  cursorId,
  cursorOf,
  groupName,
  groupRef,
  leaseLost,
  ownedBy,
  storedCursor,
} from "./cursor-document.js";
import { retryDuplicates } from "./errors.js";
import type { GroupChangeLog } from "./group-changes.js";

const ALIVE = { $expr: { $gt: ["$expiresAt", "$$NOW"] }, open: true } as const;

export class MongoGroups implements Groups {
  readonly #connection: Connection;
  readonly #changes: GroupChangeLog;

  constructor(connection: Connection, changes: GroupChangeLog) {
    this.#connection = connection;
    this.#changes = changes;
  }

  open(session: Session, o: Timed & { ttlMs: number }): Promise<void> {
    return this.#connection.gate.write(async () => {
      const { member, host, pid, processStart } = session;
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
      const held = await cursors.find({ owner: member }, { projection: { topic: 1, group: 1 } }).toArray();
      if (gone === null && held.length === 0) return;
      const names = new Set([...(gone?.groups ?? []), ...held.map(groupName)]);
      await this.#changes.record([...names].map(groupRef));
    });
  }

  sessions(_o: Timed): Promise<readonly Session[]> {
    return this.#connection.gate.read(async () => {
      const living = await this.#connection.collections.members.find(ALIVE).sort({ _id: 1 }).toArray();
      return living.map(({ _id, host = "", pid = 0, processStart = "" }) => ({
        member: _id,
        host,
        pid,
        processStart,
      }));
    });
  }

  join(ref: GroupRef, member: string): Promise<void> {
    return this.#connection.gate.write(async () => {
      const { members } = this.#connection.collections;
      const { modifiedCount, upsertedCount } = await members.updateOne(
        { _id: member },
        [
          {
            $set: {
              groups: { $setUnion: [{ $ifNull: ["$groups", []] }, [{ $literal: groupName(ref) }]] },
              expiresAt: { $ifNull: ["$expiresAt", "$$NOW"] },
            },
          },
        ],
        { upsert: true },
      );
      if (modifiedCount + upsertedCount > 0) await this.#changes.record([ref]);
    });
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
      const { cursors } = this.#connection.collections;
      const present = await cursors.countDocuments({ ...keyOf(ref), cursor: { $exists: true } });
      if (present >= floors.length || floors.length === 0) return;
      const writes = floors.map((floor, partition) => {
        const cursor: Cursor = { ...START_CURSOR, floor, mark: floor };
        return {
          updateOne: {
            filter: { _id: cursorId({ ...ref, partition }) },
            update: [
              {
                $set: {
                  topic: { $literal: ref.topic },
                  group: { $literal: ref.group },
                  partition,
                  epoch: { $ifNull: ["$epoch", 0] },
                  owner: { $ifNull: ["$owner", null] },
                  clean: { $ifNull: ["$clean", true] },
                  cursor: { $ifNull: ["$cursor", { $literal: cursor }] },
                },
              },
            ],
            upsert: true,
          },
        };
      });
      const { modifiedCount, upsertedCount } = await retryDuplicates(() => cursors.bulkWrite(writes));
      if (modifiedCount + upsertedCount > 0) await this.#changes.record([ref]);
    });
  }

  claim(ref: GroupPartition, member: string, _o: Timed): Promise<Claim | null> {
    return this.#connection.gate.write(async () => {
      const { cursors } = this.#connection.collections;
      const present = await cursors.findOne({ _id: cursorId(ref), cursor: { $exists: true } });
      if (present === null) return null;
      const { owner, epoch } = present;
      // Its own owner may claim it again: it may never have heard that it was granted.
      if (owner !== null && owner !== member) {
        if (await this.#isAlive(owner)) return null;
        await this.#connection.sessions.endThoseOf(owner);
      }
      const granted = await cursors.findOneAndUpdate(
        { _id: cursorId(ref), epoch, cursor: { $exists: true } },
        { $inc: { epoch: 1 }, $set: { owner: member, clean: false } },
      );
      if (granted?.cursor === undefined) return null;
      await this.#changes.record([ref]);
      const clean = granted.owner === null && granted.clean;
      return { epoch: granted.epoch + 1, cursor: cursorOf(granted.cursor), clean };
    });
  }

  commit(ref: GroupPartition, epoch: Epoch, cursor: Cursor): Promise<void> {
    return this.#connection.gate.write(async () => {
      const { cursors } = this.#connection.collections;
      const { matchedCount } = await cursors.updateOne(
        { ...ownedBy(ref, epoch), "cursor.floor": { $lte: cursor.floor } },
        { $set: { cursor: storedCursor(cursor) } },
      );
      if (matchedCount === 1) return;
      // Behind a newer one of the same owner, there is nothing to do.
      if ((await cursors.findOne(ownedBy(ref, epoch))) === null) throw leaseLost(ref, epoch);
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
    return this.#connection.gate.read(async () => {
      const { cursors, members } = this.#connection.collections;
      const documents = await cursors
        .find({ ...keyOf(ref), cursor: { $exists: true } })
        .sort({ partition: 1 })
        .toArray();
      if (documents.length === 0) return null;
      const owners = new Set(documents.flatMap(({ owner }) => owner ?? []));
      const living = await members
        .find({ $or: [{ groups: groupName(ref) }, { _id: { $in: [...owners] } }], ...ALIVE })
        .sort({ _id: 1 })
        .toArray();
      const alive = new Set(living.map(({ _id }) => _id));
      const leases = documents.map(({ partition, epoch, owner, cursor = START_CURSOR }): Lease => {
        return {
          partition,
          epoch,
          owner,
          alive: owner !== null && alive.has(owner),
          cursor: cursorOf(cursor),
        };
      });
      const joined = living.filter(({ groups = [] }) => groups.includes(groupName(ref)));
      return { topic: ref.topic, group: ref.group, members: joined.map(({ _id }) => _id), leases };
    });
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
    return (await this.#connection.collections.members.findOne({ _id: member, ...ALIVE })) !== null;
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
