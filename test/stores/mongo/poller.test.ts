/** Looking for news beside a change stream that may be late. */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { Collections } from "../../../src/stores/mongo/collections.js";
import { type End, Poller } from "../../../src/stores/mongo/signals/poller.js";
import { drafts } from "../../../src/testing/conformance/samples.js";
import { eventually } from "../../support/eventually.js";
import { TestDatabase } from "../../support/mongo/database.js";

describe.each(["events", "batches"] as const)("a look at what is new among %s", (layout) => {
  const TOPIC = "orders";
  const [OTHERS, OWN] = [1, 2];
  let database: TestDatabase;

  beforeEach(async () => {
    database = await TestDatabase.create();
  });
  afterEach(() => database.dispose());

  it("finds what others added just before this process did, of which it was told already", async () => {
    const store = await database.open();
    await store.registry.defineTopic({ name: TOPIC, partitions: 4, ...(layout === "batches" && { layout }) });
    let news = 0;
    const asked: End[] = [];
    const poller = new Poller(new Collections(database.db), {
      onNews: () => news++,
      isTold: (end) => asked.push(end) > 0 && end.partition === OWN,
    });
    await eventually(() => news > 0, "the first look");
    for (let n = 1; n <= 5; n++) {
      const before = news;
      // One insert: no look comes between the two.
      await Promise.all(
        [OTHERS, OWN].map((partition) => store.log.append(TOPIC, partition, drafts(1, { freshId: true }))),
      );
      await eventually(() => news > before, "it is told");
      expect(asked).toContainEqual({ topic: TOPIC, partition: OTHERS, seq: n });
    }
    await poller.stop();
  });
});
