/**
 * Handlers of every temper. What a handler does with an event depends on the seed, the group, the event and the
 * attempt, never on when it runs. Everything it sees and does is written down before the bus can act on it.
 */
import { pause } from "../../model/clock.js";
import { BusError, Fatal } from "../../model/errors.js";
import type { EventRecord } from "../../model/event.js";
import type { BatchContext, BatchHandler, DeliveryContext, Handler } from "../../model/event-bus.js";
import type { EffectOrigin, Handling } from "../history/index.js";
import type { Dice } from "./dice.js";
import type { SimulatedPayload } from "./naming.js";
import { askToPublish } from "./publishing.js";
import { EFFECTS, type GroupPlan, type Mood } from "./scenario.js";
import type { SimulatedProcess } from "./simulated-process.js";
import type { World } from "./world.js";

export interface HandlerContext {
  readonly world: World;
  readonly process: SimulatedProcess;
  readonly group: GroupPlan;
}

/** What both forms of handler get. */
type Common = Pick<BatchContext, "signal" | "fence" | "extend">;

/** A dead process never answers. A promise for each call: one for all would hold on to every run there ever was. */
function never(): Promise<never> {
  return new Promise(() => undefined);
}

export function filterOf({ world, process, group }: HandlerContext): (event: EventRecord) => boolean {
  return (event) => {
    const { n, name: id } = event.payload as SimulatedPayload;
    const wanted = n % group.refuses !== 0;
    const { topic, partition, seq } = event;
    if (!wanted && !process.gone)
      world.recorder.record({ type: "filtered", group: group.name, topic, partition, seq, id });
    return wanted;
  };
}

export function singleHandler(context: HandlerContext): Handler {
  return async (event, ctx) => {
    if (context.process.gone) return never();
    const handling = noteDelivered(context, event, ctx, ctx.attempt);
    const run = new Run(context, [handling], [event], ctx, (_, ...emitted) => ctx.emit(...emitted));
    const mood = moodOf(context, handling);
    if (context.group.manualAck) return settleByHand(run, mood, ctx);
    return act(run, mood);
  };
}

export function batchHandler(context: HandlerContext): BatchHandler {
  return async (events, ctx) => {
    if (context.process.gone) return never();
    const batch = context.world.recorder.nextOp();
    const handlings = events.map((event, i) =>
      noteDelivered(context, event, ctx, ctx.attempts[i] ?? 0, batch),
    );
    // A batch does what its worst event wants.
    const moods = handlings.map((handling) => moodOf(context, handling));
    const worst = WORST_FIRST.find((mood) => moods.includes(mood)) ?? "ok";
    return act(new Run(context, handlings, events, ctx, ctx.emitFor), worst);
  };
}

const WORST_FIRST: readonly Mood[] = ["kill", "fatal", "throw", "hang", "slow", "extend", "brief", "ok"];

function noteDelivered(
  { world, process, group }: HandlerContext,
  event: EventRecord,
  ctx: Common,
  attempt: number,
  batch?: number,
): Handling {
  const { topic, partition, seq, key } = event;
  const handling: Handling = {
    member: process.name,
    group: group.name,
    topic,
    partition,
    seq,
    id: (event.payload as SimulatedPayload).name,
    epoch: ctx.fence.epoch,
    attempt,
  };
  world.recorder.record({
    type: "delivered",
    ...handling,
    ...(key !== undefined && { key }),
    ...(batch !== undefined && { batch }),
  });
  return handling;
}

function moodOf({ world, group }: HandlerContext, { id, attempt }: Handling): Mood {
  const dice = world.dice.fork(`${group.name} ${id}`);
  if (dice.chance(group.poison))
    return dice.weighted<Mood>({ throw: 4, fatal: 1, kill: 1 } as Record<Mood, number>);
  return dice.fork(`${attempt}`).weighted(group.moods);
}

/** One call of a handler: the events in its hands, and the right to write down what becomes of them. */
class Run {
  readonly context: HandlerContext;
  readonly handlings: readonly Handling[];
  readonly events: readonly EventRecord[];
  readonly ctx: Common;
  readonly emitFor: BatchContext["emitFor"];
  readonly dice: Dice;

  constructor(
    context: HandlerContext,
    handlings: readonly Handling[],
    events: readonly EventRecord[],
    ctx: Common,
    emitFor: BatchContext["emitFor"],
  ) {
    this.context = context;
    this.emitFor = emitFor;
    this.handlings = handlings;
    this.events = events;
    this.ctx = ctx;
    const [first] = handlings as readonly [Handling];
    this.dice = context.world.dice.fork(`${first.group} ${first.id} ${first.attempt} run`);
  }

