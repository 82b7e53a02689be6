/**
 * The index of ids that are no UUIDv7 (P3), as one connection sees it. Such ids are spread over all there are: in a tree each new one
 * changes a page of its own, and the more there are, the more pages. So here nothing is changed in place:
 *
 *   notes, a row for each commit --enough of them--> a run, sorted by hash --several of about one size--> a larger run
 *
 * Everything is written once for each size there is. An id that is not in the log, as nearly all that come in, is looked for in
 * memory alone: among the notes, and in a filter of each run.
 *
 * An entry only tells where to look: whoever follows it compares the id. So one may lead to an event that is gone, or two ids share
 * a hash.
 */
import { BusError } from "../../model/errors.js";
import type { Seq } from "../../model/event.js";
import type { Batch, BatchCursor } from "../batch-codec.js";
import { busError } from "./errors.js";
import { IdHash, KEY_BYTES } from "./id-hash.js";
import { IdNotes } from "./id-notes.js";
import { IdRuns } from "./id-runs.js";
import type { Connection } from "./sqlite.js";

export interface Place {
  readonly part: number;
  readonly seq: Seq;
}

type StateRow = [key: Buffer, version: number, dead: number, oldestNote: number | null, hasOlder: number];

const STATE = `SELECT key, version, dead, (SELECT id FROM id_note ORDER BY id LIMIT 1),
  EXISTS (SELECT 1 FROM id_index WHERE id < x'07') FROM id_state`;

export class IdIndex {
  readonly notes = new IdNotes();
  readonly runs = new IdRuns();
  /** Whether there are ids in the tree that would stand here today. */
  hasOlder = false;
  /** Nobody can say what is not in it, then, and it stays as it is; ids that are kept elsewhere go on (P14). */
  damage: BusError | undefined;
  readonly #connection: Connection;
  #hash: IdHash | undefined;
  /** Counts the changes of runs, by whoever; -1 if nothing is known of them. */
  #version = -1;
  /** How many entries lead nowhere, about: those who remove events count. */
  dead = 0;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  /** Of the id that a cursor stands on. */
  hashOf({ ids }: Batch, cursor: BatchCursor): number {
    const { uuidAt } = cursor;
    return uuidAt >= 0 ? this.hash.ofUuid(ids, uuidAt) : this.hash.ofText(cursor.id);
  }

  /** Makes hashes of ids. */
  get hash(): IdHash {
    if (this.#hash === undefined && this.damage === undefined) this.refresh();
    if (this.#hash === undefined) throw this.damage ?? notThere();
    return this.#hash;
  }

  /** Brings what is known up to date. To be called in a transaction. */
  refresh(): void {
    try {
      this.#load();
      this.damage = undefined;
    } catch (error) {
      const fault = busError(error, this.#connection.path);
      if (fault.code !== "STORE_DAMAGED") throw error;
      this.damage = fault;
    }
  }

  #load(): void {
    const row = this.#connection.sql(STATE).get<StateRow>();
    if (row === undefined || !Buffer.isBuffer(row[0]) || row[0].length !== KEY_BYTES) throw notThere();
    const [key, version, dead, oldestNote, hasOlder] = row;
    this.#hash ??= new IdHash(key);
    this.dead = dead;
    this.hasOlder = hasOlder > 0;
    if (version !== this.#version) this.runs.refresh(this.#connection);
    this.#version = version;
    this.notes.refresh(this.#connection, oldestNote ?? 0);
  }

  /** Nothing is known, and what there is was not found to be damaged. */
  get isForgotten(): boolean {
    return this.#version < 0 && this.damage === undefined;
  }

  /** Nothing that is known is certain. */
  forget(): void {
    this.runs.forget();
    this.notes.clear();
    this.#version = -1;
  }

  /** Where the event under a hash may stand. */
  places(hash: number): readonly Place[] {
    if (this.damage !== undefined) throw this.damage;
    let places = NOWHERE;
    const onEntry = (part: number, seq: number): void => {
      if (seq > 0) places = [...places, { part, seq }];
    };
    this.notes.find(hash, onEntry);
    this.runs.find(this.#connection, hash, onEntry);
    return places;
  }
}

const NOWHERE: readonly Place[] = [];

function notThere(): BusError {
  return new BusError(
    "STORE_DAMAGED",
    "the index of ids is damaged: its state is not there; restore a backup",
  );
}
