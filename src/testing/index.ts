/**
 * What a test of handlers, or anybody who doubts, needs: `promethean/testing`. It runs under any test runner. `describeStore`, for those
 * who write a store, is vitest's alone, and vitest is loaded only where it runs already: hence the wait, which `require`
 * does not take (it has `require.ts`). `promethean/testing/conformance` is that part by itself.
 */
import { BusError } from "../model/errors.js";
import type { StoreFixture } from "./conformance/fixture.js";

export type { StoreFixture, StoreUnderTest } from "./conformance/fixture.js";
export * from "./require.js";

const suite =
  process.env["VITEST"] === undefined ? null : await import("./conformance/index.js").catch(() => null);

/** Declares the tests of a store, inside of a vitest file. UNSUPPORTED elsewhere. */
export function describeStore(fixture: StoreFixture): void {
  if (suite === null) throw new BusError("UNSUPPORTED", "the conformance suite of stores runs under vitest");
  suite.describeStore(fixture);
}
