/** A place in a topic as people name it, and what it means in each partition. */
import { BusError } from "../model/errors.js";
import type { Seq } from "../model/event.js";
import type { Log, PartitionHead } from "../ports/log.js";

/**
 * Where to begin: the event it names is the first one to come. Of the other partitions, an `id` means its time and a
 * `seq` without a partition means the same number. `floors` names, for each partition, the last event *not* to come.
 */
export type Position =
  | "earliest"
  | "latest"
  | { readonly ts: number | Date }
  | { readonly id: string }
  | { readonly seq: Seq; readonly partition?: number }
  | { readonly floors: readonly Seq[] };

/** For each partition, the seq after which to begin; never beyond the head. */
export async function floorsAt(log: Log, topic: string, position: Position): Promise<Seq[]> {
  const heads = await log.heads(topic);
  const floors = await wishedFloors(log, topic, position, heads);
  return heads.map(({ head }, i) => Math.min(head, Math.max(0, floors[i] ?? 0)));
}

async function wishedFloors(
  log: Log,
  topic: string,
  position: Position,
  heads: readonly PartitionHead[],
): Promise<readonly Seq[]> {
  if (position === "earliest") return heads.map(({ low }) => low - 1);
  if (position === "latest") return heads.map(({ head }) => head);
  if (typeof position !== "object" || position === null) throw unknownPosition();
  if ("ts" in position && isTime(position.ts)) return floorsAtTime(log, topic, Number(position.ts), heads);
  if ("id" in position && typeof position.id === "string") return floorsAtId(log, topic, position.id, heads);
  if ("seq" in position && isSeq(position.seq)) return floorsAtSeq(topic, position, heads);
  if ("floors" in position && Array.isArray(position.floors) && position.floors.every(isSeq)) {
    if (position.floors.length === heads.length) return position.floors;
    throw new BusError("INVALID_OPTION", `${topic} has ${heads.length} partitions: floors must have as many`);
  }
  throw unknownPosition();
}

function floorsAtTime(
  log: Log,
  topic: string,
  ts: number,
  heads: readonly PartitionHead[],
): Promise<readonly Seq[]> {
  return Promise.all(heads.map(async ({ partition }) => (await log.seqAt(topic, partition, ts)) - 1));
}

async function floorsAtId(
  log: Log,
  topic: string,
  id: string,
  heads: readonly PartitionHead[],
): Promise<readonly Seq[]> {
  const event = await log.find(id);
  if (event === null || event.topic !== topic) {
    throw new BusError("NOT_FOUND", `${topic} has no event ${id}; it may have been removed by retention`);
  }
  const floors = await floorsAtTime(log, topic, event.ts, heads);
  return floors.map((floor, partition) => (partition === event.partition ? event.seq - 1 : floor));
}

/** With a partition, the others stay at their heads: only that one is meant. */
function floorsAtSeq(
  topic: string,
  { seq, partition }: { readonly seq: Seq; readonly partition?: number },
  heads: readonly PartitionHead[],
): readonly Seq[] {
  if (partition === undefined) return heads.map(() => seq - 1);
  if (heads[partition] === undefined) {
    throw new BusError(
      "INVALID_OPTION",
      `${topic} has partitions 0 to ${heads.length - 1}, not ${partition}`,
    );
  }
  return heads.map((head) => (head.partition === partition ? seq - 1 : head.head));
}

function isTime(value: unknown): value is number | Date {
  return Number.isFinite(value instanceof Date ? value.getTime() : value);
}

function isSeq(value: unknown): value is Seq {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

function unknownPosition(): BusError {
  return new BusError(
    "INVALID_OPTION",
    'a position is "earliest", "latest", { ts }, { id }, { seq, partition? } or { floors }',
  );
}
