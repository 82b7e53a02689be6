/** What waits for the writing thread is bounded, whoever asks. */
import { expect, it } from "vitest";
import { drafts } from "../../../src/testing/conformance/samples.js";
import { failure } from "../../support/failure.js";
import { TOPIC, Workplace } from "./support.js";

const place = new Workplace();

it("P13: a write that finds the queue full is refused and has no effect, those before it are done, and then there is room again", async () => {
  const store = await place.open();
  const session = { member: "m", host: "h", pid: 1, processStart: "1" };
  await store.groups.open(session, { ttlMs: 60_000, nowMs: 0 });
  const beats = Array.from({ length: 100_000 }, () => store.groups.beat("m", { ttlMs: 60_000, nowMs: 1 }));
  const refused = failure(store.log.append(TOPIC, 0, drafts(1)));
  expect(await refused).toMatchObject({ code: "QUEUE_FULL", retryable: true });
  expect(new Set(await Promise.all(beats))).toEqual(new Set([true]));
  const { events } = await store.log.append(TOPIC, 0, drafts(2));
  expect(events.map(({ seq }) => seq)).toEqual([1, 2]);
});
