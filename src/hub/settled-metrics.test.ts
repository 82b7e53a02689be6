import { afterEach, beforeEach, expect, it } from "vitest";
import { WebSocket } from "ws";
import { type HubFixture, hubFixture } from "../../test/support/hub-fixture.js";
import { startTransactionalProjector } from "../project/views/transactional.js";

let f: HubFixture;
beforeEach(async () => {
  f = await hubFixture();
});
afterEach(() => f.close());

const metric = async (name: string): Promise<number> => {
  const text = await (await f.get("/metrics")).text();
  return Number(new RegExp(`^${name}\\{topic="a",group="g"\\} (\\S+)$`, "m").exec(text)?.[1]);
};
const counts = (): Promise<number[]> =>
  Promise.all(
    ["events_delivered_total", "events_acked_total", "events_nacked_total", "events_inflight"].map(metric),
  );

/** Takes events of `a` for `g`, and does as it is told with each. */
async function consume(
  act: (id: string, attempt: number) => object | null,
  opts: object = {},
): Promise<WebSocket> {
  const headers = { authorization: "Bearer all" };
  const socket = new WebSocket(`${f.hub.url.replace("http", "ws")}/ws`, { headers });
  socket.on("open", () =>
    socket.send(
      JSON.stringify({ type: "SUBSCRIBE", topic: "a", group: "g", opts: { from: "earliest", ...opts } }),
    ),
  );
  socket.on("message", (data) => {
    const { type, event, ctx } = JSON.parse(data.toString()) as {
      type: string;
      event: { id: string };
      ctx: { attempt: number };
    };
    const answer = type === "EVENT" ? act(event.id, ctx.attempt) : null;
    if (answer !== null) socket.send(JSON.stringify({ topic: "a", group: "g", id: event.id, ...answer }));
  });
  return socket;
}

it("counts what was acked, what failed and was tried again, and what is still under way", async () => {
  await f.bus.publishMany(
    "a",
    [1, 2, 3].map((payload) => ({ payload })),
  );
  let first: string | undefined;
  const socket = await consume((id, attempt) => {
    first ??= id;
    if (id === first) return attempt === 1 ? { type: "NACK", reason: "not yet" } : { type: "ACK" };
    return { type: "ACK" };
  });
  await expect.poll(counts).toEqual([4, 3, 1, 0]);
  socket.terminate();
});

it("counts nothing as under way that was not settled in time, or whose connection is gone", async () => {
  await f.bus.publish("a", 1);
  const late = await consume(() => null, { ackTimeoutMs: 100, maxAttempts: 1 });
  await expect.poll(counts).toEqual([1, 0, 1, 0]);
  late.terminate();
  await f.bus.publish("a", 2);
  const gone = await consume(() => null);
  await expect.poll(() => metric("events_inflight")).toBe(1);
  gone.terminate();
  await expect.poll(() => metric("events_inflight")).toBe(0);
});

it("counts as acked what a transaction settled", async () => {
  await startTransactionalProjector(f.bus, {
    topic: "a",
    group: "g",
    from: "earliest",
    handler: async (events, tx) => {
      for (const { id } of events) await tx.view("seen").upsert(id, {});
    },
  });
  await f.bus.publishMany(
    "a",
    [1, 2, 3].map((payload) => ({ payload })),
  );
  await expect.poll(counts).toEqual([3, 3, 0, 0]);
});
