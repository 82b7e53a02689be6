import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Bus } from "../bus/bus.js";
import { createBus } from "../bus/create-bus.js";
import { ManualClock } from "../model/manual-clock.js";
import { memoryStore } from "../stores/memory/index.js";
import { faultyStore } from "../testing/faulty-store/index.js";
import { Jobs, type JobWork } from "./jobs.js";

const asked = { kind: "redrive", target: "orders", actor: "ada" };

/** Goes on until it is told to end. */
const endless: JobWork = ({ signal }) =>
  new Promise((resolve) => signal.addEventListener("abort", () => resolve({ moved: 3 })));

describe("jobs, as two hubs on one store see them", () => {
  const clock = new ManualClock();
  const store = memoryStore();
  let buses: Bus[];
  let here: Jobs;
  let there: Jobs;
  beforeEach(async () => {
    buses = [await createBus({ store, clock }), await createBus({ store, clock })];
    [here, there] = buses.map((bus) => new Jobs(bus)) as [Jobs, Jobs];
  });
  afterEach(async () => {
    await here.close();
    await Promise.all(buses.map((bus) => bus.close()));
  });

  const state = async (id: string): Promise<string | undefined> => {
    await clock.advance(600);
    return (await there.get(id))?.state;
  };

  it("are told of by any hub: their progress, their end, their failure", async () => {
    let finish: (moved: number) => void = () => undefined;
    const { id } = await here.start(asked, async ({ note }) => {
      note({ moved: 1 });
      return new Promise((resolve) => {
        finish = resolve;
      });
    });
    await clock.advance(600);
    expect(await there.get(id)).toMatchObject({ ...asked, state: "running", progress: { moved: 1 } });
    finish(7);
    await expect.poll(() => state(id)).toBe("done");
    expect((await there.get(id))?.result).toBe(7);
    const failing = await here.start(asked, async () => {
      throw new Error("no luck");
    });
    await expect.poll(() => state(failing.id)).toBe("failed");
    expect((await there.list()).map((job) => job.id)).toEqual([failing.id, id]);
  });

  it("P13: the last hundred that ended are told of, and all that run", async () => {
    const { id } = await here.start(asked, endless);
    for (let n = 0; n < 110; n++) {
      const quick = await here.start(asked, async () => n);
      await expect.poll(() => state(quick.id)).toBe("done");
    }
    expect((await there.list()).length).toBeLessThanOrEqual(102);
    expect(await there.stop(id)).toMatchObject({ state: "running", stopping: true });
    await expect.poll(() => state(id)).toBe("stopped");
  });

  it("are stopped by any hub, and tell what they had done", async () => {
    const { id } = await here.start(asked, endless);
    expect(await there.stop(id)).toMatchObject({ state: "running", stopping: true });
    await expect.poll(() => state(id)).toBe("stopped");
    expect((await there.get(id))?.result).toEqual({ moved: 3 });
    expect(await there.stop("nobody")).toBeNull();
  });

  it("go on although the answer to a note was lost: only who is asked to end does", async () => {
    let isLost = false;
    const lossy = faultyStore(store, {
      call: ({ name }) => (isLost && name === "registry.putToken" ? { type: "error-after" } : null),
    });
    const bus = await createBus({ store: lossy, clock });
    buses.push(bus);
    const jobs = new Jobs(bus);
    const { id } = await jobs.start(asked, endless);
    isLost = true;
    expect(await state(id)).toBe("running");
    isLost = false;
    for (let n = 0; n < 3; n++) expect(await state(id)).toBe("running");
    expect(await there.get(id)).not.toHaveProperty("stopping");
    await there.stop(id);
    await expect.poll(() => state(id)).toBe("stopped");
  });

  it("are not begun on a hub that goes down", async () => {
    await here.close();
    let begun = false;
    const starting = here.start(asked, async () => {
      begun = true;
    });
    await expect(starting).rejects.toMatchObject({ code: "CLOSED" });
    expect(begun).toBe(false);
  });

  it("whose hub was killed are lost: nobody noted anything for half a minute", async () => {
    // As a hub leaves it that ends in the middle: written down, and nobody goes on with it.
    const token = {
      ...asked,
      id: "j",
      state: "running",
      startedMs: clock.now(),
      notedMs: clock.now(),
      progress: { moved: 2 },
    };
    await store.registry.putToken("hub-job:j", token, { expected: 0 });
    const living = await here.start(asked, endless);
    for (let seconds = 0; seconds < 29; seconds++) await clock.advance(1_000);
    expect((await there.get("j"))?.state).toBe("running");
    for (let seconds = 0; seconds < 3; seconds++) await clock.advance(1_000);
    expect(await there.get("j")).toMatchObject({ state: "lost", progress: { moved: 2 } });
    // One that has nothing to tell still gives a sign of life.
    expect((await there.get(living.id))?.state).toBe("running");
    expect((await there.list()).find(({ id }) => id === "j")?.state).toBe("lost");
  });
});
