/**
 * A topic's events by key. Made when somebody first asks about a key of the topic, kept up from then on: a topic
 * that nobody asks about pays nothing. A key whose events were spread over partitions by hand is kept by seq, then
 * partition.
 */
import { addToList } from "../../model/add-to-list.js";
import type { HistoryOptions } from "../../ports/log.js";
import type { Kept } from "./partition-log.js";

export class KeyIndex {
  readonly #lists = new Map<string, Kept[]>();

  constructor(partitions: Iterable<Iterable<Kept>>) {
    for (const partition of partitions) {
      for (const event of partition) {
        if (event.key === undefined) continue;
        addToList(this.#lists, event.key, event);
      }
    }
    for (const list of this.#lists.values()) list.sort(byPlace);
  }

  add(event: Kept): void {
    if (event.key === undefined) return;
    const list = this.#lists.get(event.key);
    if (list === undefined) {
      this.#lists.set(event.key, [event]);
      return;
    }
    let at = list.length;
    while (at > 0 && byPlace(list[at - 1] as Kept, event) > 0) at--;
    if (at === list.length) list.push(event);
    else list.splice(at, 0, event);
  }

  forget(events: readonly Kept[]): void {
    const byKey = new Map<string, Set<Kept>>();
    for (const event of events) {
      if (event.key === undefined) continue;
      const gone = byKey.get(event.key);
      if (gone === undefined) byKey.set(event.key, new Set([event]));
      else gone.add(event);
    }
    for (const [key, gone] of byKey) this.#shrink(key, gone);
  }

  newest(key: string): Kept | undefined {
    return this.#lists.get(key)?.at(-1);
  }

  history(key: string, options: HistoryOptions): Kept[] {
    const list = this.#lists.get(key) ?? [];
    const from = firstAbove(list, options.newestFirst ? 0 : (options.after ?? 0));
    const to = options.through === undefined ? list.length : firstAbove(list, options.through);
    if (!options.newestFirst) return list.slice(from, Math.min(to, from + options.limit));
    return list.slice(Math.max(0, to - options.limit), to).reverse();
  }

  #shrink(key: string, gone: ReadonlySet<Kept>): void {
    const list = this.#lists.get(key) ?? [];
    if (list.length === gone.size) {
      this.#lists.delete(key);
      return;
    }
    let prefix = 0;
    while (gone.has(list[prefix] as Kept)) prefix++;
    if (prefix === gone.size) list.splice(0, prefix);
    else
      this.#lists.set(
        key,
        list.filter((e) => !gone.has(e)),
      );
  }
}

function byPlace(a: Kept, b: Kept): number {
  return a.seq - b.seq || a.partition - b.partition;
}

/** Index of the first event above `seq`; seqs may repeat here, so this is a plain binary search. */
function firstAbove(list: readonly Kept[], seq: number): number {
  let low = 0;
  let high = list.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((list[middle]?.seq ?? 0) > seq) high = middle;
    else low = middle + 1;
  }
  return low;
}
