/** What a hub counts stays bounded and useful, however many topics and groups came and went in its life (P13). */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { ManualClock } from "../../model/manual-clock.js";
import { LiveStats } from "./live-stats.js";

const MINUTE_MS = 60_000;
const MOST = 2_000;

let clock: ManualClock;
let live: LiveStats;

beforeEach(() => {
  clock = new ManualClock();
  live = new LiveStats(clock);
});
afterEach(() => live.close());

const groups = (): string[] => live.snapshot().groups.map(({ group }) => group);
const topics = (): string[] => live.snapshot().topics.map(({ topic }) => topic);

describe("P13: a hub that has seen more names than it follows", () => {
  beforeEach(async () => {
    for (let n = 0; n < MOST; n++) {
      live.delivered("orders", `g${n}`, 1);
      live.published(`t${n}`, 1);
    }
    await clock.advance(MINUTE_MS);
  });

  it("follows no more as long as all of them are in use, and says so", () => {
    live.delivered("orders", "one-more", 1);
    live.published("one-more", 1);
    expect(live.snapshot().untracked).toBe(true);
    expect(groups()).toHaveLength(MOST);
    expect(groups()).not.toContain("one-more");
    expect(topics()).not.toContain("one-more");
  });

  it("lets those go that were silent for long, once others need their room", async () => {
    await clock.advance(10 * MINUTE_MS);
    live.delivered("orders", "g7", 1);
    live.published("t7", 1);
    await clock.advance(1_000);
    expect(groups()).toHaveLength(MOST);
    // The first of each finds no room yet.
    for (let n = 0; n < 2; n++) {
      live.delivered("orders", "one-more", 1);
      live.published("one-more", 1);
      await clock.advance(1_000);
    }
    expect(groups()).toEqual(["g7", "one-more"]);
    expect(topics()).toEqual(["t7", "one-more"]);
    expect(live.snapshot()).toMatchObject({ untracked: false, totals: { published: expect.any(Number) } });
    expect(live.counts).toMatchObject({ published: MOST + 3, delivered: MOST + 3 });
  });
});

describe("groups that were removed", () => {
  it("go, and those that may only be about to begin stay", async () => {
    live.delivered("orders", "removed", 1);
    live.delivered("orders", "kept", 1);
    await clock.advance(2 * MINUTE_MS);
    live.delivered("orders", "new", 1);
    await clock.advance(1_000);
    live.keepGroups([{ topic: "orders", group: "kept" }]);
    expect(groups()).toEqual(["kept", "new"]);
    live.acked("orders", "removed", 1);
    expect(groups()).toEqual(["kept", "new", "removed"]);
  });
});

describe("topics that were removed", () => {
  it("go, with what was counted of their schemas, and those that may only be about to begin stay", async () => {
    for (const topic of ["removed", "kept"]) {
      live.published(topic, 1);
      live.validated(topic, 1, "valid");
    }
    await clock.advance(MINUTE_MS);
    live.published("new", 1);
    await clock.advance(1_000);
    live.keepTopics(new Set(["kept"]));
    expect(topics()).toEqual(["kept", "new"]);
    expect([...live.schemas.validated].map(({ topic }) => topic)).toEqual(["kept"]);
    live.published("removed", 1);
    expect(topics()).toEqual(["kept", "new", "removed"]);
  });
});
