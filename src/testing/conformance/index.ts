/**
 * The conformance suite: what every store must do, run by each driver's own tests. `promethean/testing/conformance`: apart
 * from the rest, since it needs vitest.
 *
 * @example
 * // my-store.test.ts, with vitest
 * describeStore({ name: "my store", create: async () => { … } });
 */
import { describe } from "vitest";
import { describeDocuments } from "./documents.js";
import type { StoreFixture } from "./fixture.js";
import { describeGroups } from "./groups.js";
import { describeLifecycle } from "./lifecycle.js";
import { describeLog } from "./log.js";
import { describeOutbox } from "./outbox.js";
import { describeRegistry } from "./registry.js";

export type { StoreFixture, StoreUnderTest } from "./fixture.js";

/** Declares the tests of a store, inside of a vitest file. */
export function describeStore(fixture: StoreFixture): void {
  describe(`${fixture.name} store`, () => {
    describeLog(fixture);
    describeGroups(fixture);
    describeDocuments(fixture);
    describeOutbox(fixture);
    describeRegistry(fixture);
    describeLifecycle(fixture);
  });
}
