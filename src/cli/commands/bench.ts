/** `promethean bench`: how fast events go in and out, on a store of its own unless another is named. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Command } from "commander";
import type { Bus } from "../../bus/bus.js";
import { createBus } from "../../bus/create-bus.js";
import { wholeNumber } from "../arguments.js";
import { factLines } from "../output.js";
import { newCommand } from "../own-command.js";
import { Progress } from "../progress.js";
import { count } from "../quantities.js";
import { perform, type Session, withJson } from "../session.js";
import { chooseStore } from "../store-choice.js";

interface BenchOptions {
  readonly events: number;
  readonly size: number;
  readonly window: number;
  readonly store?: string;
}

interface Figures {
  readonly store: string;
  readonly events: number;
  readonly payloadBytes: number;
  readonly publishPerSecond: number;
  readonly publishP50Ms: number;
  readonly publishP99Ms: number;
  readonly consumePerSecond: number;
}

export function benchCommand(): Command {
  const command = newCommand(
    "bench",
    "Measures publishing (each event synced before it is answered) and consuming.",
    ["promethean bench --events 2000", "promethean bench --events 2000 --store memory --json"],
  )
    .option("-n, --events <n>", "how many events", wholeNumber(1, 10_000_000), 50_000)
    .option("--size <bytes>", "of a payload", wholeNumber(1, 1_000_000), 200)
    .option("--window <n>", "publishes under way at once", wholeNumber(1, 50_000), 1_024)
    .option(
      "--store <store>",
      "a file, mongodb://… or memory; its topic promethean.bench grows (default: a new file, removed afterwards)",
    );
  return withJson(command).action(perform<BenchOptions, []>(bench));
}

async function bench(session: Session<BenchOptions>): Promise<void> {
  const { options } = session;
  const folder = options.store === undefined ? await mkdtemp(join(tmpdir(), "promethean-bench-")) : undefined;
  if (folder !== undefined) session.onEnd(() => rm(folder, { recursive: true, force: true }));
  const bus = await createBus({ store: await chooseStore(options.store ?? join(folder ?? "", "bus.db")) });
  session.onEnd(() => bus.close());
  const figures = await measure(bus, options, session.signal);
  session.out.value(figures, words(figures));
}

async function measure(bus: Bus, options: BenchOptions, signal: AbortSignal): Promise<Figures> {
  const topic = "promethean.bench";
  const group = `bench-${process.pid}-${Date.now()}`;
  await bus.setCursor(topic, group, "latest");
  const published = await publishAll(bus, topic, options, signal);
  const consumePerSecond = await consumeAll(bus, topic, group, options.events, signal);
  await bus.store.groups.remove({ topic, group });
  return {
    store: bus.store.name,
    events: options.events,
    payloadBytes: options.size,
    ...published,
    consumePerSecond,
  };
}

async function publishAll(
  bus: Bus,
  topic: string,
  { events, size, window }: BenchOptions,
  signal: AbortSignal,
) {
  const payload = { text: "x".repeat(Math.max(1, size - 11)) };
  const progress = new Progress("publish", events, "events");
  const timesMs: number[] = [];
  const startMs = performance.now();
  let next = 0;
  const lane = async (): Promise<void> => {
    while (next < events) {
      signal.throwIfAborted();
      const key = `k${next++ % 1_000}`;
      const sentMs = performance.now();
      await bus.publish(topic, payload, { key });
      timesMs.push(performance.now() - sentMs);
      progress.add(1);
    }
  };
  try {
    await Promise.all(Array.from({ length: Math.min(window, events) }, lane));
  } finally {
    progress.end();
  }
  const seconds = (performance.now() - startMs) / 1_000;
  timesMs.sort((a, b) => a - b);
  const at = (share: number): number =>
    Math.round((timesMs[Math.floor((timesMs.length - 1) * share)] ?? 0) * 100) / 100;
  return { publishPerSecond: Math.round(events / seconds), publishP50Ms: at(0.5), publishP99Ms: at(0.99) };
}

async function consumeAll(
  bus: Bus,
  topic: string,
  group: string,
  events: number,
  signal: AbortSignal,
): Promise<number> {
  const progress = new Progress("consume", events, "events");
  let seen = 0;
  let finish: () => void = () => undefined;
  let abort: (reason: unknown) => void = () => undefined;
  const done = new Promise<void>((resolve, reject) => {
    finish = resolve;
    abort = reject;
  });
  const onAbort = (): void => abort(signal.reason);
  signal.addEventListener("abort", onAbort, { once: true });
  const startMs = performance.now();
  const stop = await bus.subscribe(topic, group, () => {
    progress.at(++seen);
    if (seen >= events) finish();
  });
  try {
    await done;
    return Math.round(events / ((performance.now() - startMs) / 1_000));
  } finally {
    progress.end();
    signal.removeEventListener("abort", onAbort);
    await stop();
  }
}

function words(figures: Figures): string {
  return factLines({
    store: figures.store,
    events: `${count(figures.events)} of ${count(figures.payloadBytes)} bytes`,
    published: `${count(figures.publishPerSecond)}/s (p50 ${figures.publishP50Ms} ms, p99 ${figures.publishP99Ms} ms)`,
    consumed: `${count(figures.consumePerSecond)}/s`,
  });
}
