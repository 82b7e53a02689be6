import { describe, expect, it } from "vitest";
import {
  firstSeqHeader,
  firstSeqOf,
  type Redriven,
  redriveHeaders,
  redrivenOf,
  withoutRedrive,
} from "./redrive.js";
import { REDRIVE_GROUP_HEADER } from "./topic.js";

const turn: Redriven = { group: "mailer", root: 7, after: 3, through: 9, skip: false };

describe("the headers of an event that comes back", () => {
  it.each([turn, { ...turn, skip: true }])("say what is read from them: %j", (said) => {
    expect(redrivenOf(redriveHeaders(said))).toEqual(said);
  });

  it("stand for no letter where numbers are missing or none, and for no less than the letter itself", () => {
    const bare = { [REDRIVE_GROUP_HEADER]: "mailer" };
    expect(redrivenOf(bare)).toEqual({ group: "mailer", root: 0, after: 0, through: 0, skip: false });
    const odd = { ...bare, "x-redrive-root": "7", "x-redrive-after": "many", "x-redrive-through": "2" };
    expect(redrivenOf(odd)).toMatchObject({ root: 7, after: 0, through: 7 });
    expect([redrivenOf(undefined), redrivenOf({ "x-redrive-root": "7" })]).toEqual([null, null]);
  });

  it("are taken off again, and nothing else is", () => {
    const first = firstSeqHeader({ seq: 5 });
    const headers = { "x-a": "1", ...redriveHeaders({ ...turn, skip: true }), ...first };
    expect(withoutRedrive(headers)).toEqual({ "x-a": "1" });
    expect(withoutRedrive(undefined)).toEqual({});
  });
});

describe("the seq under which an event was first there", () => {
  const group = { [REDRIVE_GROUP_HEADER]: "mailer" };

  it("is told by the header, or by the letter's root, however often it came back", () => {
    const once = { seq: 9, headers: { ...group, ...firstSeqHeader({ seq: 4 }) } };
    expect(firstSeqOf(once)).toBe(4);
    expect(firstSeqOf({ seq: 12, headers: { ...group, ...firstSeqHeader(once) } })).toBe(4);
    expect(firstSeqOf({ seq: 9, headers: redriveHeaders(turn) })).toBe(7);
  });

  it("is its own where it came back for no group, or where the header says what cannot be", () => {
    expect(firstSeqOf({ seq: 9, headers: firstSeqHeader({ seq: 4 }) })).toBe(9);
    for (const seq of ["0", "-3", "9", "10", "2.5", "soon"])
      expect(firstSeqOf({ seq: 9, headers: { ...group, "x-redrive-seq": seq } })).toBe(9);
    expect(firstSeqOf({ seq: 9 })).toBe(9);
  });
});
