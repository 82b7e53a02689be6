import { describe, expect, it } from "vitest";
import { ManualClock } from "../../model/manual-clock.js";
import { BuildFollower } from "./build-follower.js";

describe("following the build that counts", () => {
  it("attaches again to the build before, if the way to another one failed and was taken back", async () => {
    const clock = new ManualClock();
    let current = "one";
    const attached: string[] = [];
    const follower = await BuildFollower.start({
      clock,
      current: async () => current,
      attach: async (build) => {
        if (build === "two") throw new Error("the store is away");
        attached.push(build);
        return async () => void attached.splice(attached.indexOf(build), 1);
      },
      round: async () => undefined,
    });
    expect(attached).toEqual(["one"]);
    current = "two";
    await clock.advance(500);
    expect(attached).toEqual([]);
    current = "one";
    await clock.advance(500);
    expect(attached).toEqual(["one"]);
    await follower.stop();
    expect(attached).toEqual([]);
  });
});
