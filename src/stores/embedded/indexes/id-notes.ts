/**
 * The newest entries of the index of ids in memory: a table whose places follow the order of the hashes, so that it is nearly sorted when
 * its entries become a run.
 */
import { EntryList, isBehind } from "./index-entries.js";
import { HASHES } from "./index-hash.js";
import type { NotedEntries } from "./index-notes.js";
import type { OnEntry } from "./index-runs.js";

const FIRST_ROOM = 4_096;
/** Places behind the last, for those that are pushed there. */
const TAIL = 64;
const EMPTY = -1;

export class IdNotes implements NotedEntries {
  #room = FIRST_ROOM;
  #table = emptyTable(FIRST_ROOM);
  #count = 0;

  get count(): number {
    return this.#count;
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

  /** Marks those of many hashes that there are entries under. */
  mark(hashes: Float64Array, marks: Uint8Array): void {
    const there = this.#table.hashes;
    for (let i = 0; i < hashes.length; i++) {
      const hash = hashes[i] as number;
      let at = this.#placeOf(hash);
      while (at < there.length && there[at] !== EMPTY && there[at] !== hash) at++;
      if (there[at] === hash) marks[i] = 1;
    }
  }

  sorted(): EntryList {
    const { hashes, parts, seqs } = this.#table;
    const list = new EntryList(this.#count);
    for (let from = 0; from < hashes.length; from++) {
      const hash = hashes[from] as number;
      if (hash === EMPTY) continue;
      const seq = seqs[from] as number;
      let to = list.length;
      list.push(hash, parts[from] as number, seq);
      // Few are out of place, and not by much.
      for (; to > 0 && isBehind(list, to - 1, hash, Math.abs(seq)); to--)
        list.set(
          to,
          list.hashes[to - 1] as number,
          list.parts[to - 1] as number,
          list.seqs[to - 1] as number,
        );
      list.set(to, hash, parts[from] as number, seq);
    }
    return list;
  }

  clear(): void {
    this.#room = FIRST_ROOM;
    this.#table = emptyTable(FIRST_ROOM);
    this.#count = 0;
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
