import { expect, it } from "vitest";
import { createBus } from "../bus/create-bus.js";
import { startHub } from "../hub/server.js";
import { memoryStore } from "../stores/memory/index.js";
import type { ClientTrouble } from "./client-options.js";
import { PromClient } from "./index.js";

it("P8: a handler that fails at its last try is told of, whether it throws or rejects", async () => {
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
    await expect.poll(() => troubles.at(-1)?.error.message, { timeout: 10_000 }).toContain(id);
    expect(troubles.pop()).toMatchObject({ topic: "t.a", group: "mailer", error: { cause: thrown } });
  }
  expect(troubles).toEqual([]);
  await client.close();
  await hub.close();
  await bus.close();
});
