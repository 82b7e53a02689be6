/** A clock that is set back while sessions last. Their processes are elsewhere: only beats tell whether they live. */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Groups } from "../../../src/ports/groups.js";
import type { StoreUnderTest } from "../../../src/testing/conformance/fixture.js";
import { session } from "../../../src/testing/conformance/samples.js";
import { embeddedFixture } from "../../support/embedded-fixture.js";

const HOUR_MS = 3_600_000;
const TTL_MS = 10_000;
const REF = { topic: "t", group: "g", partition: 0 };

let subject: StoreUnderTest;
let groups: Groups;
/** After it was set back by an hour. */
let nowMs: number;

beforeEach(async () => {
  subject = await embeddedFixture().create();
  ({ groups } = subject.store);
  await subject.store.registry.defineTopic({ name: "t", partitions: 1 });
  nowMs = Date.now();
  const earlier = { nowMs: nowMs + HOUR_MS };
  await groups.open(session("owner"), { ...earlier, ttlMs: TTL_MS });
  await groups.start(REF, [0]);
  await groups.claim(REF, "owner", earlier);
});
afterEach(() => subject.dispose());

describe("a clock that is set back by an hour", () => {
  it("P15: holds up no partition for that hour whose owner died", async () => {
    await groups.open(session("other"), { nowMs, ttlMs: TTL_MS });
    expect(await groups.claim(REF, "other", { nowMs: nowMs + 2 * TTL_MS })).not.toBeNull();
  });

  it("P15: nor if the others were there before, and only beat", async () => {
    await groups.open(session("other"), { nowMs: nowMs + HOUR_MS, ttlMs: TTL_MS });
    await groups.beat("other", { nowMs, ttlMs: TTL_MS });
    await groups.beat("other", { nowMs: nowMs + TTL_MS, ttlMs: TTL_MS });
    expect(await groups.claim(REF, "other", { nowMs: nowMs + 2 * TTL_MS })).not.toBeNull();
  });

  it("P5: takes no partition from an owner that beats, each by the time it is to do so", async () => {
    await groups.open(session("other"), { nowMs, ttlMs: TTL_MS / 10 });
    const beatMs = nowMs + TTL_MS - 1_000;
    expect(await groups.claim(REF, "other", { nowMs: beatMs }), "before its first beat").toBeNull();
    await groups.beat("owner", { nowMs: beatMs, ttlMs: TTL_MS });
    await groups.beat("other", { nowMs: beatMs, ttlMs: TTL_MS / 10 });
    expect(await groups.claim(REF, "other", { nowMs: beatMs + TTL_MS - 1_000 })).toBeNull();
    expect((await groups.sessions({ nowMs: beatMs })).map(({ member }) => member)).toEqual([
      "other",
      "owner",
    ]);
  });

  it("P5: a beat that comes late, of a process that was stopped for long, makes nobody else's session end", async () => {
    const ahead = { nowMs: Date.now(), ttlMs: TTL_MS };
    await groups.open(session("living"), ahead);
    await groups.open(session("stopped"), ahead);
    await groups.beat("stopped", { nowMs: ahead.nowMs - HOUR_MS, ttlMs: TTL_MS });
    const living = (await groups.sessions({ nowMs: ahead.nowMs + TTL_MS - 1_000 })).map(
      ({ member }) => member,
    );
    expect(living).toContain("living");
    expect(living).not.toContain("stopped");
  });
});
