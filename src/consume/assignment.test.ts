/** Who should own what: balanced, moving little, the same on every member. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { assignPartitions } from "./assignment.js";

type Owners = readonly (string | null)[];

const MEMBERS = ["ann", "bob", "cid", "dan", "eve", "fay", "gus"];
const someMembers = fc.uniqueArray(fc.constantFrom(...MEMBERS), { minLength: 1, maxLength: 7 });
/** Owners of 1 to 40 partitions: anybody, present or not, or nobody. */
const someOwners = fc.array(fc.option(fc.constantFrom(...MEMBERS), { nil: null }), {
  minLength: 1,
  maxLength: 40,
});

function counts(owners: Owners): Map<string | null, number> {
  const found = new Map<string | null, number>();
  for (const owner of owners) found.set(owner, (found.get(owner) ?? 0) + 1);
  return found;
}

function moved(before: Owners, after: Owners): number {
  return before.filter((owner, p) => owner !== after[p]).length;
}

/**
 * The fewest partitions that must change hands for shares that differ by one at most: each member keeps what it has up
 * to its share, and the larger shares are best given to those that hold most.
 */
function fewestMoves(members: readonly string[], owners: Owners): number {
  const least = Math.floor(owners.length / members.length);
  let odd = owners.length % members.length;
  let kept = 0;
  const held = members.map((member) => owners.filter((owner) => owner === member).length);
  for (const n of held.sort((a, b) => b - a)) {
    if (n > least && odd > 0) {
      kept += least + 1;
      odd--;
    } else {
      kept += Math.min(n, least);
    }
  }
  return owners.length - kept;
}

const nobody = (partitions: number): null[] => new Array<null>(partitions).fill(null);

describe("assignPartitions", () => {
  it("gives every partition to a member, shares that differ by one at most", () => {
    fc.assert(
      fc.property(someMembers, someOwners, (members, owners) => {
        const wanted = assignPartitions(members, owners, "t/g");
        const shares = members.map((member) => counts(wanted).get(member) ?? 0);
        expect(shares.reduce((a, b) => a + b, 0)).toBe(owners.length);
        expect(Math.max(...shares) - Math.min(...shares)).toBeLessThanOrEqual(1);
      }),
    );
  });

  it("moves as few partitions as a balanced assignment can, whoever holds what", () => {
    fc.assert(
      fc.property(someMembers, someOwners, (members, owners) => {
        expect(moved(owners, assignPartitions(members, owners, "t/g"))).toBe(fewestMoves(members, owners));
      }),
    );
  });

  it("a member that joins takes its share and nothing else moves", () => {
    for (const partitions of [1, 7, 8, 64]) {
      for (let n = 1; n < MEMBERS.length; n++) {
        const before = assignPartitions(MEMBERS.slice(0, n), nobody(partitions), "t/g");
        const after = assignPartitions(MEMBERS.slice(0, n + 1), before, "t/g");
        const newcomer = MEMBERS[n] as string;
        expect(moved(before, after)).toBe(Math.floor(partitions / (n + 1)));
        expect(after.filter((owner, p) => owner !== before[p] && owner !== newcomer)).toEqual([]);
      }
    }
  });

  it("when a member leaves, only what it held moves", () => {
    for (const partitions of [1, 7, 8, 64]) {
      const before = assignPartitions(MEMBERS, nobody(partitions), "t/g");
      for (const gone of MEMBERS) {
        const after = assignPartitions(
          MEMBERS.filter((member) => member !== gone),
          before,
          "t/g",
        );
        expect(moved(before, after)).toBe(counts(before).get(gone) ?? 0);
      }
    }
  });

  it("is the same for everybody, in whatever order the members are listed", () => {
    fc.assert(
      fc.property(someMembers, someOwners, fc.infiniteStream(fc.nat()), (members, owners, chance) => {
        const shuffled = [...members].sort(() => ((chance.next().value ?? 0) % 2 === 0 ? -1 : 1));
        expect(assignPartitions(shuffled, owners, "t/g")).toEqual(assignPartitions(members, owners, "t/g"));
      }),
    );
  });

  it("changes nothing once it is carried out", () => {
    fc.assert(
      fc.property(someMembers, someOwners, (members, owners) => {
        const wanted = assignPartitions(members, owners, "t/g");
        expect(assignPartitions(members, wanted, "t/g")).toEqual(wanted);
      }),
    );
  });

  it("P15: converges when owners change one by one, each asking anew, without moving more than it must", () => {
    fc.assert(
      fc.property(someMembers, someOwners, fc.infiniteStream(fc.nat()), (members, start, chance) => {
        const owners = [...start];
        const bound = fewestMoves(members, start);
        let handovers = 0;
        for (let turn = 0; turn < 4 * owners.length + 4; turn++) {
          const wanted = assignPartitions(members, owners, "t/g");
          const wrong = owners.flatMap((owner, p) => (owner === wanted[p] ? [] : [p]));
          if (wrong.length === 0) break;
          const p = wrong[(chance.next().value ?? 0) % wrong.length] as number;
          // An owner gives it up first; only a partition that nobody has is taken.
          if (owners[p] !== null && members.includes(owners[p] as string)) owners[p] = null;
          else {
            owners[p] = wanted[p] ?? null;
            handovers++;
          }
        }
        expect(assignPartitions(members, owners, "t/g")).toEqual(owners);
        expect(handovers).toBe(bound);
      }),
    );
  });

  it("spreads the odd partitions of many groups over the members", () => {
    const winners = Array.from(
      { length: 300 },
      (_, i) => assignPartitions(["ann", "bob", "cid"], [null], `t/g${i}`)[0],
    );
    for (const member of ["ann", "bob", "cid"])
      expect(winners.filter((winner) => winner === member).length).toBeGreaterThan(60);
  });

  it("gives nothing to anybody when there are no members", () => {
    expect(assignPartitions([], ["ann", null], "t/g")).toEqual([null, null]);
  });
});
