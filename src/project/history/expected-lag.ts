/** Groups that are behind as they should be: nobody has to look after them, and their lag is in no sum and raises no alarm. */

/** The group whose cursor tells how far the snapshot of a topic has come: upkeep takes it along in its rounds. */
export const SNAPSHOT_GROUP = "compactor:snapshot";

export function mayBeBehind({
  group,
  resting,
}: {
  readonly group: string;
  readonly resting?: true;
}): boolean {
  return resting === true || group === SNAPSHOT_GROUP;
}
