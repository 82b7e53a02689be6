/**
 * A process to be killed at any moment, or at a point that it is told: it publishes, consumes and projects on one store,
 * and tells what it does on its standard output, line by line, in the terms of a history. What it was told to publish and
 * what it is about to handle is written before it happens, what it was answered afterwards.
 */
import { createBus } from "../../../src/bus/create-bus.js";
import { BusError, Fatal } from "../../../src/model/errors.js";
import type { PublishedRecord } from "../../../src/model/event-bus.js";
import { startTransactionalProjector } from "../../../src/project/views/transactional.js";
import type { HistoryEvent } from "../../../src/testing/history/index.js";
import { type StorePlace, storeAt } from "../../support/store-place.js";
import { tellLine } from "../../support/tell-line.js";
import { CONSUMERS, isPoison, PARTITIONS, POISON, PROJECTION, TOPIC, VIEW } from "./names.js";
import { type Death, dyingAt } from "./points.js";

const [place = "{}", member = "", mode = "run", death = "null"] = process.argv.slice(2);
/** A server cannot see that a member is dead, and waits for its lease; a store file can. */
const LEASE_MS = 1_500;
/** So far it publishes ahead of what it handles: the last process has to handle what all of them left. */
const AHEAD = 40;

function tell(event: HistoryEvent | { readonly type: "ready" | "draining" }): void {
  tellLine(event);
}

const where = JSON.parse(place) as StorePlace;
const store = await storeAt(where);
const dies = JSON.parse(death) as Death | null;
const bus = await createBus({
  store: dies === null ? store : dyingAt(store, dies),
  topics: [{ name: TOPIC, partitions: PARTITIONS }],
  ...(where.path === undefined && { leaseMs: LEASE_MS }),
  onTrouble: () => undefined,
});

tell({ type: "began", member });

let number = 0;
let consumed = 0;
let projected = 0;
let goOn: () => void = () => undefined;

await bus.subscribe(
  TOPIC,
  CONSUMERS,
  (event, ctx) => {
    const { topic, partition, seq, id, key } = event;
    const { epoch } = ctx.fence;
    tell({
      type: "delivered",
      ...{ member, group: CONSUMERS, topic, partition, seq, id, epoch, attempt: ctx.attempt },
      ...(key !== undefined && { key }),
    });
    consumed++;
    goOn();
    if (isPoison(id)) throw new Fatal("nothing can be done with this one");
  },
  { from: "earliest", maxAttempts: 1_000 },
);
await startTransactionalProjector(bus, {
  topic: TOPIC,
  group: PROJECTION,
  // A kill is pinned on the event in hand; here none of them is to blame.
  maxAttempts: 1_000,
  handler: async (events, tx) => {
    for (const { key } of events) await tx.view(VIEW).inc(key ?? "-", { count: 1 });
    projected += events.length;
    goOn();
  },
});
tell({ type: "ready" });

/** Some ids are the caller's own, some are made by the bus. */
function idOf(n: number): string {
  if (n % 11 === 0) return `${POISON}${member}-${n}`;
  return n % 3 === 0 ? `${member}-${n}` : bus.clock.newId();
}

/** Now and then a publish is asked for twice. */
async function publishOne(): Promise<void> {
  const n = ++number;
  const key = `k${n % 7}`;
  const id = idOf(n);
  const op = Number(member.replace(/\D/g, "")) * 1_000_000 + n;
  tell({ type: "publish-asked", op, producer: member, topic: TOPIC, id, key });
  try {
    const payload = { n, member, text: "x".repeat(n % 200) };
    const asked = Array.from({ length: n % 10 === 0 ? 2 : 1 }, () =>
      bus.publish(TOPIC, payload, { key, id }),
    );
    const [{ partition, seq, duplicate = false }] = (await Promise.all(asked)) as [PublishedRecord];
    tell({ type: "publish-ok", op, partition, seq, duplicate });
  } catch (error) {
    tell({ type: "publish-unknown", op, code: BusError.from(error).code });
  }
}

if (mode === "run") {
  for (;;) {
    await Promise.all(Array.from({ length: 1 + (number % 20) }, publishOne));
    while (number > Math.min(consumed, projected) + AHEAD) {
      await new Promise<void>((resolve) => {
        goOn = resolve;
      });
    }
  }
}

// To drain: publish nothing, wait until both groups have settled everything, end in good order.
const { log, groups } = bus.store;
for (let left = Number.POSITIVE_INFINITY; left > 0; ) {
  const leftNow = await unsettled();
  if (leftNow < left) tell({ type: "draining" });
  left = leftNow;
  await new Promise((resolve) => setTimeout(resolve, 20));
}
tell({ type: "drained" });
await bus.close();

/** Events that either group has before it. */
async function unsettled(): Promise<number> {
  const heads = await log.heads(TOPIC);
  let left = 0;
  for (const group of [CONSUMERS, PROJECTION]) {
    const state = await groups.state({ topic: TOPIC, group }, { nowMs: bus.clock.now() });
    for (const { partition, head } of heads)
      left += head - (state?.leases.find((lease) => lease.partition === partition)?.cursor.floor ?? 0);
  }
  return left;
}
