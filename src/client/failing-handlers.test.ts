import { expect, it } from "vitest";
import { createBus } from "../bus/create-bus.js";
import { startHub } from "../hub/server.js";
import { memoryStore } from "../stores/memory/index.js";
import type { ClientTrouble } from "./client-options.js";
import { PromClient } from "./index.js";

it("P8: a handler that fails is told of, whether it throws or rejects: of its group once a minute, and at each last try", async () => {
  const bus = await createBus({ store: memoryStore(), onTrouble: () => undefined });
  const hub = await startHub({ bus, auth: { tokens: { t: { scopes: ["*:*"] } } } });
  const troubles: ClientTrouble[] = [];
  const client = new PromClient(hub.url, { token: "t", onTrouble: (trouble) => troubles.push(trouble) });
  await client.connect();
  const thrown = new TypeError("no items");
  const handler = ({ payload }: { payload: unknown }): Promise<never> => {
    if (payload === "throw") throw thrown;
    return Promise.reject(thrown);
  };
  await client.subscribe("t.a", "mailer", handler, { maxAttempts: 2, retry: { baseMs: 1, maxMs: 1 } });
  for (const payload of ["throw", "reject"]) {
    const { id } = await client.publish("t.a", payload);
    const last = `mailer failed on event ${id} of t.a, try 2 of 2: no items`;
    await expect.poll(() => troubles.at(-1)?.error.message, { timeout: 10_000 }).toBe(last);
    const told = { topic: "t.a", group: "mailer", error: { cause: thrown } };
    expect(troubles.pop()).toMatchObject({ ...told, givenUp: true });
    if (payload === "reject") continue;
    expect(troubles[0]?.error.message).toBe(
      `mailer failed on event ${id} of t.a, try 1 of 2: no items; the hub sends it again after a wait`,
    );
    expect(troubles.pop()).toMatchObject(told);
  }
  expect(troubles).toEqual([]);
  await client.close();
  await hub.close();
  await bus.close();
});
