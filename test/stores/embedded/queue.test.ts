/** What waits for the writing thread is bounded, whoever asks. */
import { expect, it } from "vitest";
import { Writer } from "../../../src/stores/embedded/threads/writer.js";
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

it("P13: a write that finds too many bytes waiting is refused and not done; those before it are done and answered", async () => {
  const { path } = await place.open();
  const options = {
    path,
    durability: "os",
    busyTimeoutMs: 5_000,
    maxBytes: undefined,
    exclusive: false,
    pollMs: 1_000,
  } as const;
  const writer = await Writer.open(options, {
    onForeign: () => undefined,
    onLost: () => undefined,
    onWarning: () => undefined,
  });
  const put = (name: string, buffer?: ArrayBuffer): Promise<unknown> =>
    new Promise((resolve, reject) => {
      const argument = { name, value: "1", expected: 0 };
      writer.ask({ number: 0, bytes: 0, name: "putToken", argument, resolve, reject }, buffer);
    });
  const [a, b, c, d] = Array.from({ length: 4 }, () => new ArrayBuffer(64 * 1_048_576));
  // Those that come in one buffer have its bytes once.
  const waiting = [put("a", a), put("a too", a), put("b", b), put("c", c), put("d", d)];
  const refused = failure(put("refused"));
  expect(await refused).toMatchObject({
    code: "QUEUE_FULL",
    retryable: true,
    message: expect.stringContaining("5 writes with 268435456 bytes wait"),
  });
  expect(await Promise.all(waiting)).toEqual([1, 1, 1, 1, 1]);
  // It would not be the first of its name if it had been written.
  expect(await put("refused", new ArrayBuffer(1))).toBe(1);
  await writer.close();
});
