import { mongoFixture } from "../../support/mongo/fixture.js";
import { describeProject } from "./index.js";

describeProject(mongoFixture());
