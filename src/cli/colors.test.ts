import { describe, expect, it } from "vitest";
import { isColorWanted } from "./colors.js";

describe("colours", () => {
  it("are for terminals, not for files, pipes and terminals that can do nothing", () => {
    expect(isColorWanted({ TERM: "xterm" }, true)).toBe(true);
    expect(isColorWanted({}, true)).toBe(true);
    expect(isColorWanted({ TERM: "xterm" }, false)).toBe(false);
    expect(isColorWanted({ TERM: "dumb" }, true)).toBe(false);
  });

  it("are left out of what a build server keeps: it may be read by another program", () => {
    expect(isColorWanted({ CI: "true" }, false)).toBe(false);
  });

  it("are gone by NO_COLOR, whatever it says and whatever else is asked for", () => {
    for (const NO_COLOR of ["1", "0", "false"])
      expect(isColorWanted({ NO_COLOR, FORCE_COLOR: "1" }, true)).toBe(false);
  });

  it("come by FORCE_COLOR, and go by FORCE_COLOR=0", () => {
    for (const FORCE_COLOR of ["1", "3", "true"]) expect(isColorWanted({ FORCE_COLOR }, false)).toBe(true);
    for (const FORCE_COLOR of ["0", "false"]) expect(isColorWanted({ FORCE_COLOR }, true)).toBe(false);
  });

  it("do not go by either if it is empty", () => {
    expect(isColorWanted({ NO_COLOR: "", FORCE_COLOR: "" }, true)).toBe(true);
    expect(isColorWanted({ NO_COLOR: "", FORCE_COLOR: "" }, false)).toBe(false);
  });
});
