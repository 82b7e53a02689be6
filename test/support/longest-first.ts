/** The order of test files: those that take longest are begun first, so that none of them is left to run alone in the end. */
import { BaseSequencer, type TestSpecification } from "vitest/node";

const LONGEST = [
  "test/stores/crash/crash.test.ts",
  "test/stores/project/mongo.test.ts",
  "test/stores/mongo/sharded.test.ts",
  "test/e2e/cli-examples.test.ts",
  "test/stores/project/kills/kills.test.ts",
  "test/faults/disk.test.ts",
];

export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    return (await super.sort(files)).sort((a, b) => placeOf(a) - placeOf(b));
  }
}

function placeOf({ moduleId }: TestSpecification): number {
  const place = LONGEST.findIndex((path) => moduleId.endsWith(path));
  return place < 0 ? LONGEST.length : place;
}
