import { describe, expect, it } from "vitest";
import { whereOf } from "./where.js";

describe("the search of a view", () => {
  it("reads terms with their operators, and quotes", () => {
    expect(whereOf('status=paid total>=100 name^=Ad note="a b" a.b!=1').params).toEqual({
      "where.status": "paid",
      "where.total[gte]": "100",
      "where.name[prefix]": "Ad",
      "where.note": '"a b"',
      "where.a.b[ne]": "1",
    });
    expect(whereOf("").params).toEqual({});
  });

  it("says what is no term", () => {
    expect(whereOf("paid").wrong).toContain('"paid" names no field');
  });
});
