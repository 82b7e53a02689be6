/**
 * Removing a group that nobody needs any more: a group that stands still keeps tombstones, is told of by retention, and shows as
 * behind for ever. Whoever subscribes under its name later begins anew.
 *
 * Not one that somebody is subscribed with: it would wait for events that never come. Nor one that feeds a view, which would get
 * all events once more.
 */
import { BusError } from "../model/errors.js";
import type { GroupRef, GroupState } from "../ports/groups.js";
import type { Log } from "../ports/log.js";
import type { Registry } from "../ports/registry.js";
import { unsettled } from "../project/retention/retention-cut.js";
import { feedsView } from "../project/views/feeders.js";
import { restingGroups } from "../project/views/resting-groups.js";

/** What the removal of a group means, or meant. */
export interface RemovedGroup extends GroupRef {
  readonly removed: boolean;
  /** Events of the log that it has not settled, and that nobody gets in its name. */
  readonly unsettled: number;
}

/** Throws if it feeds a view, unless that is a build that no longer counts. */
export async function refuseFeeder(registry: Registry, { topic, group }: GroupRef): Promise<void> {
  if (!(await feedsView(registry, { topic, group }))) return;
  const resting = await restingGroups(registry);
  const why = resting.some((ref) => ref.topic === topic && ref.group === group)
    ? "is kept for the way back to the build before: the next rebuild removes it"
    : "feeds a view, which would get all events once more; it goes with the view";
  throw new BusError("WRITE_CONFLICT", `group ${group} of ${topic} ${why}`, { retryable: false });
}

/** Events that are there still, by their seqs: those that were compacted away count too. */
export async function countUnsettled(log: Log, { topic, leases }: GroupState): Promise<number> {
  const cursors = new Map(leases.map(({ partition, cursor }) => [partition, cursor]));
  const heads = await log.heads(topic);
  return heads.reduce(
    (sum, { partition, low, head }) => sum + unsettled(cursors.get(partition), low, head),
    0,
  );
}
