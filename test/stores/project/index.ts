/** What looks after topics and groups, held to one suite on every store. */
import { describe } from "vitest";
import type { StoreFixture } from "../../../src/testing/conformance/fixture.js";
import { describeBadInput } from "./bad-input.js";
import { ProjectBench } from "./bench.js";
import { describeCommitsUnderWay } from "./commits-under-way.js";
import { describeCompaction } from "./compaction.js";
import { describeDeadLetters } from "./dead-letters.js";
import { describeGivingBack } from "./giving-back.js";
import { describeHeldKeys } from "./held-keys.js";
import { describeOutboxDrainer } from "./outbox.js";
import { describeProjectors } from "./projectors.js";
import { describeRebuild } from "./rebuild.js";
import { describeRemoval } from "./removal.js";
import { describeRemovedGroups } from "./removed-groups.js";
import { describeRemovedTopics } from "./removed-topics.js";
import { describeReplay } from "./replay.js";
import { describeRetention } from "./retention.js";
import { describeSnapshots } from "./snapshots.js";
import { describeTimeTravel } from "./time-travel.js";
import { describeTransfer } from "./transfer.js";
import { describeVerification } from "./verification.js";

export function describeProject(fixture: StoreFixture): void {
  describe(`on the ${fixture.name} store`, () => {
    const bench = new ProjectBench(fixture);
    describeProjectors(bench);
    describeCommitsUnderWay(bench);
    describeGivingBack(bench);
    describeDeadLetters(bench);
    describeHeldKeys(bench);
    describeOutboxDrainer(bench);
    describeRebuild(bench);
    describeRemoval(bench);
    describeRemovedGroups(bench);
    describeRemovedTopics(bench);
    describeCompaction(bench);
    describeSnapshots(bench);
    describeTimeTravel(bench);
    describeRetention(bench);
    describeReplay(bench);
    describeTransfer(bench);
    describeVerification(bench);
    describeBadInput(bench);
  });
}
