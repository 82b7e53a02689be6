import { getEventListeners } from "node:events";
import { expect, it } from "vitest";
import { ManualClock } from "../../model/manual-clock.js";
import { Acl } from "../auth/acl.js";
import type { HubContext } from "../context.js";
import { streamLife } from "./streams.js";

it("a stream that ends with its token holds on to nothing: a hub may have millions of them", async () => {
  const clock = new ManualClock();
  const { signal: closing } = new AbortController();
  const hub = { bus: { clock }, closing } as unknown as HubContext;
  const caller = { subject: "ada", acl: new Acl({}), expiresMs: clock.now() + 1_000 };
  const life = streamLife(hub, caller);
  expect(getEventListeners(closing, "abort")).toHaveLength(1);
  await clock.advance(1_000);
  expect(life.signal.aborted).toBe(true);
  expect(getEventListeners(closing, "abort")).toEqual([]);
  expect(clock.nextTimerMs()).toBeUndefined();
});
