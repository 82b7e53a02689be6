import { embeddedFixture } from "../../../test/support/embedded-fixture.js";
import { describeStore } from "../../testing/conformance/index.js";

describeStore(embeddedFixture());
