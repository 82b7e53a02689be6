/**
 * Who should own which partition. Pure: every member computes the same from the same facts, so no leader is needed.
 * Shares differ by one at most. An owner keeps what it has up to its share, so little moves when members come or go;
 * the rest is placed by rendezvous score.
 */
import { hash64 } from "../model/partition.js";

/**
 * @param owners the present owner of each partition, or null; owners that are not members count as null
 * @param salt   spreads groups and topics: without it, the same member would get the odd partition of each
 * @returns the member that should own each partition; null only if there are no members
 */
export function assignPartitions(
  members: readonly string[],
  owners: readonly (string | null)[],
  salt: string,
): (string | null)[] {
  const wanted: (string | null)[] = owners.map(() => null);
  if (members.length === 0) return wanted;
  const room = shares(members, owners, salt);
  for (const member of members) {
    const held = owners.flatMap((owner, partition) => (owner === member ? [partition] : []));
    held.sort((a, b) => score(salt, b, member) - score(salt, a, member) || a - b);
    for (const partition of held.slice(0, room.get(member))) take(wanted, room, partition, member);
  }
  wanted.forEach((owner, partition) => {
    if (owner === null) take(wanted, room, partition, bestWithRoom(members, room, salt, partition));
  });
  return wanted;
}

function take(wanted: (string | null)[], room: Map<string, number>, partition: number, member: string): void {
  wanted[partition] = member;
  room.set(member, (room.get(member) ?? 0) - 1);
}

/**
 * How many partitions each member may have; those that hold most get the odd ones, so that they move least, and among
 * equals chance by salt decides, so that the odd ones of many groups are spread.
 */
function shares(
  members: readonly string[],
  owners: readonly (string | null)[],
  salt: string,
): Map<string, number> {
  const held = new Map(members.map((member) => [member, 0]));
  for (const owner of owners)
    if (owner !== null && held.has(owner)) held.set(owner, (held.get(owner) ?? 0) + 1);
  const least = Math.floor(owners.length / members.length);
  const odd = owners.length % members.length;
  const luck = new Map(members.map((member) => [member, score(salt, -1, member)]));
  const byHolding = [...held].sort(
    ([a, n], [b, m]) => m - n || (luck.get(b) ?? 0) - (luck.get(a) ?? 0) || (a < b ? -1 : 1),
  );
  return new Map(byHolding.map(([member], rank) => [member, rank < odd ? least + 1 : least]));
}

function bestWithRoom(
  members: readonly string[],
  room: ReadonlyMap<string, number>,
  salt: string,
  partition: number,
): string {
  let best = members[0] as string;
  let bestScore = -1;
  for (const member of members) {
    if ((room.get(member) ?? 0) <= 0) continue;
    const s = score(salt, partition, member);
    if (s > bestScore) {
      best = member;
      bestScore = s;
    }
  }
  return best;
}

function score(salt: string, partition: number, member: string): number {
  const h = hash64(`${salt}/${partition}:${member}`);
  return h.hi * 0x200000 + (h.lo >>> 11);
}
