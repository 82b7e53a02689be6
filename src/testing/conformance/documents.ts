/** The documents' part of the suite. */
import { describe } from "vitest";
import { describeQueries } from "./document-queries.js";
import { describeUnits } from "./document-units.js";
import { describeViews } from "./document-views.js";
import { describeWrites } from "./document-writes.js";
import type { StoreFixture } from "./fixture.js";
import { sharedStore } from "./harness.js";

export function describeDocuments(fixture: StoreFixture): void {
  describe("documents", () => {
    const harness = sharedStore(fixture);
    describeWrites(harness);
    describeUnits(harness);
    describeQueries(harness);
    describeViews(harness);
  });
}
