/**
 * Which groups changed since a version: one document with a version that grows by one per change, and the latest
 * changes. Reading it costs one look at an unchanged document; whoever is too far behind is told of every group.
 *
 * A change is recorded after it was made, so that whoever hears of it finds it. All that is to be recorded while another
 * record is being written goes into the next one: a thousand groups that are joined together would wait for each other.
 */
import type { GroupChanges, GroupRef } from "../../../ports/groups.js";
import type { Connection } from "../connection/connection.js";
import { retryDuplicates } from "../connection/errors.js";
import { groupName, groupRef } from "./cursor-document.js";

const DOCUMENT_ID = "groups";
const MAX_LATEST = 512;
const VERSION = { $ifNull: ["$version", 0] };

export class GroupChangeLog {
  readonly #connection: Connection;
  readonly #heard: (refs: readonly GroupRef[]) => void;
  #waiting: GroupRef[] = [];
  #writing: Promise<void> = Promise.resolve();
  /** The record that those who wait will be in. */
  #next: Promise<void> | null = null;

  /** `heard` is told of changes of this process at once. */
  constructor(connection: Connection, heard: (refs: readonly GroupRef[]) => void) {
    this.#connection = connection;
    this.#heard = heard;
  }

  async record(refs: readonly GroupRef[]): Promise<void> {
    if (refs.length === 0) return;
    this.#waiting.push(...refs);
    this.#next ??= this.#writing.catch(() => undefined).then(() => this.#recordWaiting());
    await this.#next;
  }

  #recordWaiting(): Promise<void> {
    const refs = new Map(this.#waiting.map((ref) => [groupName(ref), ref]));
    this.#waiting = [];
    this.#next = null;
    this.#writing = this.#write([...refs.values()]);
    return this.#writing;
  }

  async #write(refs: readonly GroupRef[]): Promise<void> {
    const added = refs.map((ref, i) => ({
      version: { $add: [VERSION, i + 1] },
      ref: { $literal: groupName(ref) },
    }));
    const latest = { $concatArrays: [{ $ifNull: ["$latest", []] }, added] };
    const update = [
      { $set: { version: { $add: [VERSION, refs.length] }, latest: { $slice: [latest, -MAX_LATEST] } } },
    ];
    await retryDuplicates(() =>
      this.#connection.collections.changes.updateOne({ _id: DOCUMENT_ID }, update, { upsert: true }),
    );
    this.#heard(refs);
  }

  /** What changed above `version`; `everything` is asked when that is too long ago to be told. */
  async since(version: number, everything: () => Promise<GroupRef[]>): Promise<GroupChanges> {
    const document = await this.#connection.collections.changes.findOne({
      _id: DOCUMENT_ID,
      version: { $ne: version },
    });
    if (document === null) return { version, groups: [] };
    const oldest = document.latest[0]?.version ?? document.version + 1;
    if (version > document.version || version + 1 < oldest) {
      return { version: document.version, groups: await everything() };
    }
    const names = new Set(document.latest.filter((c) => c.version > version).map((c) => c.ref));
    return { version: document.version, groups: [...names].map(groupRef) };
  }
}
