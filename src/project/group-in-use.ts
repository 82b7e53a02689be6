/** Groups that somebody is subscribed with: removed under their subscribers, these would wait for events that never come. */
import { BusError } from "../model/errors.js";
import type { GroupState } from "../ports/groups.js";

/** Throws if somebody is subscribed with it, in whatever process. */
export function refuseInUse(state: GroupState): void {
  const inUse = useOf(state);
  if (inUse !== null) throw inUse;
}

/** That somebody is subscribed with it, as an error; null if nobody is. */
export function useOf({ topic, group, members, leases }: GroupState): BusError | null {
  const owners = leases.flatMap(({ owner, alive }) => (owner !== null && alive ? [owner] : []));
  const [one, ...others] = new Set([...members, ...owners]);
  if (one === undefined) return null;
  const more = others.length === 0 ? "" : ` and ${others.length} more`;
  return new BusError(
    "WRITE_CONFLICT",
    `group ${group} is in use on ${topic}, by ${one}${more}: stop its subscribers first`,
    { retryable: false, details: { topic, group, members: [one, ...others] } },
  );
}
