/**
 * The newest entries of the index by key in memory: a list, since one key may have all of them. Nobody but readers looks for keys in it:
 * for them a part of it is kept sorted.
 */
import { type Entries, EntryList } from "./index-entries.js";
import type { NotedEntries } from "./index-notes.js";
import { type Stretch, stretchOf } from "./index-runs.js";

/** Entries that came since it was sorted, and are looked at one by one. */
const MAX_TAIL = 4_096;
const FIRST_ROOM = 64;

export class KeyNotes implements NotedEntries {
  #list = new EntryList(FIRST_ROOM);
  #sorted: Entries | undefined;

  get count(): number {
    return this.#list.length;
  }

  add(hash: number, part: number, seq: number): void {
    this.#list.push(hash, part, seq);
  }

  sorted(): Entries {
    if (this.#sorted?.length !== this.#list.length) this.#sorted = sorted(this.#list);
    return this.#sorted;
  }

  /** Those under a hash, from a seq on, or up to it from the last one on: in two stretches, each of them sorted. */
  stretches(hash: number, seq: number, isDescending: boolean): readonly Stretch[] {
    if (this.count - (this.#sorted?.length ?? 0) > MAX_TAIL) this.sorted();
    const tail = new EntryList(FIRST_ROOM);
    const { hashes, parts, seqs } = this.#list;
    for (let i = this.#sorted?.length ?? 0; i < this.count; i++)
      if (hashes[i] === hash) tail.push(hash, parts[i] as number, seqs[i] as number);
    return [this.#sorted, tail.length === 0 ? undefined : sorted(tail)]
      .filter((entries) => entries !== undefined)
      .map((entries) => stretchOf(entries, hash, seq, isDescending));
  }

  clear(): void {
    this.#list = new EntryList(FIRST_ROOM);
    this.#sorted = undefined;
  }
}

/**
 * In the order of a run. Numbers alone are sorted several times as fast as by a function that compares: so are the first bits of the hashes,
 * with the place of the entry in the rest. The few that begin alike are compared.
 */
function sorted(list: EntryList): EntryList {
  const { length, hashes, parts, seqs } = list;
  const places = 2 ** Math.ceil(Math.log2(length + 1));
  const marks = new Float64Array(length);
  // A division by a power of two is exact, and quicker than the remainder of one.
  const beginOf = (mark: number): number => Math.floor(mark / places) * places;
  for (let i = 0; i < length; i++) marks[i] = beginOf(hashes[i] as number) + i;
  marks.sort();
  const order = new Uint32Array(length);
  let [begin, from] = [-1, 0];
  for (let i = 0; i < length; i++) {
    const mark = marks[i] as number;
    const there = beginOf(mark);
    order[i] = mark - there;
    if (there === begin) continue;
    sortBetween(list, order, from, i);
    begin = there;
    from = i;
  }
  sortBetween(list, order, from, length);
  const result = new EntryList(length);
  for (const at of order) result.push(hashes[at] as number, parts[at] as number, seqs[at] as number);
  return result;
}

function sortBetween(list: Entries, order: Uint32Array, from: number, to: number): void {
  if (to - from > 1) order.subarray(from, to).sort((a, b) => compare(list, a, b));
}

function compare({ hashes, seqs }: Entries, a: number, b: number): number {
  return (
    (hashes[a] as number) - (hashes[b] as number) ||
    Math.abs(seqs[a] as number) - Math.abs(seqs[b] as number) ||
    a - b
  );
}
