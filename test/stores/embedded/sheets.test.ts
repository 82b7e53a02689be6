import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { afterEach, describe, expect, it } from "vitest";
import { compileProgram } from "../../../scripts/embedded-sources.mjs";
import type { EmbeddedStore } from "../../../src/stores/embedded/index.js";
import { Connection } from "../../../src/stores/embedded/sqlite.js";
import { append, draft, readAll, TOPIC, until, Workplace } from "./support.js";

const PARTITIONS = 64;
const work = new Workplace();
let child: ChildProcess | undefined;

afterEach(async () => {
  if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
  child.kill("SIGKILL");
  await once(child, "close");
});

function count(table: "sheet" | "batch"): number {
  const connection = new Connection(work.path, { busyTimeoutMs: 1_000 });
  try {
    return Number(connection.prepare(`SELECT count(*) FROM ${table}`).get()?.[0]);
  } finally {
    connection.close();
  }
}

/** One event for each partition, at once. */
async function oneEach(store: EmbeddedStore, n: number, key = "mine"): Promise<void> {
  const all = Array.from({ length: PARTITIONS }, (_, p) => append(store, [draft(n, { key })], p));
  await Promise.all(all);
}

/** Starts another process that appends from this round on, and kills it once it has acknowledged so many rounds more. */
async function spreadAndKill(first: number, rounds: number): Promise<number> {
  const program = fileURLToPath(await compileProgram(new URL("./spreader.ts", import.meta.url)));
  const args = [program, work.path, String(PARTITIONS), String(first)];
  const spreader = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
  child = spreader;
  let acknowledged = first - 1;
  for await (const line of createInterface({ input: spreader.stdout })) {
    acknowledged = Number(line);
    if (acknowledged === first - 1 + rounds) spreader.kill("SIGKILL");
  }
  return acknowledged;
}

describe("small events for many partitions", () => {
  it("P1, P2: a process that is killed while it appends and files loses nothing that it acknowledged", async () => {
    const store = await work.open({}, { partitions: PARTITIONS });
    let acknowledged = 0;
    let mine = 0;
    for (const rounds of [7, 100]) {
      let isOver = false;
      const spreading = spreadAndKill(acknowledged + 1, rounds).finally(() => {
        isOver = true;
      });
      while (!isOver) await oneEach(store, ++mine);
      // What was under way when it ended may be in the log of some partitions: the next one goes on behind it.
      acknowledged = await spreading;
      const theirs = await Promise.all(
        Array.from({ length: PARTITIONS }, async (_, p) =>
          (await readAll(store, p)).filter(({ key }) => key === "theirs").map(({ record }) => record.payload),
        ),
      );
      for (const payloads of theirs) {
        const numbers = (payloads as { round: number }[]).map(({ round }) => round);
        const whole = Array.from({ length: acknowledged }, (_, i) => i + 1);
        expect([...new Set(numbers)].slice(0, acknowledged)).toEqual(whole);
        expect(new Set(numbers).size).toBeLessThanOrEqual(acknowledged + 1);
      }
      expect((await store.check()).problems).toEqual([]);
    }
    // Both ways were gone: some stand in sheets, most were filed.
    expect(count("batch")).toBeGreaterThan(0);
    for (let p = 0; p < PARTITIONS; p++) {
      const events = await readAll(store, p);
      expect(events.map(({ seq }) => seq)).toEqual(events.map((_, i) => i + 1));
      expect(events.filter(({ key }) => key === "mine")).toHaveLength(mine);
    }
  });

  it("a reader of the store sees them before and after they are filed, also after it was opened again", async () => {
    const store = await work.open({}, { partitions: PARTITIONS });
    for (let n = 1; n <= 5; n++) await oneEach(store, n);
    expect(count("sheet")).toBeGreaterThan(0);
    const before = await readAll(store, 9);
    expect(before).toHaveLength(5);
    expect((await store.log.find(before[2]?.id ?? ""))?.seq).toBe(3);
    expect(await store.log.trim(TOPIC, 9, 2)).toBe(2);
    await until("all is filed", () => count("sheet") === 0);
    expect((await readAll(store, 9)).map(({ id }) => id)).toEqual(before.slice(2).map(({ id }) => id));
    expect(await store.log.find(before[1]?.id ?? "")).toBeNull();
    await store.close();
    const again = await work.open();
    expect((await readAll(again, 10)).map(({ seq }) => seq)).toEqual([1, 2, 3, 4, 5]);
    expect((await again.check()).problems).toEqual([]);
  });
});
