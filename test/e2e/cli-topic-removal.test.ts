import { expect, it } from "vitest";
import type { Job } from "../../src/hub/jobs.js";
import { drafts } from "../../src/testing/conformance/samples.js";
import { type Ended, start } from "../support/cli.js";
import { sceneOfFile } from "../support/cli-scene.js";
import { holdTrim } from "../support/held-trim.js";

const { scene, cli } = sceneOfFile();
const ARGS = ["topic", "rm", "orders.long", "--yes"];

/** A removal that waits in the middle, begun by a command. */
async function begun(): Promise<{ command: ReturnType<typeof start>; job: Job; letGo(): void }> {
  const { bus, get } = scene().fixture;
  await bus.defineTopic({ name: "orders.long", partitions: 2 });
  for (const [partition, count] of [3, 2].entries())
    await bus.store.log.append("orders.long", partition, drafts(count));
  const held = holdTrim(bus.store);
  const command = start(ARGS, { env: scene().env });
  await held.reached;
  const { items } = (await (await get("/jobs")).json()) as { items: [Job] };
  return { command, job: items[0], letGo: held.letGo };
}

it("a removal that is stopped through the hub says how far it came, and the same command finishes it", async () => {
  const { command, job, letGo } = await begun();
  expect((await scene().fixture.post(`/jobs/${job.id}/stop`, {})).status).toBe(200);
  letGo();
  expect(await command.ended).toMatchObject({
    ...{ code: 1, out: "" },
    err: expect.stringContaining("the removal of orders.long was stopped after 3 events") as string,
  } satisfies Partial<Ended>);
  expect(await cli(...ARGS)).toMatchObject({ code: 0, out: expect.stringContaining("2 events") as string });
  expect((await scene().fixture.get("/topics/orders.long")).status).toBe(404);
});

it("whoever interrupts the command leaves the removal to the hub, and is told where to look", async () => {
  const { command, job, letGo } = await begun();
  command.child.kill("SIGINT");
  const { url } = scene().fixture.hub;
  expect(await command.ended).toMatchObject({
    code: 130,
    err: `promethean: the removal goes on; look at ${url}/jobs/${job.id}\n`,
  });
  letGo();
  const state = async (): Promise<unknown> => (await scene().fixture.get(`/jobs/${job.id}`)).json();
  await expect.poll(state).toMatchObject({ state: "done", result: { events: 5 } });
  expect((await cli(...ARGS)).code).toBe(3);
});
