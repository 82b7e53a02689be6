/** How long it takes from the call that publishes to the handler, at a steady rate well below what anybody can bear. */
import { setTimeout as sleep } from "node:timers/promises";
import type { Line } from "./system.js";

const PER_MS = 1;
/** Sent as fast as each is answered: what is compared runs for weeks, and has been compiled. */
const WARM = 5_000;
const MEASURED = 3_000;
const TICK_MS = 1;

/** p50 and p99 in milliseconds. One log in one order: the nth that is heard is the nth that was sent. */
export async function latencies(line: Line): Promise<readonly number[]> {
  const sentMs: number[] = [];
  const tookMs: number[] = [];
  let finish: () => void = () => undefined;
  const all = new Promise<void>((resolve) => {
    finish = resolve;
  });
  const consumer = await line.consume?.(
    () => {
      tookMs.push(performance.now() - (sentMs[tookMs.length] ?? Number.NaN));
      if (tookMs.length === WARM + MEASURED) finish();
    },
    "latest",
    "bench",
  );
  await sendSteadily(line, sentMs);
  await all;
  await consumer?.settled();
  const sorted = tookMs.slice(WARM).sort((a, b) => a - b);
  return [0.5, 0.99].map((share) => sorted[Math.floor(share * sorted.length)] ?? Number.NaN);
}

async function sendSteadily(line: Line, sentMs: number[]): Promise<void> {
  const send = (): Promise<unknown> => line.publish(sentMs.push(performance.now()));
  while (sentMs.length < WARM) await send();
  const answers: Promise<unknown>[] = [];
  const startMs = performance.now();
  while (answers.length < MEASURED) {
    const due = Math.min(MEASURED, Math.floor((performance.now() - startMs) * PER_MS) + 1);
    while (answers.length < due) answers.push(send());
    await sleep(TICK_MS);
  }
  await Promise.all(answers);
}
