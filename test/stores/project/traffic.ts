/** Events to try projections with, and what they must come to. */
import type { EventRecord } from "../../../src/model/event.js";
import type { PublishItem } from "../../../src/model/event-bus.js";
import { seededRandom } from "../../../src/model/manual-clock.js";
import { isTombstone } from "../../../src/project/tombstone.js";

/** The last value of each key, deleted ones left out: what a replay of these events comes to. */
export function finalState(events: Iterable<EventRecord>): Record<string, unknown> {
  const state = new Map<string, unknown>();
  for (const { key, payload } of events) {
    if (key === undefined) continue;
    if (isTombstone(payload)) state.delete(key);
    else state.set(key, payload);
  }
  return Object.fromEntries([...state].sort(([a], [b]) => (a < b ? -1 : 1)));
}

export interface TrafficOptions {
  readonly events: number;
  readonly keys: number;
  readonly seed?: number;
  /** Share of tombstones. Default 0.1. */
  readonly deletes?: number;
  readonly firstTs?: number;
}

/** Changes of random keys, a second apart, some of them deletes of either kind, some without a key. */
export function traffic(options: TrafficOptions): PublishItem[] {
  const { events, keys, seed = 1, deletes = 0.1, firstTs = Date.now() - events * 1_000 } = options;
  const random = seededRandom(seed);
  return Array.from({ length: events }, (_, i) => {
    const ts = firstTs + i * 1_000;
    if (random() < 0.02) return { payload: { keyless: i }, ts };
    const key = `k${Math.floor(random() * keys)}`;
    const gone = random() < deletes;
    return { key, ts, payload: gone ? (random() < 0.5 ? null : { _deleted: true }) : { n: i } };
  });
}
