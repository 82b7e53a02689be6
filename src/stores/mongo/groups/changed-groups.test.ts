import { describe, expect, it } from "vitest";
import { ChangedGroups } from "./changed-groups.js";

const entry = (version: number) => ({ version, ref: `t.a/g${version}` });
const groups = (refs: readonly { group: string }[]): string[] => refs.map(({ group }) => group);

describe("what an update of the log of changes is about", () => {
  it("is what was added, whole or piece by piece", () => {
    const changed = new ChangedGroups();
    expect(groups(changed.of({ version: 1, latest: [entry(1)] }))).toEqual(["g1"]);
    expect(groups(changed.of({ version: 3, "latest.1": entry(2), "latest.2": entry(3) }))).toEqual([
      "g2",
      "g3",
    ]);
  });

  it("is nothing but what is new, also if every entry has moved in a log that is full", () => {
    const changed = new ChangedGroups();
    changed.of({ latest: [entry(1), entry(2), entry(3)] });
    expect(groups(changed.of({ latest: [entry(2), entry(3), entry(4)] }))).toEqual(["g4"]);
    expect(groups(changed.of({ "latest.0": entry(3), "latest.1": entry(4), "latest.2": entry(5) }))).toEqual([
      "g5",
    ]);
  });

  it("names a group once, and nothing if no entry came", () => {
    const changed = new ChangedGroups();
    expect(groups(changed.of({ latest: [entry(1), { ...entry(1), version: 2 }] }))).toEqual(["g1"]);
    expect(changed.of({ version: 3 })).toEqual([]);
    expect(changed.of(undefined)).toEqual([]);
    expect(groups(changed.of({ latest: [entry(2), entry(3)] }))).toEqual(["g3"]);
  });

  it("is everything in a log that began anew", () => {
    const changed = new ChangedGroups();
    changed.of({ latest: [entry(8), entry(9)] });
    expect(groups(changed.of({ latest: [entry(1)] }))).toEqual(["g1"]);
  });
});
