/** A hub with a small shop on it, in memory: a stuck group, dead letters, a view with history, two schema versions. */
import { z } from "zod";
import type { Bus } from "../../../src/bus/bus.js";
import { createBus } from "../../../src/bus/create-bus.js";
import { type Hub, startHub } from "../../../src/hub/server.js";
import { defineTopic } from "../../../src/model/topic.js";
import { startChangelogProjector } from "../../../src/project/views/changelog.js";
import { StoredSchemaRegistry } from "../../../src/schema/registry/stored-registry.js";
import { memoryStore } from "../../../src/stores/memory/index.js";

export const ADMIN = "admin-token";
export const READER = "reader-token";
/** May publish and operate, and read no topic. */
export const WRITER = "writer-token";

export const Orders = defineTopic<{ order: number; customer: string }>("orders.placed", {
  partitions: 3,
  keyed: true,
});
const States = defineTopic<{ status: string; total: number } | null>("order.state", {
  partitions: 2,
  keyed: true,
});
const Mails = defineTopic("mails.sent", { partitions: 1 });

const MINUTE_MS = 60_000;
export const HOUR_MS = 3_600_000;

export interface Shop {
  readonly bus: Bus;
  readonly hub: Hub;
  /** The id of a mail whose causes can be traced. */
  readonly mail: string;
  /** While true, billing refuses orders above 100. */
  readonly rules: { strict: boolean };
  /** Ends the hub and starts another at the same address. */
  restart(betweenMs: () => Promise<void>): Promise<void>;
  close(): Promise<void>;
}

export async function openShop(): Promise<Shop> {
  const bus = await createBus({ store: memoryStore() });
  const rules = { strict: true };
  for (const topic of [Orders, States, Mails]) await bus.defineTopic(topic);
  await registerSchemas(bus);
  await writePast(bus);
  await subscribe(bus, rules);
  for (let order = 95; order <= 104; order++)
    await bus.publish(Orders, { order, customer: `cust-${order}` }, { key: `cust-${order}` });
  // Long enough ago for the mailer to need attention.
  const ts = bus.clock.now() - MINUTE_MS / 2;
  await bus.publish(Orders, { order: 1, customer: "slow" }, { key: "slow", ts });
  await bus.publish(Orders, { order: 2, customer: "slow" }, { key: "slow", ts });
  let hub = await start(bus, 0);
  return {
    bus,
    get hub() {
      return hub;
    },
    mail: await firstMail(bus),
    rules,
    restart: async (between) => {
      const { port } = hub;
      await hub.close();
      await between();
      hub = await start(bus, port);
    },
    close: async () => {
      await hub.close();
      await bus.close();
    },
  };
}

function start(bus: Bus, port: number): Promise<Hub> {
  const tokens = {
    [ADMIN]: { scopes: ["*:*"], subject: "ada" },
    [READER]: { scopes: ["read:orders.*"], subject: "reader" },
    [WRITER]: { scopes: ["publish:orders.*", "ops:*"], subject: "writer" },
  };
  return startHub({ bus, port, name: "shop", auth: { tokens } });
}

async function registerSchemas(bus: Bus): Promise<void> {
  const schemas = await StoredSchemaRegistry.open(bus.store.registry);
  const v1 = z.object({ order: z.int(), customer: z.string() });
  await schemas.register({ topic: Orders.name, version: 1, schema: v1, compat: "backward" });
  const v2 = v1.extend({ coupon: z.string().optional() });
  await schemas.register({ topic: Orders.name, version: 2, schema: v2, compat: "backward" });
}

/** One document that went through three states, an hour apart. */
async function writePast(bus: Bus): Promise<void> {
  const nowMs = bus.clock.now();
  for (const [i, status] of ["placed", "paid", "shipped"].entries()) {
    const ts = nowMs - (3 - i) * HOUR_MS;
    await bus.publish(States, { status, total: 40 }, { key: "order-7", ts });
  }
  await bus.publish(States, { status: "placed", total: 12 }, { key: "order-8" });
}

async function subscribe(bus: Bus, rules: { strict: boolean }): Promise<void> {
  await bus.subscribe(
    Orders,
    "billing",
    async (event, ctx) => {
      if (rules.strict && event.payload.order > 100)
        throw new Error(`order ${event.payload.order} is too dear`);
      if (event.payload.order === 99) await ctx.emit(Mails, { receipt: 99 });
    },
    { from: "earliest", maxAttempts: 1 },
  );
  await bus.subscribe(
    Orders,
    "mailer",
    async (event) => {
      if (event.key === "slow") throw new Error("SMTP timeout");
    },
    { from: "earliest", maxAttempts: 50, retry: { baseMs: 600_000, maxMs: 600_000, jitter: 0 } },
  );
  await startChangelogProjector(bus, { topic: States, view: "orders", indexes: [{ keys: { status: 1 } }] });
}

async function firstMail(bus: Bus): Promise<string> {
  for (let tries = 0; tries < 600; tries++) {
    for await (const { id } of bus.read(Mails)) return id;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error("billing has not sent a receipt");
}
