import { BusError } from "../model/errors.js";
import type { PartitionHead } from "../ports/log.js";

/** What `heads` answers of one topic, from what `headsOf` has found. */
export function headsOfOne(
  found: ReadonlyMap<string, readonly PartitionHead[]>,
  topic: string,
): readonly PartitionHead[] {
  const heads = found.get(topic);
  if (heads === undefined) throw new BusError("NOT_FOUND", `topic "${topic}" is not defined`);
  return heads;
}