  async wait(share: number): Promise<void> {
    await pause(this.context.process.handlerClock, Math.round(this.context.group.ackTimeoutMs * share) + 1);
  }

  /** Once the lease on the event is gone, what the handler does changes nothing (P6). */
  noteAcked(op?: number): void {
    if (this.ctx.signal.aborted) return;
    for (const handling of this.handlings) {
      const asked = op === undefined ? undefined : { op };
      this.context.world.recorder.record({ type: "settled", outcome: "acked", ...handling, ...asked });
    }
  }

  noteFailed(reason: "threw" | "fatal" | "nacked"): void {
    if (this.ctx.signal.aborted) return;
    // Of a batch it is not known which event is at fault: none is given up for it.
    if (this.handlings.length > 1) return;
    for (const handling of this.handlings)
      this.context.world.recorder.record({ type: "failed", reason, ...handling });
  }

  async emitAll(): Promise<void> {
    for (const event of this.events) await this.#emitFor(event);
  }

  async #emitFor(event: EventRecord): Promise<void> {
    const { group, world, process } = this.context;
    const { name: source } = event.payload as SimulatedPayload;
    const dice = world.dice.fork(`${group.name} ${source} emits`);
    const count = group.emits === 0 ? 0 : dice.between(0, group.emits);
    for (let index = 0; index < count; index++) {
      const effect: EffectOrigin = { group: group.name, source, index };
      const payload: SimulatedPayload = { name: `${group.name}>${source}#${index}`, n: index, effect };
      const options = event.key === undefined ? {} : { key: event.key };
      await askToPublish(world, process.name, EFFECTS, payload, event.key, () =>
        this.emitFor(event, EFFECTS, payload, options),
      );
    }
  }
}

async function act(run: Run, mood: Mood): Promise<unknown> {
  const { process } = run.context;
  switch (mood) {
    case "kill":
      if (run.dice.chance(0.5)) await run.wait(0.1);
      process.crash();
      return never();
    case "fatal":
      await run.emitAll();
      run.noteFailed("fatal");
      throw new Fatal("no use");
    case "throw":
      if (run.dice.chance(0.5)) await run.wait(run.dice.roll() * 0.5);
      run.noteFailed("threw");
      throw new Error("not today");
    case "hang":
      await run.wait(6);
      return undefined;
    case "slow":
      await run.wait(1 + run.dice.roll() * 2);
      break;
    case "extend":
      await run.wait(0.7);
      extend(run);
      await run.wait(0.7);
      break;
    case "brief":
      await run.wait(run.dice.roll() * 0.4);
      break;
    case "ok":
      break;
  }
  await run.emitAll();
  run.noteAcked();
  return undefined;
}

function extend(run: Run): void {
  try {
    run.ctx.extend(run.context.group.ackTimeoutMs);
  } catch (error) {
    if (!BusError.is(error, "LEASE_LOST")) throw error;
  }
}

/** Returns at once; the ack or nack comes when the mood says so, in time or late. */
async function settleByHand(run: Run, mood: Mood, ctx: DeliveryContext): Promise<unknown> {
  const { process } = run.context;
  switch (mood) {
    case "kill":
    case "fatal":
      return act(run, mood);
    case "hang":
      return undefined;
    case "throw":
      process.own(nackLater(run, ctx, 0.3));
      return undefined;
    case "ok":
      await ack(run, ctx);
      return undefined;
    case "slow":
      process.own(ackLater(run, ctx, 1 + run.dice.roll() * 2));
      return undefined;
    case "brief":
    case "extend":
      process.own(ackLater(run, ctx, run.dice.roll() * 0.6));
      return undefined;
  }
}

async function ackLater(run: Run, ctx: DeliveryContext, share: number): Promise<void> {
  await run.wait(share);
  await ack(run, ctx);
}

async function ack(run: Run, ctx: DeliveryContext): Promise<void> {
  const { recorder } = run.context.world;
  const op = recorder.nextOp();
  for (const handling of run.handlings)
    recorder.record({ type: "settled", outcome: "acked", ...handling, op });
  const { group, process } = run.context;
  const [event] = run.events as readonly [EventRecord];
  // By id it settles whatever attempt is under way: ours, as long as nobody has taken it from us.
  const byId = !ctx.signal.aborted && run.dice.chance(0.3) ? process.bus : undefined;
  const { ok, err } = await (byId?.ack(event.topic, group.name, event.id) ?? ctx.ack());
  if (run.context.process.gone) return;
  recorder.record({
    type: "answered",
    op,
    ok,
    ...(err !== undefined && { code: err.split(":")[0] as string }),
  });
}

async function nackLater(run: Run, ctx: DeliveryContext, share: number): Promise<void> {
  await run.wait(share);
  run.noteFailed("nacked");
  await ctx.nack("not today");
}
