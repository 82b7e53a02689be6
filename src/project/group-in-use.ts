/** Groups that somebody is subscribed with: removed under their subscribers, these would wait for events that never come. */
import { BusError } from "../model/errors.js";
import type { GroupState } from "../ports/groups.js";

/** Throws if somebody is subscribed with it, in whatever process. */
export function refuseInUse({ topic, group, members, leases }: GroupState): void {
  const owners = leases.flatMap(({ owner, alive }) => (owner !== null && alive ? [owner] : []));
  const [one, ...others] = new Set([...members, ...owners]);
  if (one === undefined) return;
  const more = others.length === 0 ? "" : ` and ${others.length} more`;
  throw new BusError(
    "WRITE_CONFLICT",
    `group ${group} is in use on ${topic}, by ${one}${more}: stop its subscribers first`,
    { retryable: false, details: { topic, group, members: [one, ...others] } },
  );
}
