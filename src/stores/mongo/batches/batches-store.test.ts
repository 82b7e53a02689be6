import { mongoFixture } from "../../../../test/support/mongo/fixture.js";
import { describeStore } from "../../../testing/conformance/index.js";

describeStore(mongoFixture({ layout: "batches" }));
