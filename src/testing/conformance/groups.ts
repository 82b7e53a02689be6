/** The groups' part of the suite. */
import { describe } from "vitest";
import type { StoreFixture } from "./fixture.js";
import { describeCursors } from "./group-cursors.js";
import { describeFences } from "./group-fencing.js";
import { describeLeases } from "./group-leases.js";
import { describeSessions } from "./group-sessions.js";
import { sharedStore } from "./harness.js";

export function describeGroups(fixture: StoreFixture): void {
  describe("groups", () => {
    const harness = sharedStore(fixture);
    describeSessions(harness);
    describeLeases(harness);
    describeFences(harness);
    describeCursors(harness);
  });
}
