import { afterEach, beforeEach, expect, it } from "vitest";
import { type HubFixture, hubFixture } from "../../test/support/hub-fixture.js";
import type { Copied } from "../project/transfer/replay.js";
import { HubApi } from "./hub-api.js";
import { whileWatched } from "./watched-task.js";

let f: HubFixture;
beforeEach(async () => {
  f = await hubFixture();
  await f.bus.publishMany(
    "orders",
    Array.from({ length: 400 }, (_, n) => ({ payload: n })),
  );
});
afterEach(() => f.close());

const copied = (backend: HubApi): Promise<Copied> =>
  backend.post("/replay", { from: { topic: "orders" }, to: "copies", rate: 250 });

it("tells how far the work is while it goes on, and what it came to", async () => {
  const backend = new HubApi({ url: f.hub.url, token: "all" });
  const seen: number[] = [];
  const done = whileWatched(backend, "replay orders → copies", copied(backend), ({ events }) =>
    seen.push(Number(events)),
  );
  expect(await done).toMatchObject({ events: 400, complete: true });
  expect(seen).toEqual([...seen].sort((a, b) => a - b));
  expect(seen.some((events) => events > 0 && events < 400)).toBe(true);
});

it("work that fails is told, and nobody looks any more", async () => {
  const backend = new HubApi({ url: f.hub.url, token: "all" });
  const work = backend.post("/replay", { from: { topic: "nowhere" }, to: "copies" });
  await expect(whileWatched(backend, "x", work, () => undefined)).rejects.toMatchObject({
    code: "NOT_FOUND",
  });
});
