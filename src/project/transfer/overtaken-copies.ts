/**
 * Which events a replay is not to copy into a compacted topic again: their copies were there, and went when a later event of their
 * key was copied. Under its id such a copy could come again (P3), and would be the key's newest value.
 */
import { derivedId } from "../../model/derived-id.js";
import type { StoredEvent } from "../../model/event.js";
import { mapAtMost } from "../../model/map-at-most.js";
import type { Log } from "../../ports/log.js";
import type { Store } from "../../ports/store.js";
import { hasKeyIndex } from "../key-scan.js";

/** Id of the one event as which an event of another topic is copied to `target`. */
export function copyId(eventId: string, target: string): string {
  return derivedId("replay", eventId, target);
}

/** What is to be copied, under which key. */
export interface Copy {
  readonly key: string | undefined;
  readonly from: Pick<StoredEvent, "partition" | "seq" | "ts">;
}

const FINDS_AT_ONCE = 16;

export class OvertakenCopies {
  readonly #log: Log;
  readonly #source: string;
  readonly #target: string;

  private constructor(log: Log, source: string, target: string) {
    this.#log = log;
    this.#source = source;
    this.#target = target;
  }

  /** Null if nothing can be: the target is not compacted, or there is nothing in it. Without an index by key nobody looks. */
  static async of({ log, registry }: Store, source: string, target: string): Promise<OvertakenCopies | null> {
    const topic = await registry.topic(target);
    if (topic?.compaction !== true || !(await hasKeyIndex(log, topic))) return null;
    const isEmpty = (await log.heads(target)).every(({ events }) => events === 0);
    return isEmpty ? null : new OvertakenCopies(log, source, target);
  }

  /** Of each, whether a later event of its key has been copied. */
  async among(copies: readonly Copy[]): Promise<readonly boolean[]> {
    const keys = new Set(copies.flatMap(({ key }) => key ?? []));
    const newest = await this.#log.latestByKey(this.#target, [...keys]);
    const copied = new Map<string, StoredEvent>();
    await mapAtMost(FINDS_AT_ONCE, [...newest], async ([key, there]) => {
      const source = await this.#sourceOf(there);
      if (source !== null) copied.set(key, source);
    });
    return copies.map(({ key, from }) => {
      const last = key === undefined ? undefined : copied.get(key);
      return last !== undefined && isLater(last, from);
    });
  }

  async #sourceOf({ id, meta }: StoredEvent): Promise<StoredEvent | null> {
    const sourceId = meta?.caused_by?.[0];
    if (sourceId === undefined || id !== copyId(sourceId, this.#target)) return null;
    const source = await this.#log.find(sourceId);
    return source?.topic === this.#source ? source : null;
  }
}

/** As a replay goes: partitions by time, each in its own order. */
function isLater(one: Copy["from"], other: Copy["from"]): boolean {
  return one.partition === other.partition ? one.seq > other.seq : one.ts > other.ts;
}
