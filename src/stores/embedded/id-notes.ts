/**
 * The newest entries of the index of ids, as one connection sees them: in the file a row for those of each commit, in memory a table
 * whose places follow the order of the hashes, so that it is nearly sorted when its entries become a run.
 */
import { decodeEntries, type Entries, EntryList } from "./id-entries.js";
import { HASHES } from "./id-hash.js";
import type { OnEntry } from "./id-runs.js";
import type { Connection } from "./sqlite.js";

const FIRST_ROOM = 4_096;
/** Places behind the last, for those that are pushed there. */
const TAIL = 64;
const EMPTY = -1;

export class IdNotes {
  #room = FIRST_ROOM;
  #table = emptyTable(FIRST_ROOM);
  #count = 0;
  /** Number of the last row that is known, and of the first of all. */
  #through = 0;
  #oldest = 0;

  get count(): number {
    return this.#count;
  }

  get through(): number {
    return this.#through;
  }

  /** What comes after this row is not known, after all. That some of it is known nevertheless does no harm. */
  unlearn(through: number): void {
    this.#through = through;
  }

  add(hash: number, part: number, seq: number): void {
    if ((this.#count + 1) * 2 > this.#room) this.#grow();
    for (let at = this.#placeOf(hash); ; at++) {
      if (at === this.#table.hashes.length) {
        this.#grow();
        at = this.#placeOf(hash) - 1;
      } else if (this.#table.hashes[at] === EMPTY) {
        this.#table.set(at, hash, part, seq);
        this.#count++;
        return;
      }
    }
  }

  find(hash: number, onEntry: OnEntry): void {
    const { hashes, parts, seqs } = this.#table;
    for (let at = this.#placeOf(hash); at < hashes.length; at++) {
      const there = hashes[at] as number;
      if (there === EMPTY) return;
      if (there === hash) onEntry(parts[at] as number, seqs[at] as number);
    }
  }

  /** All of them, by hash. */
  sorted(): EntryList {
    const { hashes, parts, seqs } = this.#table;
    const list = new EntryList(this.#count);
    for (let from = 0; from < hashes.length; from++) {
      const hash = hashes[from] as number;
      if (hash === EMPTY) continue;
      let to = list.length;
      list.push(hash, parts[from] as number, seqs[from] as number);
      // Few are out of place, and not by much.
      for (; to > 0 && (list.hashes[to - 1] as number) > hash; to--)
        list.set(
          to,
          list.hashes[to - 1] as number,
          list.parts[to - 1] as number,
          list.seqs[to - 1] as number,
        );
      list.set(to, hash, parts[from] as number, seqs[from] as number);
    }
    return list;
  }

  /** Writes entries as one row, and adds them. */
  write(connection: Connection, row: Buffer, entries: EntryList): void {
    this.#through = connection.sql("INSERT INTO id_note (entries) VALUES (?)").insert(row);
    this.#oldest ||= this.#through;
    this.#addAll(entries);
  }

  /** Brings what is known up to date. */
  refresh(connection: Connection, oldest: number): void {
    // Those from the first on have become a run.
    if (oldest !== this.#oldest) this.clear();
    this.#oldest = oldest;
    const rows = connection
      .sql("SELECT id, entries FROM id_note WHERE id > ? ORDER BY id")
      .all<[id: number, entries: Buffer]>(this.#through);
    for (const [id, entries] of rows) {
      this.#addAll(decodeEntries(entries, `note ${id}`));
      this.#through = id;
    }
  }

  /** Nothing is known, or there is nothing. */
  clear(): void {
    this.#room = FIRST_ROOM;
    this.#table = emptyTable(FIRST_ROOM);
    this.#count = 0;
    this.#through = 0;
    this.#oldest = 0;
  }

  #addAll({ hashes, parts, seqs, length }: Entries): void {
    for (let i = 0; i < length; i++) this.add(hashes[i] as number, parts[i] as number, seqs[i] as number);
  }

  #placeOf(hash: number): number {
    return Math.floor(hash * (this.#room / HASHES));
  }

  #grow(): void {
    const { hashes, parts, seqs } = this.#table;
    this.#room *= 2;
    this.#table = emptyTable(this.#room);
    this.#count = 0;
    for (let i = 0; i < hashes.length; i++)
      if (hashes[i] !== EMPTY) this.add(hashes[i] as number, parts[i] as number, seqs[i] as number);
  }
}

function emptyTable(room: number): EntryList {
  const table = new EntryList(room + TAIL);
  table.hashes.fill(EMPTY);
  return table;
}
