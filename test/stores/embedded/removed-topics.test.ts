/** Topics that come and go by chance, on files as processes that are killed in between would leave them. */
import { afterEach, describe, it } from "vitest";
import { Harness } from "../../../src/testing/conformance/harness.js";
import { RemovalRun } from "../../../src/testing/conformance/topic-removal-model.js";
import { embeddedFixture } from "../../support/embedded-fixture.js";

const harness = new Harness();
afterEach(() => harness.end());

describe.each([false, true])("topics that are removed, exclusive: %s", (exclusive) => {
  it.each([11, 12, 13])(
    "P1, P2, P3: are what a model says, on files as a kill leaves them (seed %i)",
    async (seed) => {
      await harness.begin(embeddedFixture({ exclusive, crashes: true }));
      await new RemovalRun(harness, seed).run(80);
    },
  );
});
