/**
 * Appends that were written ahead one by one, as the appends they would have been had they come together: the events of a
 * partition in as few batches as they fit into.
 */
import { MAX_SPAN } from "../../batch-codec.js";
import { batchesIn, type NewBatch, TARGET_BYTES } from "../../batch-encoder.js";
import type { AppendRequest } from "../protocol.js";
import type { AheadRecord, PromisedAppend } from "./ahead-record.js";

interface Gathered {
  readonly first: PromisedAppend;
  readonly batches: NewBatch[];
}

export function joinAppends(records: readonly AheadRecord[]): PromisedAppend[] {
  const places = new Map<string, Gathered>();
  for (const { appends } of records) for (const append of appends) gather(places, append);
  return Array.from(places.values(), ({ first, batches }) =>
    batches.length === 1
      ? first
      : { firstSeq: first.firstSeq, request: { ...first.request, ...together(batches) } },
  );
}

/** Seqs of a partition were promised one behind the other. */
function gather(places: Map<string, Gathered>, append: PromisedAppend): void {
  const { topic, partition } = append.request;
  const name = `${partition} ${topic}`;
  const place = places.get(name);
  if (place === undefined) places.set(name, { first: append, batches: batchesIn(append.request) });
  else place.batches.push(...batchesIn(append.request));
}

function together(batches: readonly NewBatch[]): Pick<AppendRequest, "buffer" | "layout"> {
  const bytes = batches.reduce((sum, { ids, data }) => sum + ids.length + data.length, 0);
  const target = Buffer.allocUnsafeSlow(bytes);
  const layout: number[] = [];
  let at = 0;
  for (const run of runsOf(batches)) {
    const idsFrom = at;
    for (const { ids } of run) at += ids.copy(target, at);
    const dataFrom = at;
    // All under the version of the first.
    for (const [i, { data }] of run.entries()) at += data.copy(target, at, i === 0 ? 0 : 1);
    const count = run.reduce((sum, one) => sum + one.count, 0);
    const maxTs = run.reduce((newest, one) => Math.max(newest, one.maxTs), Number.NEGATIVE_INFINITY);
    layout.push(count, idsFrom, dataFrom, dataFrom, at, maxTs);
  }
  return { buffer: target.buffer as ArrayBuffer, layout };
}

/** Batches that fit into one. */
function runsOf(batches: readonly NewBatch[]): NewBatch[][] {
  const runs: NewBatch[][] = [];
  let count = 0;
  let bytes = 0;
  for (const batch of batches) {
    count += batch.count;
    bytes += batch.data.length;
    if (runs.length === 0 || count > MAX_SPAN || bytes > TARGET_BYTES) {
      runs.push([]);
      count = batch.count;
      bytes = batch.data.length;
    }
    runs.at(-1)?.push(batch);
  }
  return runs;
}
