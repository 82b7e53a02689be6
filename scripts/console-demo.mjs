/**
 * A hub with something to look at: a small shop that takes orders, with a group that is stuck, dead letters of several
 * kinds, a view with history and schemas in two versions, beside the worked example. For screenshots and for trying the
 * console out: `node scripts/console-demo.mjs [port]` runs it until Ctrl-C.
 */
import { pathToFileURL } from "node:url";
import { z } from "zod";
import { startHub } from "../dist/hub/index.js";
import {
  createBus,
  defineTopic,
  Fatal,
  memoryStore,
  StoredSchemaRegistry,
  startChangelogProjector,
  startCompactor,
  startHeartbeatSource,
  startHostSummary,
  startProcessChangelog,
  startProcessProjector,
  startRetention,
} from "../dist/index.js";

export const TOKEN = "demo-admin";

const HOUR = 3_600_000;
const OUTBOX_ID = "0190f3c2-7c6e-7000-8000-0000000000a1";
const Orders = defineTopic("orders.placed", { partitions: 6, keyed: true, retentionDays: 7 });
const OrderState = defineTopic("order.state", { partitions: 4, keyed: true, retentionDays: 90 });
const Payments = defineTopic("payments.captured", { partitions: 4, keyed: true, retentionDays: 30 });
const Mails = defineTopic("mails.sent", { partitions: 2, retentionDays: 3 });

const NAMES = [
  "Ada",
  "Grace",
  "Linus",
  "Barbara",
  "Edsger",
  "Donald",
  "Margaret",
  "Dennis",
  "Frances",
  "Ken",
];
const GOODS = ["espresso-cup", "desk-lamp", "notebook-a5", "fountain-pen", "wall-clock", "tea-kettle"];
const STATES = ["placed", "paid", "packed", "shipped", "delivered"];

/** Always the same shop: a small generator instead of chance. */
function dice(seed) {
  let state = seed;
  return (below) => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return Math.floor((state / 2_147_483_648) * below);
  };
}

export async function startDemo({ port = 0, rate = 24, store = memoryStore() } = {}) {
  const bus = await createBus({ store });
  const roll = dice(7);
  for (const topic of [Orders, OrderState, Payments, Mails]) await bus.defineTopic(topic);
  await registerSchemas(bus);
  await writePast(bus, roll);
  await startGroups(bus);
  await startExample(bus);
  for (const group of ["billing", "receipts", "warehouse", "changelog:orders"]) await caughtUp(bus, group);
  await store.outbox.add({ id: OUTBOX_ID, topic: Orders.name, payload: { order: 1 } });
  const hub = await startHub({
    bus,
    port,
    name: "shop-eu",
    auth: {
      tokens: {
        [TOKEN]: { scopes: ["*:*"], subject: "ada@shop.example" },
        "demo-reader": { scopes: ["read:orders.*", "read:order.*"], subject: "reader" },
      },
    },
  });
  const traffic = setInterval(() => void tick(bus, roll, rate).catch(() => undefined), 500);
  return {
    hub,
    bus,
    url: hub.url,
    token: TOKEN,
    close: async () => {
      clearInterval(traffic);
      await hub.close();
      await bus.close();
    },
  };
}

