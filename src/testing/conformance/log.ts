/** The log's part of the suite. */
import { describe } from "vitest";
import type { StoreFixture } from "./fixture.js";
import { sharedStore } from "./harness.js";
import { describeAppend } from "./log-append.js";
import { describeKeys } from "./log-keys.js";
import { describeRead } from "./log-read.js";
import { describeRemoval } from "./log-removal.js";
import { describeWatch } from "./log-watch.js";

export function describeLog(fixture: StoreFixture): void {
  describe("log", () => {
    const harness = sharedStore(fixture);
    describeAppend(harness);
    describeRead(harness);
    describeRemoval(harness);
    describeKeys(harness);
    describeWatch(harness);
  });
}
