/**
 * Which ids are certainly new, without a look at the store (P3): all appends of a store that one process has for itself pass
 * here, so that a UUIDv7 that is newer than everything that stood in the store, and is not remembered, is in it nowhere.
 */
import { LAYOUT } from "../../batch-encoder.js";
import { ID_BYTES, uuidTimeMs } from "../../id-key.js";
import { RecentIds } from "../indexes/recent-ids.js";
import { countOf } from "./ahead-record.js";

/** Which numbers of a layout tell where the ids of a batch are. */
const IDS_FROM = 1;
const IDS_TO = 2;

export class AheadIds {
  readonly #recent = new RecentIds(() => undefined);

  /** `sinceMs`: no UUIDv7 in the store has this time or a later one. */
  constructor(sinceMs: number) {
    this.#recent.restart(sinceMs);
  }

  /** Remembers the ids of batches that are going to be appended; says whether they are all new. */
  add(bytes: Uint8Array, layout: readonly number[]): boolean {
    let found = 0;
    for (let i = 0; i < layout.length; i += LAYOUT) {
      const end = layout[i + IDS_TO] as number;
      for (let at = layout[i + IDS_FROM] as number; at < end; at += ID_BYTES)
        if (this.#isNew(bytes, at)) found++;
    }
    return found === countOf({ layout });
  }

  #isNew(bytes: Uint8Array, at: number): boolean {
    const timeMs = uuidTimeMs(bytes, at);
    if (timeMs < 0) return false;
    const isNew = this.#recent.covers(timeMs) && !this.#recent.mayHave(bytes, at);
    this.#recent.add(bytes, at, timeMs);
    return isNew;
  }
}