/** The past is not news: what it caused is over before anybody looks. */
async function caughtUp(bus, group) {
  for (let tries = 0; tries < 100; tries++) {
    const lags = await bus.admin.lag({ group });
    if (lags.length > 0 && lags.every(({ lag }) => lag === 0)) return;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

async function registerSchemas(bus) {
  const schemas = await StoredSchemaRegistry.open(bus.store.registry);
  const v1 = z.object({
    order: z.int().positive(),
    customer: z.string(),
    total: z.number().nonnegative(),
    items: z.array(z.object({ sku: z.string(), quantity: z.int().positive() })),
  });
  await schemas.register({ topic: Orders.name, version: 1, schema: v1, compat: "backward" });
  const v2 = v1.extend({
    currency: z.enum(["EUR", "USD", "GBP"]).default("EUR"),
    coupon: z.string().optional(),
  });
  await schemas.register({ topic: Orders.name, version: 2, schema: v2, compat: "backward" });
  const payment = z.object({ order: z.int(), amount: z.number(), method: z.enum(["card", "invoice"]) });
  await schemas.register({ topic: Payments.name, version: 1, schema: payment, compat: "full" });
}

/** Orders of the last day, each with the states it went through. */
async function writePast(bus, roll) {
  const nowMs = Date.now();
  const placed = [];
  const states = [];
  for (let i = 1; i <= 600; i++) {
    const ts = nowMs - 24 * HOUR + Math.floor((i / 600) * 24 * HOUR) - 60_000;
    const order = newOrder(1_000 + i, roll);
    placed.push({ payload: order, key: order.customer, ts });
    const reached = i > 560 ? 1 + roll(3) : 5;
    for (let step = 0; step < reached; step++) {
      states.push({
        key: `order-${order.order}`,
        ts: ts + step * (4 * 60_000 + roll(600_000)),
        payload: stateOf(order, step),
      });
    }
  }
  states.sort((a, b) => a.ts - b.ts);
  await bus.publishMany(Orders, placed);
  await bus.publishMany(
    OrderState,
    states.filter(({ ts }) => ts < nowMs),
  );
}

function newOrder(order, roll) {
  const name = NAMES[roll(NAMES.length)];
  const items = Array.from({ length: 1 + roll(3) }, () => ({
    sku: GOODS[roll(GOODS.length)],
    quantity: 1 + roll(4),
  }));
  return {
    order,
    customer: `cust-${name.toLowerCase()}`,
    total: Math.round((9 + roll(18_000) / 100) * 100) / 100,
    items,
    currency: ["EUR", "EUR", "USD", "GBP"][roll(4)],
  };
}

function stateOf({ order, customer, total, items, currency }, step) {
  return {
    order,
    customer,
    total,
    currency,
    status: STATES[step],
    items: items.length,
    ...(step >= 1 && { paidWith: order % 3 === 0 ? "invoice" : "card" }),
    ...(step >= 3 && { carrier: order % 2 === 0 ? "DHL" : "UPS", tracking: `TRK${order}${step}` }),
  };
}

async function startGroups(bus) {
  await bus.subscribe(
    Orders,
    "billing",
    async (event, ctx) => {
      const { order, total } = event.payload;
      if (event.payload.total > 183) throw new Fatal(`amount ${total} is above the limit of 183.00`);
      if (order % 97 === 0) throw new Fatal(`card of order ${order} was declined: "insufficient funds"`);
      await ctx.emit(
        Payments,
        { order, amount: total, method: order % 3 === 0 ? "invoice" : "card" },
        { key: event.key },
      );
    },
    { from: "earliest" },
  );
  await bus.subscribe(
    Payments,
    "receipts",
    async (event, ctx) => {
      const { order, amount } = event.payload;
      await ctx.emit(Mails, {
        to: `${event.key}@example.com`,
        subject: `Receipt for order ${order}`,
        amount,
      });
    },
    { from: "earliest" },
  );
  await bus.subscribe(
    Orders,
    "orders-mailer",
    async (event) => {
      if (event.key === "cust-linus") throw new Error("SMTP timeout after 10 s");
    },
    { maxAttempts: 12, retry: { baseMs: 4_000, maxMs: 60_000, jitter: 0 }, from: "latest" },
  );
  await bus.subscribe(OrderState, "warehouse", async () => undefined, { from: "earliest" });
  await bus.subscribe(Payments, "ledger-export", async () => undefined, { from: "latest" });
  await bus.admin.pause({ topic: Payments.name, group: "ledger-export" }, "ada@shop.example");
  await startChangelogProjector(bus, {
    topic: OrderState,
    view: "orders",
    indexes: [{ keys: { status: 1 } }, { keys: { customer: 1 } }],
  });
}

async function startExample(bus) {
  await startProcessProjector(bus);
  startHeartbeatSource(bus);
  await startProcessChangelog(bus);
  await startHostSummary(bus);
  startRetention(bus);
  startCompactor(bus);
}

let next = 1_601;

/** Half a second of business, in waves. */
async function tick(bus, roll, rate) {
  const wave = 0.6 + 0.4 * Math.sin(Date.now() / 9_000);
  const orders = Array.from({ length: Math.max(1, Math.round((rate / 2) * wave)) }, () =>
    newOrder(next++, roll),
  );
  await bus.publishMany(
    Orders,
    orders.map((payload) => ({ payload, key: payload.customer })),
  );
  const moved = orders.slice(0, 4).map((order) => {
    const step = roll(STATES.length);
    return { key: `order-${order.order - roll(40)}`, payload: stateOf(order, step) };
  });
  await bus.publishMany(OrderState, moved);
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  const demo = await startDemo({ port: Number(process.argv[2] ?? 0) });
  console.log(`${demo.url}/#token=${demo.token}`);
  process.once("SIGINT", () => void demo.close().then(() => process.exit(0)));
}
