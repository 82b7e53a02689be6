import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { keptSockets } from "../../test/support/kept-sockets.js";
import type { Bus } from "../bus/bus.js";
import { createBus } from "../bus/create-bus.js";
import { startHub } from "../hub/server.js";
import { memoryStore } from "../stores/memory/index.js";
import type { ClientTrouble } from "./client-options.js";
import type { ClientContext } from "./deliveries.js";
import { PromClient } from "./index.js";

const RETRY = { baseMs: 1, maxMs: 1 };

let bus: Bus;
let hub: Awaited<ReturnType<typeof startHub>>;
let client: PromClient;
let troubles: ClientTrouble[];

beforeEach(async () => {
  bus = await createBus({ store: memoryStore(), onTrouble: () => undefined });
  hub = await startHub({ bus, auth: { tokens: { t: { scopes: ["*:*"] } } } });
  troubles = [];
  client = new PromClient(hub.url, { token: "t", onTrouble: (trouble) => troubles.push(trouble) });
  await client.connect();
});

afterEach(async () => {
  await client.close();
  await hub.close();
  await bus.close();
});

describe("a handler that fails", () => {
  it("P8: is told of, whether it throws or rejects: of its group once a minute, and at each last try", async () => {
    const thrown = new TypeError("no items");
    const handler = ({ payload }: { payload: unknown }): Promise<never> => {
      if (payload === "throw") throw thrown;
      return Promise.reject(thrown);
    };
    await client.subscribe("t.a", "mailer", handler, { maxAttempts: 2, retry: RETRY });
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
  });

  it("is told of once a minute where events have no last try, however often it fails", async () => {
    let tries = 0;
    const handler = (): never => {
      tries++;
      throw new Error("boom");
    };
    await client.subscribe("t.a", "g", handler, { maxAttempts: 2, deadLetter: false, retry: RETRY });
    const { id } = await client.publish("t.a", 1);
    await expect.poll(() => tries, { timeout: 10_000 }).toBeGreaterThan(4);
    expect(troubles.map(({ error }) => error.message)).toEqual([
      `g failed on event ${id} of t.a, try 1: boom; the hub sends it again after a wait`,
    ]);
    expect(troubles[0]).not.toHaveProperty("givenUp");
  });

  it("P5: is not told of if the event has gone back to the hub by then, or was settled", async () => {
    const seen: unknown[] = [];
    await client.subscribe<string>(
      "t.a",
      "g",
      async ({ payload }, ctx) => {
        seen.push(payload);
        if (payload === "acked") ctx.ack();
        else await new Promise((resolve) => ctx.signal.addEventListener("abort", resolve));
        seen.push("over");
        throw new Error(`${payload}: too late`);
      },
      { maxAttempts: 1 },
    );
    for (const payload of ["acked", "cut"]) await client.publish("t.a", payload);
    await expect
      .poll(() => seen, { timeout: 10_000 })
      .toEqual(expect.arrayContaining(["acked", "over", "cut"]));
    await client.close();
    await expect.poll(() => seen.length, { timeout: 10_000 }).toBe(4);
    expect(troubles).toEqual([]);
  });
});

it("P8: the last try of an event is the last that counts: what came back with a lost line is none", async () => {
  await client.close();
  const { sockets, makeSocket } = keptSockets();
  const onTrouble = (trouble: ClientTrouble): unknown => troubles.push(trouble);
  client = new PromClient(hub.url, { token: "t", makeSocket, onTrouble, retry: { baseMs: 1, maxMs: 5 } });
  await client.connect();
  const attempts: number[] = [];
  const handler = (_: unknown, ctx: ClientContext): unknown => {
    attempts.push(ctx.attempt);
    if (ctx.attempt > 1) throw new Error("boom");
    return new Promise((resolve) => ctx.signal.addEventListener("abort", resolve));
  };
  await client.subscribe("t.a", "g", handler, { maxAttempts: 2, retry: RETRY });
  const { id } = await client.publish("t.a", 1);
  await expect.poll(() => attempts, { timeout: 10_000 }).toEqual([1]);
  sockets.at(-1)?.terminate();
  await expect.poll(() => troubles.length, { timeout: 10_000 }).toBe(2);
  expect(attempts).toEqual([1, 2, 3]);
  expect(troubles[0]?.error.message).toBe(
    `g failed on event ${id} of t.a, try 1 of 2: boom; the hub sends it again after a wait`,
  );
  expect(troubles[0]).not.toHaveProperty("givenUp");
  expect(troubles[1]).toMatchObject({ givenUp: true });
});
