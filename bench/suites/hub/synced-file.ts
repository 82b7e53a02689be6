/**
 * What the disk itself does to latency: lines appended to a file at a thousand a second, synced as a store would, one sync for all that
 * came while the last one was under way.
 */
import { fdatasync, mkdtempSync, openSync, rmSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { eventText, paced, quantiles } from "./load.js";

/** From the call to the synced line: median and 99th percentile, in milliseconds. */
export async function syncedFile(events: number): Promise<readonly number[]> {
  const folder = mkdtempSync(join(tmpdir(), "promethean-bench-"));
  const file = openSync(join(folder, "log"), "a");
  const found: number[] = [];
  let waiting: number[] = [];
  let busy = false;
  const next = (): void => {
    busy = waiting.length > 0;
    if (!busy) return;
    const sentMs = waiting;
    waiting = [];
    writeSync(file, sentMs.map((_, n) => `${eventText(n)}\n`).join(""));
    fdatasync(file, (error) => {
      if (error !== null) throw error;
      const nowMs = performance.now();
      for (const atMs of sentMs) found.push(nowMs - atMs);
      next();
    });
  };
  await paced(events, () => {
    waiting.push(performance.now());
    if (!busy) next();
  });
  while (found.length < events) await new Promise((resolve) => setTimeout(resolve, 5));
  rmSync(folder, { recursive: true, force: true });
  return quantiles(found, [0.5, 0.99]);
}
